#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M10: raw engine rate without shaping, one sender and 7 receiving hosts on this machine, against GSO/GRO sockets alone
# (bench/micro/udp_rate.sh), with authentication off and on.
. "$(dirname "$0")/figure.sh"
what="Bcast 8 MiB to 7 hosts, no shaping: rate over that of the sockets alone, authentication off and on"
reach=">= 0.7 off; >= 0.2 on"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
common=(--lab 8 --rate none --calls bcast --sizes 8M --rounds-min 20 --seconds 4)
bench M10-off "${common[@]}" --set AUTH=no && bench M10-on "${common[@]}" --set AUTH=yes ||
    give_up "$what" "$reach" "$(last_words "$out"/M10-*.err)"
off=$(calc "8388608 / $(pick M10-off bcast 8388608 castoff 8)" %.1f) on=$(calc "8388608 / $(pick M10-on bcast 8388608 castoff 8)" %.1f)
stock=$(calc "8388608 / $(pick M10-on bcast 8388608 default 8)" %.1f)
alone=""
if [[ -x $build/bench/micro/udp_speed ]]; then
    note_command bench/micro/udp_rate.sh
    alone=$("$top/bench/micro/udp_rate.sh" "$build" 2>"$out/M10.err" | awk '$1 == "rate_mb_s" { print $2 }')
fi
[[ -n $alone ]] || give_up "$what (castoff $off MB/s off, $on MB/s on; stock $stock MB/s)" "$reach" "the sockets alone were not measured"
row "$what" "stock $stock MB/s; sockets alone $alone MB/s" "$(calc "$off / $alone") ($off MB/s); $(calc "$on / $alone") ($on MB/s)" "$reach" \
    "$(holds "$off / $alone >= 0.7 && $on / $alone >= 0.2")"
