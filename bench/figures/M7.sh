#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M7: small MPI_Bcast and MPI_Allgather, 8 B to 4 KiB on 8 hosts, over the floor: what the links take (7 blocks to each
# host of an allgather), or what bare sockets take for the same batch on these processors (bench/micro/udp_floor.c, the
# best way of those it knows), whichever is longer. Stock's default beside it.
. "$(dirname "$0")/figure.sh"
what="Bcast and Allgather 8 B - 4 KiB, 8 hosts, 200 Mbit/s: highest time over the floor of links and bare sockets"
reach="<= 2 x the floor"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
bench M7 --lab 8 --rate 200mbit --calls bcast,allgather --sizes 8:4K:2 --seconds 1 ||
    give_up "$what" "$reach" "$(last_words "$out/M7.err")"
# The floor with the same batches; columns of the CSV: 1 call, 3 bytes, 6 batch.
mapfile -t points < <(awk -F, '$4 == "castoff" { print $1 ":" $3 ":" $6 }' "$out/M7.csv")
note_command bench/micro/udp_floor.sh "$build" 8 100 "${points[@]}"
"$top/bench/micro/udp_floor.sh" "$build" 8 100 "${points[@]}" >"$out/M7-sockets.lines" 2>"$out/M7.err"
[[ $(awk '{ print $1, $2 }' "$out/M7-sockets.lines" | sort -u | wc -l) -eq ${#points[@]} ]] ||
    give_up "$what" "$reach" "the bare sockets were not measured: $(last_words "$out/M7.err")"
{
    echo "# call size_B sockets_us way links_us floor_us stock_us castoff_us stock_over_floor castoff_over_floor"
    awk -v rate=25 '
        FILENAME == ARGV[1] { at = $1 " " $2; if (!(at in least) || $6 < least[at]) { least[at] = $6; way[at] = $4 "/" $5 } next }
        FNR == 1 { FS = ","; $0 = $0 }
        $4 == "stock" { stock[$1 " " $3] = $8 }
        $4 == "castoff" { order[++n] = $1 " " $3; ours[$1 " " $3] = $8 }
        END {
            for (i = 1; i <= n; i++) {
                at = order[i]
                split(at, part, " ")
                links = (part[1] == "allgather" ? 7 : 1) * part[2] / rate
                floor = links > least[at] ? links : least[at]
                printf "%s %.1f %s %.1f %.1f %.1f %.1f %.2f %.2f\n", at, least[at], way[at], links, floor, stock[at],
                    ours[at], stock[at] / floor, ours[at] / floor
            }
        }' "$out/M7-sockets.lines" "$out/M7.csv"
} >"$out/M7-floor.txt"
# For the reason: without the ranks' ways out of the barrier (long batches), without what the links take, and both alone.
common=(--lab 8 --calls allgather --sizes 8:4K:2 --seconds 0.5)
bench M7-20 --rate 200mbit --batch 20 "${common[@]}"
bench M7-20-unshaped --rate none --batch 20 "${common[@]}"
rm -f "$out"/M7-late.*
late M7-late 8 allgather 8 200
late M7-late 8 bcast 8 200
highest() { # call column: "3.10 (at 8 B)"
    awk -v call="$1" -v column="$2" '$1 == call && $column > most { most = $column; at = $2 } END { printf "%.2f (at %d B)", most, at }' \
        "$out/M7-floor.txt"
}
lowest() { # call: of stock over castoff
    awk -F, -v call="$1" '$1 == call && $4 == "stock" { if (n++ == 0 || $10 < low) low = $10 } END { printf "%.2f", low }' "$out/M7.csv"
}
bcast=$(highest bcast 10) allgather=$(highest allgather 10)
row "$what" "Bcast $(highest bcast 9), Allgather $(highest allgather 9)" \
    "Bcast $bcast, Allgather $allgather; stock / castoff, lowest: $(lowest bcast), $(lowest allgather)" "$reach" \
    "$(holds "${bcast%% *} <= 2 && ${allgather%% *} <= 2")"
