#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M17: latency and bandwidth between two ranks of a node, 1 B to 4 MiB.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/messages.sh"
what="latency and bandwidth, 1 B - 4 MiB, 2 ranks of a node: one way at 8 B, MB/s at 4 MiB, lowest ratio over the better of ob1 and ucx"
reach="no size slower than 0.97 x stock"
bench M17 p2p --calls latency,bandwidth --sizes 1:4M:2 --stock-best --seconds 0.3 || give_up "$what" "$reach" "$(last_words "$out/M17.err")"
values() { # side job
    local us
    us=$(median_of M17 bandwidth 4194304 "$1" "$2")
    echo "$(nanoseconds M17 latency 8 "$1" "$2") ns, $([[ -n $us ]] && calc "4194304 / $us" %.0f || echo "-") MB/s"
}
lowest=$(lowest_ratio M17)
row "$what" "$(values stock default); ucx $(values stock ucx)" "$(values castoff default); lowest $lowest$(words_about_ucx M17)" "$reach" \
    "$(holds "${lowest%% *} >= 0.97")"
