#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M18: the matcher alone: rate of the inline lane, and what blocks of 32 lanes make of the three paths, in counted steps
# (this machine has fewer cores), beside the published rates.
. "$(dirname "$0")/figure.sh"
what="matcher alone: inline lane, lowest rate over posted depths 0 - 16384, exact and from any; rate of 32 lanes without conflict : fast path : slow path, by steps of the critical path"
reach=">= 30 M/s; ratios better than published (counted steps here, measured rates of 32 threads there: not the same quantity)"
note_command build/bench/micro/match_speed 0.3 bench/published/message_rate.csv
"$build/bench/micro/match_speed" 0.3 "$top/bench/published/message_rate.csv" >"$out/M18.txt" 2>"$out/M18.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M18.err")"
lowest=$(awk '$1 == "inline" { gsub(/[()]/, " "); for (i = 4; i <= 6; i += 2) if (!n++ || $i < low) low = $i } END { print low }' "$out/M18.txt")
ratios() { # column, counted from the right
    awk -v back="$1" '$1 == "lanes" && $2 == 32 { printf "%s%s", n++ ? " : " : "", $(NF - back) }' "$out/M18.txt"
}
read -r _ _ fast _ slow <<<"$(ratios 3)"
read -r _ _ published_fast _ published_slow <<<"$(ratios 1)"
row "$what" "published, 32 threads: $(ratios 1) ($(ratios 2) M/s)" "$lowest M/s; $(ratios 3)" "$reach" \
    "$(holds "$lowest >= 30 && $fast > $published_fast && $slow > $published_slow")"
