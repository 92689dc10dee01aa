#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Small broadcasts and allgathers by bare sockets on hosts of the laboratory: what is left of figure M7 without MPI and
# protocol. For each POINT (bcast:BYTES:BATCH or allgather:BYTES:BATCH) a line for each way of doing it:
#   CALL BYTES BATCH WAY WAIT MICROSECONDS
#
#   bench/micro/udp_floor.sh BUILD [HOSTS] [SAMPLES] [POINT...]
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
program=$(cd "${1:-$top/build}" && pwd)/bench/micro/udp_floor || exit 1
points=("${@:4}")
((${#points[@]} > 0)) || points=(bcast:8:1 allgather:8:1)
export FLOOR_PROGRAM=$program FLOOR_HOSTS=${2:-8} FLOOR_SAMPLES=${3:-300} FLOOR_POINTS="${points[*]}"
"$top/tests/lab/lab.sh" --hosts "$FLOOR_HOSTS" --rate 200mbit -- bash -c '
    address=$(lab-in-host 0 ip -4 -o address show eth0 | sed "s/.*inet \([0-9.]*\).*/\1/")
    one() { # way wait bytes batch
        for ((i = FLOOR_HOSTS - 1; i >= 0; i--)); do
            lab-in-host "$i" timeout 60 "$FLOOR_PROGRAM" "$i" "$FLOOR_HOSTS" "$@" "$FLOOR_SAMPLES" "$address" &
        done
        wait
    }
    for point in $FLOOR_POINTS; do
        IFS=: read -r call bytes batch <<<"$point"
        ways="collect direct"
        [ "$call" = allgather ] || ways=bcast
        for way in $ways; do
            for wait in yield sleep; do
                one "$way" "$wait" "$bytes" "$batch" | sed "s/\([^ ]* [^ ]*\) \([^ ]* [^ ]*\) \(.*\) us/$call \2 \1 \3/"
            done
        done
    done'
