#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M28: what an allgather over verbs puts onto the fabric: four emulated guests with Soft-RoCE, four times 256 KiB from each,
# counted at their ports, beside the ring of stock MPI over TCP on the same fabric.
. "$(dirname "$0")/figure.sh"
what="MPI_Allgather over verbs, 4 emulated guests, 256 KiB a rank: bytes that the ranks' ports send, over the payload; bytes at all ports, sent and brought, of stock's ring over castoff's"
reach="sent once: <= 1.06; 2 - 2/P = 1.5, of which 0.97: >= 1.455"
note_command tests/lab-verbs/castoff_verbs_test.sh counters
"$top/tests/lab-verbs/castoff_verbs_test.sh" counters >"$out/M28.log" 2>&1 ||
    give_up "$what" "$reach" "$(grep -m 1 -e FAIL -e skip "$out/M28.log")"
grep '^counters: ' "$out/M28.log" >"$out/M28.txt"
read -r sent all ring_sent ring_all payload <<<"$(tr -cd '0-9 \n' <"$out/M28.txt" | tr -s ' ' | sed 's/^ //')"
cat >>"$out/M28.txt" <<TEXT
#
# In bytes, all that the ports of the fabric counted for four allgathers, less what a job without any needs. Of the four
# ports each sends, and the fabric brings to each what the other three have sent.
TEXT
row "$what" "sent $(calc "$ring_sent / $payload" %.3f)" \
    "sent $(calc "$sent / $payload" %.3f); ring over castoff $(calc "$ring_all / $all" %.3f)" "$reach" \
    "$(holds "$sent <= 1.06 * $payload && $ring_all >= 1.455 * $all")"
