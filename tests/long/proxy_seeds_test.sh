#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Proxies against their naive executors, 10,000 seeds of each class: graphs of messages, and collective calls of teams.
#
#   proxy_seeds_test.sh [SEEDS]
set -u

cd "$(dirname "$0")/../.." || exit 2
export CASTOFF_TEST_SEEDS=${1:-10000}
passed=0 failed=0
make -s -j "$(nproc 2>/dev/null || echo 2)" build/tests/unit/proxy_simulation_test build/tests/unit/proxy_team_simulation_test || exit 1
for test in proxy_simulation proxy_team_simulation; do
    if "build/tests/unit/${test}_test"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
