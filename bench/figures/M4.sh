#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M4: bytes over all switch ports (switches that snoop), stock's chain and ring against castoff, 8 hosts, and payload
# that an allgather sends. The model says 2 - 2/P less.
. "$(dirname "$0")/figure.sh"
what="bytes over all switch ports, 8 hosts, 1 MiB: stock's pipeline and ring over castoff; payload sent by an allgather over N per rank"
reach=">= 0.97 x (2 - 2/8) = 1.70 for both; <= 1.025"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
hosts=8 count=10 size=1048576
ports() { # call, words for mpirun and program
    local call=$1
    shift
    "$top/tests/lab/lab.sh" --hosts $hosts --rate 200mbit --snooping -- "$top/bench/figures/ports.sh" "$call" $size $count \
        -n $hosts "$@" "$build/bench/traffic" 2>>"$out/M4.err"
}
note_command bench/figures/M4.sh
: >"$out/M4.err"
report=$out/M4.json
rm -f "$report"
dynamic=(--mca coll_tuned_use_dynamic_rules 1)
stock_bcast=$(ports bcast "${dynamic[@]}" --mca coll_tuned_bcast_algorithm 3 --) &&
    stock_gather=$(ports allgather "${dynamic[@]}" --mca coll_tuned_allgather_algorithm 4 --) &&
    our_bcast=$(ports bcast -- "$castoff" run --) &&
    our_gather=$(ports allgather -- "$castoff" run --) ||
    give_up "$what" "$reach" "$(last_words "$out/M4.err")"
"$top/tests/lab/lab.sh" --hosts $hosts --rate 200mbit -- lab-mpirun -n $hosts "$castoff" run --report "$report" -- \
    "$build/bench/traffic" allgather $size $count >>"$out/M4.err" 2>&1
sent() { # counter: its sum over ranks
    grep -o "\"$1\": *[0-9]*" "$report" 2>/dev/null | head -n 1 | grep -o '[0-9]*$' || echo 0
}
payload=$(calc "($(sent data_bytes_sent) + $(sent retransmitted_bytes)) / ($hosts * $count * $size)" %.4f)
bcast=$(calc "$stock_bcast / $our_bcast" %.3f) gather=$(calc "$stock_gather / $our_gather" %.3f)
row "$what" "1 (by definition)" "Bcast $bcast, Allgather $gather; payload $payload" "$reach" \
    "$(holds "$bcast >= 1.6975 && $gather >= 1.6975 && $payload > 0 && $payload <= 1.025")"
