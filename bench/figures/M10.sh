#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M10: raw engine rate without shaping, one sender and 7 receiving hosts on this machine, against GSO/GRO sockets alone
# that read and write a buffer of 8 MiB as castoff does (bench/micro/udp_rate.sh), with authentication off and on; in
# turn, medians.
. "$(dirname "$0")/figure.sh"
what="Bcast 8 MiB to 7 hosts, no shaping: rate over that of the sockets alone, authentication off and on"
reach=">= 0.7 off; >= 0.2 on; of sockets that read and write buffers (in turn)"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
[[ -x $build/bench/micro/udp_speed ]] || give_up "$what" "$reach" "make bench-micro has not been made"
rm -f "$out"/M10*.rates "$out"/M10*.txt
common=(--lab 8 --rate none --calls bcast --sizes 8M --rounds-min 20 --seconds 2)
# The old base, up to 2026-11, sends one page again and again and throws away what comes; it is dropped after a release.
sockets() { # word...
    "$top/bench/micro/udp_rate.sh" "$build" 8 512 "$@" 2>>"$out/M10.err" | awk '$1 == "rate_mb_s" { print $2 }'
}
rate() { # csv side
    calc "8388608 / $(pick "$1" bcast 8388608 "$2" 8)" %.1f
    echo
}
for turn in 1 2 3; do
    for auth in no yes; do
        bench "M10-auth-$auth-$turn" "${common[@]}" --set "AUTH=$auth" ||
            give_up "$what" "$reach" "$(last_words "$out/M10-auth-$auth-$turn.err")"
        rate "M10-auth-$auth-$turn" castoff >>"$out/M10-$auth.rates"
        rate "M10-auth-$auth-$turn" default >>"$out/M10-stock.rates"
        sockets >>"$out/M10-alone.rates"
        sockets untouched >>"$out/M10-old.rates"
    done
done
note_command bench/micro/udp_rate.sh "$build" 8 512
note_command bench/micro/udp_rate.sh "$build" 8 512 untouched
median() { # rates
    sort -g "$out/M10-$1.rates" | awk 'NF { v[++n] = $1 } END { if (n) print v[int((n + 1) / 2)] }'
}
alone=$(median alone) old=$(median old) off=$(median no) on=$(median yes)
[[ -n $alone && -n $old ]] || give_up "$what (castoff $off MB/s off, $on MB/s on)" "$reach" "the sockets alone were not measured"
row "$what" "stock $(median stock) MB/s; sockets alone $alone MB/s (untouched, the base up to 2026-11: $old)" \
    "$(calc "$off / $alone") ($off MB/s; $(calc "$off / $old") by the old base); $(calc "$on / $alone") ($on MB/s; $(calc "$on / $old"))" "$reach" \
    "$(holds "$off / $alone >= 0.7 && $on / $alone >= 0.2")"
