#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M7: small MPI_Bcast and MPI_Allgather, 8 B to 4 KiB on 8 hosts, against stock's default.
. "$(dirname "$0")/figure.sh"
what="Bcast and Allgather 8 B - 4 KiB, 8 hosts: lowest ratio stock / castoff"
reach="Bcast never slower than stock; Allgather >= 2"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
bench M7 --lab 8 --rate 200mbit --calls bcast,allgather --sizes 8:4K:2 --seconds 1 ||
    give_up "$what" "$reach" "$(last_words "$out/M7.err")"
# For the reason: without the ranks' ways out of the barrier (long batches), without what the links take, and both alone.
common=(--lab 8 --calls allgather --sizes 8:4K:2 --seconds 0.5)
bench M7-20 --rate 200mbit --batch 20 "${common[@]}"
bench M7-20-unshaped --rate none --batch 20 "${common[@]}"
rm -f "$out"/M7-late.*
late M7-late 8 allgather 8 200
late M7-late 8 bcast 8 200
lowest() {
    awk -F, -v call="$1" '$1 == call && $4 == "stock" { if (n++ == 0 || $10 < low) low = $10 } END { printf "%.2f", low }' "$out/M7.csv"
}
slower=$(awk -F, '$1 == "bcast" && $4 == "stock" && $13 == "slower"' "$out/M7.csv" | wc -l)
row "$what" "1 (by definition)" "Bcast $(lowest bcast) (slower at $slower of 10 sizes), Allgather $(lowest allgather)" "$reach" \
    "$(holds "$slower == 0 && $(lowest allgather) >= 2")"
