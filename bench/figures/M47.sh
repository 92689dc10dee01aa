#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M47: calls of a kind until its members have agreed which side is faster, in the program of M46 on one node with two
# ranks: with the built-in table and with that table turned round, five runs of each.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/trials.sh"
what="calls of a kind until the verdict of trials in the job, twelve kinds in turn, one node, 2 ranks: median, most"
reach="<= 16"
note_command "mpirun -n 2 castoff run build/bench/regret 10000"
: >"$out/M47.txt"
: >"$out/M47-firsts"
for ((round = 0; round < 5; round++)); do
    for side in tried turned; do
        one_run M47 "$side" mpirun -n 2 :: 10000 || give_up "$what" "$reach" "$(last_words "$out/M47.err")"
        python3 -S -c '
import json, sys
side = sys.argv[2]
for trial in json.load(open(sys.argv[1]))["trials"]:
    print(side, trial["call"], trial["bytes"], trial["first_verdict"] or 9999, "taken" if trial["taken"] else "declined")
' "$out/M47.json" "$side" >>"$out/M47-firsts"
    done
done
{
    echo "# side call bytes calls_until_the_verdict verdict"
    sort -k1,1 -k2,2 -k3,3n "$out/M47-firsts"
} >"$out/M47.txt"
read -r median most <<<"$(awk '{ print $4 }' "$out/M47-firsts" | sort -n |
    awk '{ v[NR] = $1 } END { print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2), v[NR] }')"
rm -f "$out/M47-firsts" "$out/M47.rows"
row "$what" "" "$median, $most" "$reach" "$(holds "$most <= 16")"
