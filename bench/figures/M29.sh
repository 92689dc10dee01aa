#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M29: overlap of MPI_Ialltoall by proxies with computation as the OSU benchmarks define it, 2 and 4 hosts, 64 KiB to 1 MiB
# a pair, 200 Mbit/s, of a measured rank that has a core to itself; and shared: 2 hosts, a computing rank on each core, and
# proxies on both, so what they take is in it.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/proxies.sh"
what="Ialltoall overlap by proxies, measured rank, 2 and 4 hosts, 64 KiB - 1 MiB a pair, 200 Mbit/s; shared, 2 hosts (lowest of the sizes, by time and by fixed work)"
reach=">= 98 % (a core for the measured rank, one for all proxies and other ranks); shared >= 90 %"
((cores >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M29*.txt "$out"/M29*.csv "$out"/M29*.err "$out"/M29*.json
overlap() { # name hosts pin option...
    bench_by_proxies "$1" --lab "$2" --rate 200mbit --calls overlap-ialltoall --sizes 64K,256K,1M --rounds-min 15 --pin "$3" "${@:4}" ||
        give_up "$what" "$reach" "$(last_words "$out/$1.err")"
}
lowest() { # side csv...
    lowest_overlap ialltoall "$1" 3 "${@:2}"
}
for hosts in 2 4; do
    overlap "M29-$hosts" $hosts measured && overlap "M29-$hosts-steps" $hosts measured --compute steps
done
overlap M29-shared 2 shared && overlap M29-shared-steps 2 shared --compute steps
all() { # side
    echo "$(lowest "$1" "$out/M29-2.csv" "$out/M29-2-steps.csv") %, $(lowest "$1" "$out/M29-4.csv" "$out/M29-4-steps.csv") %; shared $(lowest "$1" "$out/M29-shared.csv" "$out/M29-shared-steps.csv") %"
}
worst=$(lowest castoff "$out"/M29-2.csv "$out"/M29-2-steps.csv "$out"/M29-4.csv "$out"/M29-4-steps.csv)
shared=$(lowest castoff "$out/M29-shared.csv" "$out/M29-shared-steps.csv")
[[ -n $worst && -n $shared ]] || give_up "$what" "$reach" "a size is missing"
row "$what" "$(all stock)" "$(all castoff); on $cores cores" "$reach" \
    "$(holds "$worst >= 98 && $shared >= 90")"
