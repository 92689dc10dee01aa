#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Congestion control on many networks in virtual time: no row of congestion_rows.tsv is worse than its bounds. Rows whose
# goal is not reached say so.
#
#   congestion_test.sh [WORD]    only rows that hold the word
set -u

cd "$(dirname "$0")/../.." || exit 2
make -s -j "$(nproc 2>/dev/null || echo 2)" build/tests/long/congestion_sweep || exit 1
exec build/tests/long/congestion_sweep tests/long/congestion_rows.tsv "$@"
