#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M30: what a measured rank itself spends of an MPI_Ialltoall by proxies: its processor time in start and wait over the time
# that communication alone takes, and the start of a call whose arguments the proxy knows, 4 hosts, 200 Mbit/s.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/proxies.sh"
what="Ialltoall by proxies, measured rank, 4 hosts, 64 KiB, 256 KiB, 1 MiB a pair, 200 Mbit/s: the rank's processor time in start and wait over communication alone; start on a hit, p50 (highest of the sizes)"
reach="<= 1 %; <= 5 us"
((cores >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M30*.txt "$out"/M30*.err
for bytes in 65536 262144 1048576; do
    for side in stock castoff; do
        alltoall M30 4 $side cost $bytes 31 || give_up "$what" "$reach" "$(last_words "$out/M30.err")"
    done
done
most() { # side: percent, us
    local bytes percent=0 start=0 one
    for bytes in 65536 262144 1048576; do
        one=$(calc "100 * $(said M30 "$1" 4 $bytes processor_us) / $(said M30 "$1" 4 $bytes pure_us)")
        percent=$(calc "$one > $percent ? $one : $percent")
        one=$(said M30 "$1" 4 $bytes start_us)
        start=$(calc "$one > $start ? $one : $start")
    done
    echo "$percent $start"
}
read -r percent start <<<"$(most castoff)"
read -r theirs their_start <<<"$(most stock)"
row "$what" "$theirs %; $their_start us" "$percent %; $start us; on $cores cores" "$reach" \
    "$(holds "$percent <= 1 && $start <= 5")"
