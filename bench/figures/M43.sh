#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M43: a proxy is killed while all ranks wait: when the last of them has its error, and what is left of the job's.
. "$(dirname "$0")/figure.sh"
what="the proxy of one of two nodes on this host is killed while both ranks wait, 20 times: when the last rank has its error; proxies that are left when both have closed"
reach="<= 1 s each time; none"
note_command build/bench/micro/proxy_speed killed build/castoff 20
"$build/bench/micro/proxy_speed" killed "$castoff" 20 >"$out/M43.txt" 2>"$out/M43.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M43.err" "$out/M43.txt")"
numbers=$(awk '$1 == "killed:" { n++; if ($3 > most) most = $3; left += $7 } END { print n, most + 0, left + 0 }' "$out/M43.txt")
read -r count most left <<<"$numbers"
row "$what" "" "$most ms at most; $left left" "$reach" "$(holds "$count == 20 && $most <= 1000 && $left == 0")"
