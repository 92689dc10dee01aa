#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs inside the laboratory: one castoff job with its report; prints the first, the median and the highest time of a call,
# in microseconds, then payload bytes that were sent again and that were placed.
#   limit.sh links|ports REPORT CALL BYTES COUNT CASTOFF TRAFFIC     ports: hosts send as fast as they can, ports alone are shaped
set -u
read -r -a hosts <<<"$CASTOFF_LAB_HOSTS"
if [[ $1 == ports ]]; then
    for host in "${hosts[@]}"; do
        lab-in-host "$host" tc qdisc del dev eth0 root || exit 1
    done
fi
times=$(lab-mpirun -n ${#hosts[@]} "$6" run --report "$2" -- "$7" --timed "$3" "$4" "$5") || exit 1
echo "$times $(for what in retransmitted_bytes data_bytes_placed; do
    grep -o "\"$what\": *[0-9]*" "$2" | head -n 1 | grep -o '[0-9]*$'
done | paste -sd' ')"
