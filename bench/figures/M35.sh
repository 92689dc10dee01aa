#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M35: messages through a proxy's memory (staged), and copied by the ranks, over messages in pieces from process to process
# (attached), between two nodes of this host, in turn: time of a message, the proxy's processor time a KiB, memory.
. "$(dirname "$0")/figure.sh"
what="a message there and back by proxies of two nodes on this host, 256 KiB to 16 MiB, staged over attached, in turn: time; processor time of a proxy, ns a KiB; most memory of a proxy"
reach=">= 1.1 at each size (staged over mapped is not measured: there is no such window)"
note_command build/bench/micro/proxy_speed lend build/castoff
"$build/bench/micro/proxy_speed" lend "$castoff" >"$out/M35.txt" 2>"$out/M35.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M35.err" "$out/M35.txt")"
value() { # bytes way word
    awk -v bytes="$1" -v way="$2" -v name="$3" '
        $3 == bytes && $5 == way { for (i = 6; i < NF; i++) if ($i == name) print $(i + 1) }' "$out/M35.txt"
}
ratios="" least=99
for bytes in 262144 1048576 4194304 16777216; do
    ratio=$(calc "$(value $bytes stage us) / $(value $bytes attach us)")
    ratios+="${ratios:+, }$ratio"
    least=$(calc "$ratio < $least ? $ratio : $least")
done
cat >>"$out/M35.txt" <<'TEXT'
#
# us: median of a message. ns_per_kib: processor time of the proxy of rank 0, of what it sent and received. most_kb: the most
# that this proxy had in memory so far. A proxy copies each byte once out of the rank and once into it; copy: the rank does
# so, too.
TEXT
row "$what" "$(value 16777216 stage us) us, $(value 16777216 stage ns_per_kib) ns/KiB, $(value 16777216 stage most_kb) kB (staged, 16 MiB)" \
    "$ratios; 16 MiB attached: $(value 16777216 attach us) us, $(value 16777216 attach ns_per_kib) ns/KiB, $(value 16777216 attach most_kb) kB" \
    "$reach" "$(holds "$least >= 1.1")"
