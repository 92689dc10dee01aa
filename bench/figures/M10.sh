#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M10: raw engine rate without shaping, one sender and 7 receiving hosts on this machine, against GSO/GRO sockets alone
# that read and write a buffer of 8 MiB as castoff does (bench/micro/udp_rate.sh), with authentication off and on.
. "$(dirname "$0")/figure.sh"
what="Bcast 8 MiB to 7 hosts, no shaping: rate over that of the sockets alone, authentication off and on"
reach=">= 0.7 off; >= 0.2 on; of sockets that read and write buffers"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M10*.rates
common=(--lab 8 --rate none --calls bcast --sizes 8M --rounds-min 20 --seconds 4)
bench M10-off "${common[@]}" --set AUTH=no && bench M10-on "${common[@]}" --set AUTH=yes ||
    give_up "$what" "$reach" "$(last_words "$out"/M10-*.err)"
off=$(calc "8388608 / $(pick M10-off bcast 8388608 castoff 8)" %.1f) on=$(calc "8388608 / $(pick M10-on bcast 8388608 castoff 8)" %.1f)
stock=$(calc "8388608 / $(pick M10-on bcast 8388608 default 8)" %.1f)
# The old base, up to 2026-11, sends one page again and again and throws away what comes; it is dropped after a release.
rate() { # words
    "$top/bench/micro/udp_rate.sh" "$build" 8 512 "$@" 2>>"$out/M10.err" | awk '$1 == "rate_mb_s" { print $2 }'
}
median() {
    sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}
alone="" old=""
if [[ -x $build/bench/micro/udp_speed ]]; then
    note_command bench/micro/udp_rate.sh "$build" 8 512
    note_command bench/micro/udp_rate.sh "$build" 8 512 untouched
    for ((turn = 0; turn < 3; turn++)); do
        rate >>"$out/M10-alone.rates"
        rate untouched >>"$out/M10-old.rates"
    done
    alone=$(median <"$out/M10-alone.rates") old=$(median <"$out/M10-old.rates")
fi
[[ -n $alone && -n $old ]] || give_up "$what (castoff $off MB/s off, $on MB/s on; stock $stock MB/s)" "$reach" "the sockets alone were not measured"
row "$what" "stock $stock MB/s; sockets alone $alone MB/s (untouched, the base up to 2026-11: $old)" \
    "$(calc "$off / $alone") ($off MB/s; $(calc "$off / $old") by the old base); $(calc "$on / $alone") ($on MB/s; $(calc "$on / $old"))" "$reach" \
    "$(holds "$off / $alone >= 0.7 && $on / $alone >= 0.2")"
