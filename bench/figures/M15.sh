#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M15: what a message costs whose receive stands behind 0 to 16,384 others, messages in reverse order, exact and from
# MPI_ANY_SOURCE; and how that grows from one depth to twice that depth. Each sample follows an untimed turn, on both sides.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/messages.sh"
what="message of 8 bytes into a posted receive behind 0 - 16384 others, reverse order, exact and from MPI_ANY_SOURCE, 2 ranks of a node: longest time; largest growth per doubling. Stock at 0, 4096, 16384"
reach="<= 150 ns at every depth, growth < 1.1, after an untimed turn"
bench M15 p2p --calls posted-reverse,posted-any-reverse --depths 0,16:16K:2 --stock-best --seconds 0.3 ||
    give_up "$what" "$reach" "$(last_words "$out/M15.err")"
longest() { # call
    awk -F, -v call="$1" '$1 == call && $4 == "castoff" && $5 == "default" && (!n++ || $8 > most) { most = $8; at = $3 }
        END { printf "%.0f ns (at %d)", most * 1000, at }' "$out/M15.csv"
}
growth() { # call
    awk -F, -v call="$1" '$1 == call && $4 == "castoff" && $5 == "default" && $3 >= 16 {
            if (last > 0 && $8 / last > most) { most = $8 / last; at = $3 }
            last = $8
        } END { printf "%.2f (to %d)", most, at }' "$out/M15.csv"
}
stock() { # job
    echo "$(nanoseconds M15 posted-reverse 0 stock "$1"), $(nanoseconds M15 posted-reverse 4096 stock "$1"), $(nanoseconds M15 posted-reverse 16384 stock "$1") ns"
}
exact=$(longest posted-reverse) any=$(longest posted-any-reverse)
exact_growth=$(growth posted-reverse) any_growth=$(growth posted-any-reverse)
row "$what" "$(stock default); ucx $(stock ucx)" "exact $exact, growth $exact_growth; any $any, growth $any_growth" "$reach" \
    "$(holds "${exact%% *} <= 150 && ${any%% *} <= 150 && ${exact_growth%% *} < 1.1 && ${any_growth%% *} < 1.1")"
