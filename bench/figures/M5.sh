#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M5: overlap of MPI_Iallgather with computation as the OSU benchmarks define it, 4 hosts, 64 KiB to 1 MiB.
. "$(dirname "$0")/figure.sh"
what="Iallgather overlap, 4 hosts, 64 KiB - 1 MiB, 200 Mbit/s (lowest of the sizes)"
reach=">= 98 %"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
bench M5 --lab 4 --rate 200mbit --calls overlap --sizes 64K,256K,1M --rounds-min 15 ||
    give_up "$what" "$reach" "$(last_words "$out/M5.err")"
lowest() {
    awk -F, -v side="$1" '$1 == "overlap" && $4 == side { if (n++ == 0 || $10 < low) low = $10 } END { print low }' "$out/M5.csv"
}
row "$what" "$(lowest stock) %" "$(lowest castoff) %" "$reach" "$(holds "$(lowest castoff) >= 98")"
