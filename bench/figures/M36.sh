#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M36: MPI_Ibcast of 1 MiB by proxies, 200 Mbit/s: start and wait with 8 hosts over the limit of N at the link's rate, ranks
# and proxies sharing all cores; and overlap with computation as the OSU benchmarks define it, of a measured rank that has a
# core to itself: as the root, and as the first behind it, which passes all on.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/proxies.sh"
hosts=$((cores > 8 ? 8 : 4)) limit=41943.04
what="Ibcast of 1 MiB by proxies, 200 Mbit/s: 8 hosts, time over the limit of 41.9 ms; overlap of a measured rank, 8 hosts where there are more cores than that, else 4: as the root, as the first behind it (lower of time and fixed work)"
reach="<= 1.15; >= 98 % both"
((cores >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M36*.txt "$out"/M36*.csv "$out"/M36*.err "$out"/M36*.json
by_proxies=(--set PROXY=yes --set IBCAST=proxy)
take() { # name option...
    bench_by_proxies "$@" "${by_proxies[@]}" || give_up "$what" "$reach" "$(last_words "$out/$1.err")"
}
take M36 --lab 8 --rate 200mbit --calls ibcast --sizes 1M --seconds 5 --rounds-max 30
ours="" stock="" worst=100
for root in 0 $((hosts - 1)); do # rank 0 is measured, and comes behind the last
    for how in osu steps; do
        take "M36-$root-$how" --lab $hosts --rate 200mbit --calls overlap-ibcast --sizes 1M --rounds-min 15 --root $root \
            --pin measured --compute $how --set "PROXY_CORES=$proxy_cores"
    done
    one=$(lowest_overlap ibcast castoff 1 "$out/M36-$root-osu.csv" "$out/M36-$root-steps.csv")
    [[ -n $one ]] || give_up "$what" "$reach" "root $root: no overlap"
    worst=$(calc "$one < $worst ? $one : $worst")
    ours+="${ours:+, }$one" stock+="${stock:+, }$(lowest_overlap ibcast stock 1 "$out/M36-$root-osu.csv" "$out/M36-$root-steps.csv")"
done
ratio=$(calc "$(pick M36 ibcast 1048576 castoff 8) / $limit" %.3f)
row "$what" "$(calc "$(pick M36 ibcast 1048576 default 8) / $limit" %.3f); $stock %" "$ratio; $ours %; on $cores cores" "$reach" \
    "$(holds "$ratio <= 1.15 && $worst >= 98")"
