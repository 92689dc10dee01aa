#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M33: MPI_Ialltoall by proxies without warm-up, 4 hosts, 256 KiB a pair, 200 Mbit/s: the first three calls over the median of
# later ones; two pairs of buffers in turn, and new buffers in each call, over one pair.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/proxies.sh"
what="Ialltoall by proxies, 4 hosts, 256 KiB a pair, 200 Mbit/s: first three calls over the median of later ones (highest of them, median of 5 jobs); two pairs of buffers in turn; new buffers each call"
reach="<= 1.2; <= 1.05; <= 1.10"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M33*.txt "$out"/M33*.err
for _ in 1 2 3 4 5; do
    for side in stock castoff; do
        alltoall M33 4 $side warm 262144 21 || give_up "$what" "$reach" "$(last_words "$out/M33.err")"
    done
done
middle() { # side word...: of each job the highest of the words, the median over jobs
    awk -v side="$1" -v words="${*:2}" '
        $1 == side { most = 0; for (i = 2; i < NF; i++) if (index(" " words " ", " " $i " ") && $(i + 1) > most) most = $(i + 1)
                        if (most > 0) print most }' \
        "$out/M33.txt" | sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}
first=$(middle castoff first second third) turn=$(middle castoff in_turn) new=$(middle castoff new)
row "$what" "$(middle stock first second third); $(middle stock in_turn); $(middle stock new)" "$first; $turn; $new; on $cores cores" \
    "$reach" "$(holds "$first <= 1.2 && $turn <= 1.05 && $new <= 1.10")"
