#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M9: goodput of MPI_Bcast at 1 % loss on arrival at every host over goodput without, and payload sent again over
# payload lost. Both with one frame for each datagram, 4 hosts, 200 Mbit/s.
. "$(dirname "$0")/figure.sh"
what="Bcast 1 MiB, 4 hosts, 1 % loss: goodput over no loss; bytes fetched over bytes lost"
reach=">= 0.80; <= 1.10"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
common=(--lab 4 --rate 200mbit --calls bcast --sizes 1M --batch 1 --rounds-min 40 --rounds-max 60 --seconds 5)
bench M9-free "${common[@]}" --lab-options "--segment" && bench M9-loss "${common[@]}" --lab-options "--loss 10" ||
    give_up "$what" "$reach" "$(last_words "$out"/M9-*.err)"
rm -f "$out/M9.json"
lost=$("$top/tests/lab/lab.sh" --hosts 4 --rate 200mbit --loss 10 -- "$top/bench/figures/loss.sh" "$out/M9.json" bcast 1048576 40 \
    "$castoff" "$build/bench/traffic" 2>"$out/M9.err") || give_up "$what" "$reach" "$(last_words "$out/M9.err")"
fetched=$(grep -o '"retransmitted_bytes": *[0-9]*' "$out/M9.json" | head -n 1 | grep -o '[0-9]*$')
# Packets are counted whole: less the headers of IP and UDP (28), ours (24) and the tag (16) their payload is left.
read -r datagrams bytes <<<"$lost"
again=$(calc "${fetched:-0} / ($bytes - 68 * $datagrams)" %.3f)
goodput=$(calc "$(pick M9-free bcast 1048576 castoff 8) / $(pick M9-loss bcast 1048576 castoff 8)" %.3f)
row "$what" "(others send a window or a block again)" "$goodput; $again" "$reach" \
    "$(holds "$goodput >= 0.80 && $again > 0 && $again <= 1.10")"
