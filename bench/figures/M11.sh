#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M11: 32 MiB to 7 hosts by udpcast, uftp and NORM at the best of several settings (bench/rivals) against MPI_Bcast of
# the same bytes. Rivals count with their start-up (whole) and without (transfer).
. "$(dirname "$0")/figure.sh"
what="32 MiB to 7 hosts, 200 Mbit/s and unshaped: best rival over castoff (rival whole; rival's transfer alone)"
reach=">= 1.0 at 200 Mbit/s; >= 5 unshaped"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
note_command bench/rivals/rivals.sh
"$top/bench/rivals/rivals.sh" >"$out/M11.rivals" 2>"$out/M11.err" </dev/null || give_up "$what" "$reach" "$(last_words "$out/M11.err")"
for rate in 200mbit none; do
    bench "M11-$rate" --lab 8 --rate $rate --calls bcast --sizes 32M --batch 1 --rounds-min 6 --rounds-max 10 --seconds 10 ||
        give_up "$what" "$reach" "$(last_words "$out/M11-$rate.err")"
done
whole=() transfer=() name=() ours=()
best() { # rate column: least seconds, with its name
    awk -v rate="$1" -v column="$2" '$1 == rate && $6 == "ok" && (!n++ || $column < least) { least = $column; name = $2 }
        END { print least, name }' "$out/M11.rivals"
}
for rate in 200mbit none; do
    read -r whole[${#whole[@]}] name[${#name[@]}] <<<"$(best $rate 4)"
    read -r transfer[${#transfer[@]}] _ <<<"$(best $rate 5)"
    ours[${#ours[@]}]=$(calc "$(pick "M11-$rate" bcast 33554432 castoff 8) / 1e6" %.3f)
done
row "$what" "${name[0]} ${whole[0]} s (${transfer[0]} s); ${name[1]} ${whole[1]} s (${transfer[1]} s)" \
    "$(calc "${whole[0]} / ${ours[0]}") ($(calc "${transfer[0]} / ${ours[0]}")), ${ours[0]} s; $(calc "${whole[1]} / ${ours[1]}") ($(calc "${transfer[1]} / ${ours[1]}")), ${ours[1]} s" \
    "$reach" "$(holds "${whole[0]} / ${ours[0]} >= 1 && ${whole[1]} / ${ours[1]} >= 5")"
