#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M21: what a call costs more when castoff is preloaded but off, in one process against the library below.
. "$(dirname "$0")/figure.sh"
what="cost of being there but off (CASTOFF_ENABLE=0), per call, largest of Bcast, Allgather, Test, Wait"
reach="<= 8 ns"
note_command mpirun -n 1 castoff run --off build/bench/call_cost
mpirun -n 1 "$castoff" run --off "$build/bench/call_cost" >"$out/M21.txt" 2>"$out/M21.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M21.err")"
! grep -q 'nothing stands' "$out/M21.txt" || give_up "$what" "$reach" "the library is not in front of MPI"
cost=$(awk '!/^#/ && (!n++ || $4 > most) { most = $4 } END { print most }' "$out/M21.txt")
row "$what" "0 (by definition)" "$cost ns" "$reach" "$(holds "$cost <= 8")"
