#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M6: how long the start of MPI_Iallgather takes while the last rank is 20 ms late: times of the rank with the largest median.
. "$(dirname "$0")/figure.sh"
what="Iallgather start while a rank is late, 4 hosts, 8 B - 1 MiB: p50 (p99) of the slowest rank"
reach="p50 < 20 us at every size"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
bench M6 --lab 4 --rate 200mbit --calls istart --sizes 8,64K,1M --rounds-min 40 --seconds 1 ||
    give_up "$what" "$reach" "$(last_words "$out/M6.err")"
note_command build/bench/micro/wake_speed
"$build/bench/micro/wake_speed" >"$out/M6-wake.txt" 2>"$out/M6-wake.err"
worst() { # side column
    awk -F, -v side="$1" -v column="$2" '$1 == "istart" && $4 == side && $column > most { most = $column } END { printf "%.1f", most }' "$out/M6.csv"
}
row "$what" "$(worst stock 8) ($(worst stock 9)) us" "$(worst castoff 8) ($(worst castoff 9)) us" "$reach" \
    "$(holds "$(worst castoff 8) < 20")"
