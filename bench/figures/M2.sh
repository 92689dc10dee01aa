#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M2: MPI_Bcast of 1 MiB takes the same time whatever the number of hosts: 16 hosts over 2 hosts, 200 Mbit/s.
. "$(dirname "$0")/figure.sh"
what="Bcast 1 MiB, 16 hosts over 2 hosts, 200 Mbit/s"
reach="<= 1.10"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
for hosts in 2 4 8 16; do
    bench "M2-$hosts" --lab $hosts --rate 200mbit --calls bcast --sizes 1M --seconds 5 --rounds-max 30 ||
        give_up "$what" "$reach" "$(last_words "$out/M2-$hosts.err")"
    ours[hosts]=$(pick "M2-$hosts" bcast 1048576 castoff 8)
    stock[hosts]=$(pick "M2-$hosts" bcast 1048576 default 8)
done
list() { # values in us at 2, 4, 8, 16 hosts
    printf '%.0f, %.0f, %.0f, %.0f ms' "$(calc "$1 / 1000")" "$(calc "$2 / 1000")" "$(calc "$3 / 1000")" "$(calc "$4 / 1000")"
}
row "$what" "$(calc "${stock[16]} / ${stock[2]}") ($(list "${stock[2]}" "${stock[4]}" "${stock[8]}" "${stock[16]}") at 2, 4, 8, 16)" \
    "$(calc "${ours[16]} / ${ours[2]}" %.3f) ($(list "${ours[2]}" "${ours[4]}" "${ours[8]}" "${ours[16]}"))" "$reach" \
    "$(holds "${ours[16]} / ${ours[2]} <= 1.10")"
