#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M24: the memory that castoff trace takes for a long trace, and for one of a twentieth of its length: it must not grow
# with it. Once for text, and once for castoff's own recordings, which take a tenth of the bytes for the same calls: 10 GB
# and 3 GB where the disk has room for them and for what is made of them, otherwise a fifth; SYNTHETIC_GB chooses. A limit
# of 1 GB on the address space stands over all.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/synthetic.sh"
gigabytes=${SYNTHETIC_GB:-10}
has_room $((2 * gigabytes + 4)) || gigabytes=2
own=$((300 * gigabytes)) # MB
what="most memory of castoff trace on 8 ranks: $gigabytes GB of DUMPI text, $((1000 * gigabytes / 20)) MB of it; $own MB of own recordings, $((own / 20)) MB of them"
reach="<= 1 GB; not growing"
has_room $((2 * gigabytes + 4)) || give_up "$what" "$reach" "the disk has no room for it"

# The most memory that a run over these traces had resident, in MB, looked at again and again; nothing: it failed.
peak_of() { # name
    local pid peak=0 kilobytes
    (ulimit -v 1000000 && cd "$synthetic" && exec "$castoff" trace --cache "$synthetic/cache" --bins 1,64 --lanes 1,4 "$1") \
        >"$out/M24.$1.out" 2>"$out/M24.err" &
    pid=$!
    while kilobytes=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$kilobytes" ]; do
        peak=$kilobytes
        sleep 0.2
    done
    wait "$pid" && calc "$peak / 1000" %.1f
}

# Sets `peak`; one application at a time is on the disk.
measure() { # maker name megabytes
    peak=""
    make_traces_by "$1" "$2" 8 "$3" && peak=$(peak_of "$2") && [ -n "$peak" ] ||
        give_up "$what" "$reach" "$(last_words "$out/M24.err")"
    rm -rf "${synthetic:?}/$2" "$synthetic/cache"
}

note_command castoff trace --bins 1,64 --lanes 1,4 long
measure trace_make short $((1000 * gigabytes / 20)) && short=$peak
measure trace_make long $((1000 * gigabytes)) && long=$peak
measure trace_record short-own $((own / 20)) && short_own=$peak
measure trace_record long-own "$own" && long_own=$peak
cat "$out/M24.long.out" "$out/M24.long-own.out" >"$out/M24.txt"
row "$what" "none" "$long MB, $short MB; $long_own MB, $short_own MB" "$reach" \
    "$(holds "$long <= 1000 && $long <= 1.5 * $short && $long_own <= 1000 && $long_own <= 1.5 * $short_own")"
