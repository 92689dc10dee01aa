#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M42: a proxy that has nothing to do: processor time, memory; and what it adds to a program's start.
. "$(dirname "$0")/figure.sh"
what="a proxy of one rank that has been used and has nothing to do for 10 s: processor time, memory; castoff_offload_open of two nodes on this host, median of 20"
reach="< 1 ms/s; <= 8 MiB; <= 20 ms (64 teams are not measured)"
note_command build/bench/micro/proxy_speed idle build/castoff 10
"$build/bench/micro/proxy_speed" idle "$castoff" 10 >"$out/M42.txt" 2>"$out/M42.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M42.err" "$out/M42.txt")"
value() { # word
    awk -v name="$1" '$1 == "idle:" { for (i = 2; i < NF; i++) if ($i == name) print $(i + 1) }' "$out/M42.txt"
}
row "$what" "" "$(value us_per_s) us/s; $(value rss_kb) kB, $(value anonymous_kb) of them its own; $(value open_ms) ms" "$reach" \
    "$(holds "$(value us_per_s) < 1000 && $(value rss_kb) <= 8192 && $(value open_ms) <= 20")"
