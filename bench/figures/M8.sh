#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M8: what a lost chunk costs: MPI_Bcast of 256 KiB where the root loses one chunk in 187 of its multicasts, about one
# for each broadcast, against the same without loss.
. "$(dirname "$0")/figure.sh"
what="repair of about one lost chunk in each Bcast of 256 KiB, 4 hosts, 200 Mbit/s: time over the loss-free median, median and p99"
reach="<= 1 ms; <= 5 ms"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out/M8.json"
common=(--lab 4 --rate 200mbit --calls bcast --sizes 256K --batch 1 --rounds-min 100 --seconds 10)
bench M8-free "${common[@]}" && bench M8-loss "${common[@]}" --set FAULT=drop=0.00535,kind=data,rank=0,seed=1 --set REPORT="$out/M8.json" ||
    give_up "$what" "$reach" "$(last_words "$out"/M8-*.err)"
# Broadcasts that castoff does not take lose nothing.
grep -q '"faults_injected": *[1-9]' "$out/M8.json" 2>/dev/null || give_up "$what" "$reach" "no chunk was lost; does castoff take these calls?"
free=$(pick M8-free bcast 262144 castoff 8) p50=$(pick M8-loss bcast 262144 castoff 8) p99=$(pick M8-loss bcast 262144 castoff 9)
row "$what" "(others: UCC 1 s, MVAPICH2 0.5 s)" "$(calc "($p50 - $free) / 1000" %.2f) ms; $(calc "($p99 - $free) / 1000" %.2f) ms" "$reach" \
    "$(holds "$p50 - $free <= 1000 && $p99 - $free <= 5000")"
