#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M16: a flood of small messages in order into posted receives, where a list is at its best.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/messages.sh"
what="flood of 8 bytes in order into 128 - 4096 posted receives, 2 ranks of a node: time of a message at 128 and 4096, lowest ratio over the better of ob1 and ucx"
reach="<= stock: at no depth certainly slower"
bench M16 p2p --calls rate --depths 128:4K:2 --stock-best --seconds 1 || give_up "$what" "$reach" "$(last_words "$out/M16.err")"
times() { # side job
    echo "$(nanoseconds M16 rate 128 "$1" "$2"), $(nanoseconds M16 rate 4096 "$1" "$2") ns"
}
slower=$(count_slower M16)
row "$what" "$(times stock default); ucx $(times stock ucx)" \
    "$(times castoff default); lowest $(lowest_ratio M16), slower at $slower of 6$(words_about_ucx M16)" "$reach" "$(holds "$slower == 0")"
