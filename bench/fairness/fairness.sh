#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What castoff leaves to others on a link, and what they leave to it: broadcasts without end from one host to two beside a
# TCP connection from the same sender, beside one to the same receiver, and beside a second job of castoff. Each line is a
# run: Mbit/s of both at the switch, and their ratio.
#   bench/fairness/fairness.sh [RATE...]      (20mbit 50mbit 200mbit 1gbit)   RUNS=3 SECONDS_EACH=10 QUEUE=100 BYTES=4194304
set -u -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build}
rates=("$@")
(($# > 0)) || rates=(20mbit 50mbit 200mbit 1gbit)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[[ -x $build/bench/traffic ]] || {
    echo "fairness.sh: $build/bench/traffic is missing; make bench-programs builds it" >&2
    exit 2
}
printf '%-8s %-9s %12s %12s %7s\n' link beside castoff other ratio
status=0
for rate in "${rates[@]}"; do
    for kind in none sender receiver job; do
        for ((run = 0; run < ${RUNS:-3}; run++)); do
            line=$("$top/tests/lab/lab.sh" --hosts 5 --snooping --rate "$rate" --queue "${QUEUE:-100}" -- "$top/bench/fairness/inside.sh" \
                "$kind" "${SECONDS_EACH:-10}" "${BYTES:-4194304}" "$build/castoff" "$build/bench/traffic") || {
                status=1
                continue
            }
            read -r kind first second ratio <<<"$line"
            printf '%-8s %-9s %12s %12s %7s\n' "$rate" "$kind" "$first" "$second" "$ratio"
        done
    done
done
exit "$status"
