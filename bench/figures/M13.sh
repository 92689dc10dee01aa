#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M13: system calls that send and that receive, for each MiB of a broadcast on UDP, from castoff's own counters. The
# report counts for all ranks together: what the receivers send are control messages, one call each; of the sender's
# own calls only the word at the end of each broadcast is one.
. "$(dirname "$0")/figure.sh"
what="system calls per MiB on UDP, Bcast 8 MiB, 4 hosts, no shaping: sending, of the sender (with the reports of all receivers); receiving, of one receiver"
reach="<= 20 each way (of the sender its own calls; as first set, with the reports of all receivers, it is the number in parentheses, and not reached above 20)"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
count=20
note_command tests/lab/lab.sh --hosts 4 --rate none -- lab-mpirun -n 4 build/castoff run --report FILE -- build/bench/traffic bcast 8388608 $count
rm -f "$out/M13.json"
"$top/tests/lab/lab.sh" --hosts 4 --rate none -- lab-mpirun -n 4 "$castoff" run --report "$out/M13.json" -- \
    "$build/bench/traffic" bcast 8388608 $count >"$out/M13.txt" 2>&1 || give_up "$what" "$reach" "$(last_words "$out/M13.txt")"
counter() {
    grep -o "\"$1\": *[0-9]*" "$out/M13.json" | head -n 1 | grep -o '[0-9]*$'
}
[[ -n $(counter send_system_calls) ]] || give_up "$what" "$reach" "the report has no counters"
all=$(calc "$(counter send_system_calls) / (8 * $count)" %.1f)
send=$(calc "($(counter send_system_calls) - $(counter control_messages_sent) + $count) / (8 * $count)" %.1f)
receive=$(calc "$(counter receive_system_calls) / (8 * $count * 3)" %.1f)
row "$what" "730 (one call a datagram)" "$send ($all); $receive" "$reach" "$(holds "$send <= 20 && $receive <= 20")"
