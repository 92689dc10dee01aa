#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M1: MPI_Bcast of 1 MiB to 8 hosts on 200 Mbit/s links, against stock's default and the best of its algorithms. The
# limit is the raw link rate, 41.94 ms.
. "$(dirname "$0")/figure.sh"
what="Bcast 1 MiB, 8 hosts, 200 Mbit/s, time over the limit of 41.9 ms"
reach="<= 1.09; >= 6 x stock's default, >= 2.1 x its best"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
bench M1 --lab 8 --rate 200mbit --calls bcast --sizes 1M --stock-best --seconds 5 --rounds-max 40 ||
    give_up "$what" "$reach" "$(last_words "$out/M1.err")"
ours=$(pick M1 bcast 1048576 castoff 8) default=$(pick M1 bcast 1048576 default 8) best=$(pick M1 bcast 1048576 best 8)
row "$what" "$(calc "$default / 41943.04"); best $(calc "$best / 41943.04")" \
    "$(calc "$ours / 41943.04" %.3f); $(calc "$default / $ours") x the default, $(calc "$best / $ours") x the best" "$reach" \
    "$(holds "$ours / 41943.04 <= 1.09 && $default / $ours >= 6 && $best / $ours >= 2.1")"
