#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M23: how long castoff trace takes for the real trace of M20, archive to verdict, nothing kept from run to run.
. "$(dirname "$0")/figure.sh"
what="castoff trace of AMG, 27 ranks: from archive to verdict, median of 9 runs (slowest)"
reach="<= 1 s"
. "$(dirname "$0")/trace.sh"
TIMEFORMAT=%R
: >"$out/M23.seconds"
for _ in 1 2 3 4 5 6 7 8 9; do
    { time "$castoff" trace --no-cache --bins 1,16,32,64,128,256 "$trace" >"$out/M23.out" 2>"$out/M23.err"; } \
        2>>"$out/M23.seconds" || give_up "$what" "$reach" "$(last_words "$out/M23.err")"
done
read -r median slowest < <(sort -n "$out/M23.seconds" | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)], at[NR] }')
row "$what" "none" "$median s ($slowest s)" "$reach" "$(holds "$median <= 1")"
