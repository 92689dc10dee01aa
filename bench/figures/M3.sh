#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M3: MPI_Allgather of 1 MiB per rank on 8 hosts, 200 Mbit/s. The limit is 7 MiB at the raw link rate, 293.6 ms.
. "$(dirname "$0")/figure.sh"
what="Allgather 1 MiB per rank, 8 hosts, 200 Mbit/s, time over the limit of 293.6 ms"
reach="<= 1.12; >= 1.75 x stock's default, >= 1.25 x its best"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
bench M3 --lab 8 --rate 200mbit --calls allgather --sizes 1M --stock-best --seconds 10 --rounds-max 30 ||
    give_up "$what" "$reach" "$(last_words "$out/M3.err")"
limit=293601.28
ours=$(pick M3 allgather 1048576 castoff 8) default=$(pick M3 allgather 1048576 default 8) best=$(pick M3 allgather 1048576 best 8)
row "$what" "$(calc "$default / $limit"); best $(calc "$best / $limit")" \
    "$(calc "$ours / $limit" %.3f); $(calc "$default / $ours") x the default, $(calc "$best / $ours") x the best" "$reach" \
    "$(holds "$ours / $limit <= 1.12 && $default / $ours >= 1.75 && $best / $ours >= 1.25")"
