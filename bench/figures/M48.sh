#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M48: real programs from end to end (bench/real_programs.sh), castoff at its defaults over stock, across 4 and 8 hosts at
# 1 Gbit/s and on one node. With arguments only these are measured (sharded:4 lammps:node ...), and lines of earlier runs
# of this build folder stand for the others. What was measured now, or failed, is kept, a line for each program and place:
# the table of programs in README.md.
. "$(dirname "$0")/figure.sh"
what="real programs end to end, 4 and 8 hosts at 1 Gbit/s and one node: time with castoff over without, geometric mean; longest"
reach="none above 1.02; geometric mean below 1"
lines=$out/M48.lines
(($# > 0)) || rm -f "$lines"
touch "$lines"
: >"$out/M48.runs"
keep() { # program place pairs without with ratio low high verdict calls... | program place failed why...
    case $3 in
        -) ;;
        failed) keep_run "M48:$1:$2" failed "${*:4}" "" ;;
        *) keep_run "M48:$1:$2" "$9" "$4 s; $5 s; $6 ($7 to $8); ${*:10}" "$3 pairs" ;;
    esac
}
note_command bench/real_programs.sh "$build" "${M48_PAIRS:-6}" FOLDER "$@"
"$top/bench/real_programs.sh" "$build" "${M48_PAIRS:-6}" "$out/M48.work" "$@" | while read -r line; do
    read -r program place _ <<<"$line"
    grep -v "^$program $place " "$lines" >"$lines.new"
    echo "$line" >>"$lines.new"
    mv "$lines.new" "$lines"
    echo "$line" >&2
    # shellcheck disable=SC2086 # words
    keep $line
done
{
    echo "# program place pairs without_s with_s with/without low high verdict, calls that castoff took of those of a rank"
    sort -k2,2 -k1,1 "$lines"
} >"$out/M48.txt"
awk 'NF >= 9 && $3 != "-" && $3 != "failed"' "$lines" >"$lines.good"
failed=$(awk '$3 == "failed"' "$lines" | wc -l)
[[ -s $lines.good ]] || give_up "$what" "$reach" "$(head -n 1 "$lines")"
mean=$(awk '{ n++; sum += log($6) } END { printf "%.3f", exp(sum / n) }' "$lines.good")
longest=$(sort -g -k6,6 "$lines.good" | awk 'END { printf "%s (%s, %s; %s to %s)", $6, $1, $2 == "node" ? "one node" : $2 " hosts", $7, $8 }')
counts=$(awk -v all="$(($(wc -l <"$lines") - failed))" '{ n++; faster += $9 ~ /faster/; slower += $9 ~ /slower/ } END {
    printf "%d faster and %d slower of %d", faster, slower, n; if (n < all) printf ", %d not measured", all - n }' "$lines.good")
((failed == 0)) || counts+=", $failed failed"
row "$what" "1 (by definition)" "$mean; $longest; $counts" "$reach" "$(holds "$mean < 1 && ${longest%% *} <= 1.02 && $failed == 0")"
