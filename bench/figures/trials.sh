# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What M46 and M47 share: runs of bench/regret with both sides tried, by the built-in table and by that table turned
# round, and with each side alone. Sourced after figure.sh.

# Every row of the built-in table the other way, and what none fits is declined.
turned=$out/turned.tune
{
    env -u CASTOFF_TUNE "$castoff" info --tune 2>/dev/null | awk '/ decline$/ { sub(/decline$/, "take"); print; next } / take$/ { sub(/take$/, "decline"); print }'
    for call in bcast allgather; do
        echo "$call node ranks 1- bytes 1- decline"
        echo "$call hosts ranks 1- bytes 1- decline"
    done
} >"$turned"

# settings SIDE: words for env
settings() {
    case $1 in
    native) echo CASTOFF_BCAST=no CASTOFF_ALLGATHER=no ;;
    castoff) echo CASTOFF_BCAST=yes CASTOFF_ALLGATHER=yes ;;
    tried) echo CASTOFF_ADAPT=yes ;;
    turned) echo CASTOFF_ADAPT=yes "CASTOFF_TUNE=$turned" ;;
    esac
}

# one_run NAME SIDE LAUNCHER... :: ARGUMENT...: rows to $out/NAME.txt with the side in front, the report to $out/NAME.json
one_run() {
    local name=$1 side=$2 launcher=() setting words
    shift 2
    while [ "$1" != :: ]; do
        launcher+=("$1")
        shift
    done
    shift
    read -ra words <<<"CASTOFF_REPORT=$out/$name.json $(settings "$side")"
    for setting in "${words[@]}"; do # a launcher across hosts hands no other settings on
        launcher+=(-x "$setting")
    done
    rm -f "$out/$name.json"
    "${launcher[@]}" "$castoff" run "$build/bench/regret" "$@" 2>>"$out/$name.err" | sed -n "s/^row/$side/p" >"$out/$name.rows"
    [ -s "$out/$name.rows" ] && cat "$out/$name.rows" >>"$out/$name.txt"
}

# spent_share NAME SIDE: what that run's own account says of trials and of exchanges between them, in per cent of its time
spent_share() {
    python3 -S -c '
import json, sys
report = json.load(open(sys.argv[1]))
took_us = sum(float(line.split()[4]) for line in open(sys.argv[2]))
print(sys.argv[3], "%.3f" % (report["counters"]["adapt_spent_ns"] / report["ranks"] / took_us / 10))
' "$out/$1.json" "$out/$1.rows" "$2"
}
