#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M31: MPI_Ialltoall by proxies alone, start and wait, 8 hosts, 200 Mbit/s: over the limit of (P - 1) N at the link's rate, and
# of stock's default over it; bytes at all ports of the switches over the payload. Ranks and proxies share all cores.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/proxies.sh"
hosts=8 count=5 size=262144
what="Ialltoall by proxies, 8 hosts, 64 KiB, 256 KiB, 1 MiB a pair, 200 Mbit/s: over the limit; stock over castoff; bytes at ports over payload, 256 KiB"
reach="<= 1.10 from 256 KiB; >= 0.97 (of stock's default: for this call it has no algorithm to choose); <= 1.07"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M31*.txt "$out"/M31*.csv "$out"/M31*.err "$out"/M31*.json
bench_by_proxies M31 --lab $hosts --rate 200mbit --calls ialltoall --sizes 64K,256K,1M --seconds 5 --rounds-max 30 ||
    give_up "$what" "$reach" "$(last_words "$out/M31.err")"
ports=(--hosts "$hosts" --rate 200mbit -- "$top/bench/figures/ports.sh" ialltoall "$size" "$count" -n "$hosts" --
    "$castoff" run --set PROXY=yes --set IALLTOALL=yes -- "$build/bench/traffic")
note_command tests/lab/lab.sh "${ports[@]}"
passed=$("$top/tests/lab/lab.sh" "${ports[@]}" 2>>"$out/M31.err") ||
    give_up "$what" "$reach" "$(last_words "$out/M31.err")"
# Each byte passes two ports: it leaves one host and comes to another one.
payload=$(calc "$passed / (2 * $count * $hosts * ($hosts - 1) * $size)" %.3f)
over="" ratio="" worst=0 least=99
for bytes in 65536 262144 1048576; do
    one=$(calc "$(pick M31 ialltoall $bytes castoff 8) / $(limit_us $hosts $bytes)" %.3f)
    over+="${over:+, }$one"
    ((bytes < 262144)) || worst=$(calc "$one > $worst ? $one : $worst" %.3f)
    one=$(pick M31 ialltoall $bytes default 10)
    ratio+="${ratio:+, }$one"
    least=$(calc "$one < $least ? $one : $least" %.3f)
done
stock=""
for bytes in 65536 262144 1048576; do
    stock+="${stock:+, }$(calc "$(pick M31 ialltoall $bytes default 8) / $(limit_us $hosts $bytes)" %.3f)"
done
row "$what" "$stock" "$over; $ratio; $payload; on $cores cores for 8 hosts" "$reach" \
    "$(holds "$worst <= 1.10 && $least >= 0.97 && $payload <= 1.07")"
