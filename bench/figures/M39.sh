#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M39: LU decomposition by panels with look-ahead (bench/panel_lu.c): the whole time with panels by MPI_Ibcast through
# proxies, over the better of stock's MPI_Ibcast, with and without MPI_Test in the computation, and a ring of messages with
# MPI_Test, as HPL has it. Orders grow with the hosts, so that computation and communication keep about the same share.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/computing.sh"
rate=200mbit order=$((512 * hosts)) block=32
what="LU of order $order by panels of $block with look-ahead, $rate, hosts and cores as measured: time with Ibcast by proxies over the better of stock's Ibcast and a ring of messages with MPI_Test every 100 us; over stock's Ibcast alone, tested, ring (medians of 5 jobs, in turn)"
reach="<= 0.85; measured"
((cores >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M39*.txt "$out"/M39*.err
for _ in 1 2 3 4 5; do
    for how in stock tested ring proxies; do
        computing M39 $hosts $how $rate panel_lu $order $block || give_up "$what" "$reach" "$(last_words "$out/M39.err")"
    done
done
best="" each="" ours=$(middle M39 proxies panel_lu total_us)
for how in stock tested ring; do
    one=$(middle M39 $how panel_lu total_us)
    [[ -n $one && -n $ours ]] || give_up "$what" "$reach" "$how: no time"
    best=$(calc "${best:-$one} < $one ? ${best:-$one} : $one" %.1f)
    each+="${each:+, }$(calc "$ours / $one" %.3f)"
done
ratio=$(calc "$ours / $best" %.3f)
row "$what" "$best us" "$ratio ($ours us); $each; on $room" "$reach" "$(holds "$ratio <= 0.85")"
