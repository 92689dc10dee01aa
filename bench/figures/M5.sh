#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M5: overlap of MPI_Iallgather with computation as the OSU benchmarks define it, 4 hosts, 64 KiB to 1 MiB.
. "$(dirname "$0")/figure.sh"
what="Iallgather overlap, 4 hosts, 64 KiB - 1 MiB, 200 Mbit/s (lowest of the sizes)"
reach=">= 98 %"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
common=(--lab 4 --rate 200mbit --calls overlap --sizes 64K,256K,1M --rounds-min 15)
bench M5 "${common[@]}" && bench M5-steps "${common[@]}" --compute steps && bench M5-free "${common[@]}" --compute sleep ||
    give_up "$what" "$reach" "$(last_words "$out"/M5*.err)"
# When the last rank begins: the computation of the others keeps it in the barrier before.
rm -f "$out"/M5-late.*
for bytes in 65536 262144; do
    late M5-late 4 iallgather "$bytes" 60 $((bytes * 92 / 1000))
done
lowest() { # table side
    awk -F, -v side="$2" '$1 == "overlap" && $4 == side { if (n++ == 0 || $10 < low) low = $10 } END { print low }' "$out/$1.csv"
}
all() { # side
    echo "$(lowest M5 "$1") %; $(lowest M5-steps "$1") % with a fixed amount of work; $(lowest M5-free "$1") % with a free processor"
}
row "$what" "$(all stock)" "$(all castoff)" "$reach" "$(holds "$(lowest M5 castoff) >= 98")"
