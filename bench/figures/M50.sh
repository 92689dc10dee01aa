#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M50: what is called beside MPI_Bcast and MPI_Allgather, 200 Mbit/s. Equal blocks by MPI_Allgatherv against MPI_Allgather,
# and starts of persistent collectives against nonblocking calls, each in the same rounds; one block ten times the others'
# against the link, with the best of stock's algorithms beside it; MPI_Ibcast against the link; overlap with computation
# between hosts that have a core each, up to 4, of which the computation leaves the processor free.
. "$(dirname "$0")/figure.sh"
cores=$(env -u OMP_NUM_THREADS nproc) hosts=4
((cores >= 4)) || hosts=$cores
what="equal blocks, 8 hosts: Allgather over Allgatherv; one block ten times the others', 8 hosts, 1 and 8 MiB in all, time over the limit; Ibcast 1 MiB, 8 hosts, over the limit; overlap of Iallgather, Ibcast, Iallgatherv, $hosts hosts, processor free; nonblocking over persistent, 2 ranks of a node (lowest, but of times over limits the highest)"
reach=">= 0.97; <= 1.15; <= 1.10; >= 98 %; >= 0.97"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M50*.txt "$out"/M50*.csv "$out"/M50*.err
take() { # name option...
    bench "$@" || give_up "$what" "$reach" "$(last_words "$out/$1.err")"
}
take M50-equal --lab 8 --rate 200mbit --calls allgather,allgatherv --blocks equal --in-turn --sizes 512,16K,128K --seconds 3
take M50-long --lab 8 --rate 200mbit --calls allgatherv --blocks long --sizes 128K,1M --stock-best --seconds 5 --rounds-max 30
take M50-ibcast --lab 8 --rate 200mbit --calls ibcast --sizes 1M --seconds 5 --rounds-max 30
take M50-node -n 2 --calls ibcast,persistent-bcast --in-turn --sizes 8,1K,16K --force --seconds 1
take M50-node-gather -n 2 --calls iallgather,persistent-allgather --in-turn --sizes 8,1K,16K --force --seconds 1
take M50-node-gatherv -n 2 --calls iallgatherv,persistent-allgatherv --in-turn --sizes 8,1K,16K --force --seconds 1
((hosts < 2)) || take M50-overlap --lab "$hosts" --rate 200mbit --calls overlap,overlap-ibcast,overlap-iallgatherv \
    --sizes 64K,256K,1M --rounds-min 15 --compute sleep --force

lowest_turn() { # csv...
    awk -F, '$1 ~ /\// && $4 == "castoff" && (n++ == 0 || $10 < low) { low = $10 } END { printf "%.3f", low }' "${@/#/$out/}"
}
# Who has a short block receives 16 of 17 parts: the limit in us at 25 bytes a us.
over_limit() { # castoff|best
    local bytes
    for bytes in 131072 1048576; do
        calc "$(pick M50-long allgatherv "$bytes" "$1" 8) / (int($bytes * 8 / 17) * 16 / 25)" "%.3f\n"
    done | sort -g | tail -n 1
}
lowest_overlap() { # call
    awk -F, -v call="$1" '$1 == call && $4 == "castoff" && (n++ == 0 || $10 < low) { low = $10 } END { printf "%.1f", low }' \
        "$out/M50-overlap.csv"
}
equal=$(lowest_turn M50-equal.csv) long=$(over_limit castoff) best=$(over_limit best)
ibcast=$(calc "$(pick M50-ibcast ibcast 1048576 castoff 8) / 41943.04" %.3f)
persistent=$(lowest_turn M50-node.csv M50-node-gather.csv M50-node-gatherv.csv)
overlap="not measured on one core" worst=100
if ((hosts >= 2)); then
    overlap="" worst=100
    for call in overlap overlap-ibcast overlap-iallgatherv; do
        one=$(lowest_overlap $call)
        overlap+="${overlap:+, }$one"
        worst=$(calc "$one < $worst ? $one : $worst" %.1f)
    done
    overlap+=" %"
fi
row "$what" "long block, stock's best $best" "$equal; $long; $ibcast; $overlap; $persistent" "$reach" \
    "$(holds "$equal >= 0.97 && $long <= 1.15 && $ibcast <= 1.10 && $worst >= 98 && $persistent >= 0.97")"
