#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M38: Fourier transforms in three dimensions with two MPI_Ialltoalls in flight, without warm-up (bench/fft3d.c): the whole
# time by proxies over stock's; and by proxies that take whole messages through their memory over that. At a rate at which
# communication takes longer than the computation: there is something to hide, and more than can be hidden.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/computing.sh"
rate=400mbit side=$((hosts > 2 ? 128 : 64)) rounds=12
what="3-D FFT of two fields of $side^3, two Ialltoalls in flight, no warm-up, $rate, hosts and cores as measured: time by proxies over stock; staged over attached; stock with MPI_Test every 100 us over stock (medians of 5 jobs, in turn)"
reach="<= 0.80; measured; measured"
((cores >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M38*.txt "$out"/M38*.err
for _ in 1 2 3 4 5; do
    for how in stock tested proxies staged; do
        computing M38 $hosts $how $rate fft3d $side $rounds || give_up "$what" "$reach" "$(last_words "$out/M38.err")"
    done
done
total() { # side
    middle M38 "$1" fft3d total_us
}
ratio=$(calc "$(total proxies) / $(total stock)" %.3f)
staged=$(calc "$(total staged) / $(total proxies)" %.3f)
tested=$(calc "$(total tested) / $(total stock)" %.3f)
share=$(calc "100 * $(middle M38 stock fft3d wait_us) / $(total stock)" %.0f)
row "$what" "1 (by definition; $(total stock) us, $share % of it waiting)" "$ratio; $staged; $tested; on $room" "$reach" \
    "$(holds "$ratio <= 0.80")"
