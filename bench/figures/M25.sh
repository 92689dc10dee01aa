#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M25: what the cache of parsed traces saves: processor time of castoff trace the first time and the second, of all
# threads together, for others use the machine, too.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/synthetic.sh"
what="castoff trace of 400 MB of DUMPI text, 8 ranks: processor time of the first run; of the second, from the cache"
reach="second <= 0.5 x first"
make_traces cached 8 400 || give_up "$what" "$reach" "$(last_words "$out/M25.err")"
commands+="; twice castoff trace --bins 1,64 --lanes 1 cached"
TIMEFORMAT='%U %S'
seconds=()
for turn in first second; do
    used=$({ time "$castoff" trace --bins 1,64 --lanes 1 "$synthetic/cached" >"$out/M25.$turn" 2>"$out/M25.err"; } 2>&1) ||
        give_up "$what" "$reach" "$(last_words "$out/M25.err")"
    seconds+=("$(calc "${used/ / + }")")
done
cmp -s "$out/M25.first" "$out/M25.second" || give_up "$what" "$reach" "the two runs do not say the same"
row "$what" "none" "${seconds[0]} s; ${seconds[1]} s" "$reach" "$(holds "${seconds[1]} <= 0.5 * ${seconds[0]}")"
