#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs inside the laboratory: one castoff job with its report; prints how many datagrams and bytes were lost on arrival.
#   loss.sh REPORT CALL BYTES COUNT CASTOFF TRAFFIC
set -u
read -r -a hosts <<<"$CASTOFF_LAB_HOSTS"
lab-mpirun -n ${#hosts[@]} "$5" run --report "$1" -- "$6" "$2" "$3" "$4" >&2 || exit 1
for host in "${hosts[@]}"; do
    lab-loss-count "$host"
done | awk '{ datagrams += $1; bytes += $2 } END { printf "%d %d\n", datagrams, bytes }'
