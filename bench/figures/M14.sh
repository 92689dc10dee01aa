#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M14: time to duplicate a communicator and use it first, on one node with 4 ranks, and processor time used by 64
# communicators while the program sleeps.
. "$(dirname "$0")/figure.sh"
what="communicator set-up and first Bcast on one node, 4 ranks; idle processor time with 64 communicators, all ranks"
reach="< 5 ms; 0 (below 1 ms a second)"
words=(mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 4)
note_command "${words[@]}" build/castoff run build/bench/communicators
rm -f "$out/M14.json"
result=$("${words[@]}" "$castoff" run --report "$out/M14.json" -- "$build/bench/communicators" 2>"$out/M14.err" | grep -v '^#') ||
    give_up "$what" "$reach" "$(last_words "$out/M14.err")"
grep -q '"taken": *[1-9]' "$out/M14.json" 2>/dev/null || give_up "$what" "$reach" "castoff took none of the calls"
read -r stock_dup our_dup stock_first our_first idle <<<"$result"
row "$what" "$(calc "($stock_dup + $stock_first) / 1000" %.2f) ms" "$(calc "($our_dup + $our_first) / 1000" %.2f) ms; $idle ms/s" "$reach" \
    "$(holds "$our_dup + $our_first < 5000 && $idle < 1")"
