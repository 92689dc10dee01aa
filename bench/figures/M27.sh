#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M27: what the hop of one-sided multicast takes and sends on one core over veth, beside plain forwarding by the same
# program and beside the kernel's bridge.
. "$(dirname "$0")/figure.sh"
what="hop of one-sided multicast on one core over veth, payload of 4096 bytes: packets in, copies out to three receivers; in NIC mode; over plain forwarding by the same program"
reach="measured, no bound"
note_command bench/micro/hop_speed.sh build
"$top/bench/micro/hop_speed.sh" "$build" >"$out/M27.txt" 2>"$out/M27.err" || give_up "$what" "$reach" "$(last_words "$out/M27.err")"
word() { # mode column
    awk -v mode="$1" -v column="$2" '$1 == mode && $2 == 4096 { print $column }' "$out/M27.txt"
}
row "$what" "bridge $(word bridge 4) packets/s; $(word bridge 6) ns a packet, the sender's with them" \
    "$(word group 3) in, $(word group 4) out/s, $(word group 5) MB/s, $(word group 7) ns a copy; NIC $(word nic 4)/s; forwarding $(word forward 4)/s, $(word forward 7) ns a packet" \
    "$reach" "$(holds "$(word group 4) > 0")"
