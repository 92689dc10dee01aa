#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Small allgathers by bare sockets on eight hosts of the laboratory: what is left of figure M7 without MPI and protocol.
#
#   bench/micro/udp_floor.sh BUILD [BYTES] [REPEATS]
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
program=$(cd "${1:-$top/build}" && pwd)/bench/micro/udp_floor
export FLOOR_PROGRAM=$program FLOOR_BYTES=${2:-8} FLOOR_REPEATS=${3:-5000}
for way in collect direct; do
    for wait in yield sleep; do
        FLOOR_HOW="$way $wait" "$top/tests/lab/lab.sh" --hosts 8 --rate 200mbit -- bash -c '
            address=$(lab-in-host 0 ip -4 -o address show eth0 | sed "s/.*inet \([0-9.]*\).*/\1/")
            for ((i = 7; i >= 0; i--)); do
                # shellcheck disable=SC2086 # two words
                lab-in-host "$i" timeout 60 "$FLOOR_PROGRAM" "$i" 8 $FLOOR_HOW "$FLOOR_BYTES" "$FLOOR_REPEATS" "$address" &
            done
            wait'
    done
done
