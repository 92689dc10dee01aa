#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M32: start, a computation as long as stock's communication alone, wait: the whole of it with stock over that with proxies,
# of a measured rank, 4 hosts, 200 Mbit/s. 2 is the most. A proxy takes a core that stock could compute on: with C cores the
# ratio is to be taken times (C - 1) / C.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/proxies.sh"
what="Ialltoall, computation as long as stock's communication, wait: stock over proxies, measured rank, 4 hosts, 256 KiB, 1 MiB a pair, 200 Mbit/s"
reach=">= 1.6 at both"
((cores >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M32*.txt "$out"/M32*.err
ratios="" least=99 times=""
for bytes in 262144 1048576; do
    alltoall M32 4 stock cost $bytes 15 || give_up "$what" "$reach" "$(last_words "$out/M32.err")"
    pure=$(said M32 stock 4 $bytes pure_us)
    for side in stock castoff; do
        alltoall M32 4 $side total $bytes 15 "$pure" || give_up "$what" "$reach" "$(last_words "$out/M32.err")"
    done
    one=$(calc "$(said M32 stock 4 $bytes total_us) / $(said M32 castoff 4 $bytes total_us)")
    ratios+="${ratios:+, }$one" times+="${times:+, }$(said M32 castoff 4 $bytes total_us) us"
    least=$(calc "$one < $least ? $one : $least")
done
rest=""
for all in 16 64 128; do
    rest+="${rest:+, }$(calc "$least * ($all - 1) / $all") of $all"
done
row "$what" "1 (by definition)" "$ratios ($times); the lower one with a core less for computing: $rest; on $cores cores" \
    "$reach" "$(holds "$least >= 1.6")"
