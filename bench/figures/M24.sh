#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M24: the memory that castoff trace takes for a long trace, and for one of a twentieth of its length: it must not grow
# with it. 10 GB where the disk has room for them and for what is made of them, otherwise 2 GB; SYNTHETIC_GB chooses. A
# limit of 1 GB on the address space stands over both.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/synthetic.sh"
gigabytes=${SYNTHETIC_GB:-10}
has_room $((2 * gigabytes + 4)) || gigabytes=2
what="most memory of castoff trace for $gigabytes GB of DUMPI text on 8 ranks; for $((1000 * gigabytes / 20)) MB of it"
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

note_command castoff trace --bins 1,64 --lanes 1,4 long
make_traces short 8 $((1000 * gigabytes / 20)) && short=$(peak_of short) && [ -n "$short" ] ||
    give_up "$what" "$reach" "$(last_words "$out/M24.err")"
rm -rf "$synthetic/short" "$synthetic/cache"
make_traces long 8 $((1000 * gigabytes)) && long=$(peak_of long) && [ -n "$long" ] ||
    give_up "$what" "$reach" "$(last_words "$out/M24.err")"
cp "$out/M24.long.out" "$out/M24.txt"
row "$what" "none" "$long MB; $short MB" "$reach" "$(holds "$long <= 1000 && $long <= 1.5 * $short")"
