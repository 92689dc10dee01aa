#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M51: what links allow, whatever their rate: Bcast and Allgather of 8 hosts at 2 to 400 Mbit/s, and Bcast of 4 MiB to 3
# hosts from one that sends as fast as it can into ports of 200 Mbit/s which hold 75 KB (3 ms), 250 KB and 1 MB: median
# time over the limit, payload sent again over payload placed.
. "$(dirname "$0")/figure.sh"
what="Bcast (256 KiB up to 5 Mbit/s, 1 MiB above) and Allgather (64 KiB, 128 KiB a rank), 8 hosts, 2 to 400 Mbit/s: highest median over the limit; payload sent again over placed; Bcast 4 MiB to 3 hosts, sender unshaped, ports of 200 Mbit/s that hold 75 KB, 250 KB, 1 MB: the same"
reach="<= 1.15; <= 5 %; <= 1.15; <= 5 %"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out/M51.txt" "$out/M51.err"

# A line of the table: call, bytes, hosts, rate, queue of ports, times over the limit, payload sent again in hundredths.
take() { # links|ports hosts mbit queue-ms call bytes calls
    local words=(tests/lab/lab.sh --hosts "$2" --rate "$3mbit" --queue "$4" -- bench/figures/limit.sh "$1" FILE "$5" "$6" "$7" build/castoff build/bench/traffic)
    local blocks=1 first median highest again placed
    note_command "${words[@]}"
    read -r first median highest again placed <<<"$("$top/tests/lab/lab.sh" --hosts "$2" --rate "$3mbit" --queue "$4" -- \
        "$top/bench/figures/limit.sh" "$1" "$out/M51.json" "$5" "$6" "$7" "$castoff" "$build/bench/traffic" 2>>"$out/M51.err")"
    [[ -n ${placed:-} ]] || return 1
    [[ $5 == bcast ]] || blocks=$(($2 - 1))
    awk -v us="$first $median $highest" -v limit="$(calc "$blocks * $6 * 8 / $3" %.0f)" -v again="$again" -v placed="$placed" \
        -v of="$1 $5 $6 $2 $3 $4" 'BEGIN {
            split(us, t, " ")
            split(of, f, " ")
            printf "%-5s %-9s %8d %5d %6d %8s %8.3f %8.3f %8.3f %8.2f\n", f[1], f[2], f[3], f[4], f[5], f[6], t[1] / limit, t[2] / limit, t[3] / limit, 100 * again / placed }' >>"$out/M51.txt"
}
printf '# %-3s %-9s %8s %5s %6s %8s %8s %8s %8s %8s\n' of call "size B" hosts Mbit/s "queue ms" first median highest "again %" >"$out/M51.txt"
for rate in 2 5 10 20 40 100 200 400; do
    calls=$((rate < 20 ? 8 : rate < 100 ? 12 : 20))
    take links 8 $rate 100 bcast $((rate > 5 ? 1048576 : 262144)) $calls &&
        take links 8 $rate 100 allgather $((rate > 5 ? 131072 : 65536)) $calls || give_up "$what" "$reach" "$(last_words "$out/M51.err")"
done
for queue in 3 10 42; do
    take ports 4 200 $queue bcast 4194304 40 || give_up "$what" "$reach" "$(last_words "$out/M51.err")"
done
highest() { # links|ports column
    awk -v of="$1" -v column="$2" '$1 == of && (!n++ || $column > most) { most = $column } END { printf column == 8 ? "%.3f" : "%.2f", most }' "$out/M51.txt"
}
values=("$(highest links 8)" "$(highest links 10)" "$(highest ports 8)" "$(highest ports 10)")
row "$what" "" "${values[0]}; ${values[1]} %; ${values[2]}; ${values[3]} %" "$reach" \
    "$(holds "${values[0]} <= 1.15 && ${values[1]} <= 5 && ${values[2]} <= 1.15 && ${values[3]} <= 5")"
