#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M26: one-sided RDMA multicast: 128 MiB from one sender to three receivers, all emulated guests with Soft-RoCE, over a hop
# in switch mode and over one in front of each receiver: packets in and out, bytes of the sender's port, rules left, what
# setting up and tearing down takes, and whether the receivers run while their memory is written.
. "$(dirname "$0")/figure.sh"
what="one-sided multicast, 128 MiB from one sender to three receivers, hop as switch and in front of each receiver (emulated guests): packets in and out; bytes of the sender's port over the file; set-up and tear-down; how often receivers ran in 3 s of being written"
reach="every byte verified; copies 3 times the packets; port <= 1.03 of what was written; no rule left; receivers asleep (of what was written, with repairs, not of the file, and no rate: guests are emulated)"
note_command tests/lab-verbs/onesided_test.sh switch asleep nic
"$top/tests/lab-verbs/onesided_test.sh" switch asleep nic >"$out/M26.log" 2>&1 ||
    give_up "$what" "$reach" "$(grep -m 1 -e FAIL -e skip "$out/M26.log")"
grep -E '^(switch|asleep|nic) (sender|receiver|counts) ' "$out/M26.log" >"$out/M26.txt"
word() { # mode line word
    awk -v mode="$1" -v line="$2" -v name="$3" '
        $1 == mode && $2 == line { for (i = 3; i < NF; i++) if ($i == name) { sub(/,$/, "", $(i + 1)); print $(i + 1); exit } }' \
        "$out/M26.txt"
}
port=$(calc "$(word switch counts port_bytes) / $(word switch counts file_bytes)" %.3f)
share=$(calc "$(word switch counts port_bytes) / ($(word switch counts chunks_written) * 65536)" %.3f)
ran=$(awk -v before="$(word asleep counts switches_before)" -v after="$(word asleep counts switches_after)" 'BEGIN {
    n = split(before, b, ","); split(after, a, ","); for (i = 1; i <= n; i++) sum += a[i] - b[i]; print n == 6 ? sum : "unknown" }')
seconds=$(awk '$1 == "switch" && $2 == "sender" { for (i = 3; i < NF; i++) if ($i == "in") { print $(i + 1); exit } }' "$out/M26.txt")
cat >>"$out/M26.txt" <<TEXT
#
# Times are those of emulated guests, of use only beside each other. A switch counts the sender's packets once; in NIC
# mode each of the three hops counts them. asleep: how often each of three receivers had been given a processor (of its own
# will, against it), at two moments of a slow transfer, 3 s apart. The user time of a receiver is nearly all that of the
# end, when it reads a completion for each chunk.
TEXT
row "$what" "(a copy for each receiver: 3 times the port's bytes)" \
    "switch: $(word switch counts group_packets) in, $(word switch counts copies) out, port $port; NIC: $(word nic counts copies) out; set-up $(word switch sender set-up) s, tear-down $(word switch sender tear-down) s; 128 MiB in $seconds s; receivers ran $ran times" \
    "$reach" "$(holds "$(word switch counts copies) == 3 * $(word switch counts group_packets) && $share <= 1.03 && $(word switch counts rules_now) + $(word nic counts rules_now) == 0 && \"$ran\" == \"0\"")"
