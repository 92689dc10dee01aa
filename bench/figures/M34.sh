#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M34: what is said for an all-to-all whose arguments are known: commands of a rank, records of control and of data for each
# ordered pair of proxies, of 4 nodes on this host; and time of single sends and receives over a cached group, 8 hosts of the
# laboratory, 200 Mbit/s.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/proxies.sh"
what="all-to-all by proxies whose arguments are known: commands of a rank and completions; records of control a pair of proxies; records of data a pair, 16 KiB; bytes of description; single operations over a cached group, 8 hosts, 512 B - 4 KiB a pair, 200 Mbit/s (lowest)"
reach="1 + 1; <= 1; 1; 0; >= 1.25"
rm -f "$out"/M34*.txt "$out"/M34*.err
note_command build/bench/micro/proxy_records build/castoff 16384 100
"$build/bench/micro/proxy_records" "$castoff" 16384 100 >"$out/M34.txt" 2>"$out/M34.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M34.err" "$out/M34.txt")"
value() { # word
    awk -v name="$1" '$1 == "records:" { for (i = 2; i < NF; i++) if ($i == name) print $(i + 1) }' "$out/M34.txt"
}
times="not measured: no laboratory here" least=0
if lab_is_possible; then
    times="" least=99
    for bytes in 512 1024 2048 4096; do
        line=(--hosts 8 --rate 200mbit -- lab-mpirun -n 8 "$build/examples/offload_all_to_all" "$bytes" 200)
        note_command tests/lab/lab.sh "${line[@]}"
        "$top/tests/lab/lab.sh" "${line[@]}" >"$out/M34-$bytes.txt" 2>>"$out/M34.err" ||
            give_up "$what" "$reach" "$(last_words "$out/M34.err")"
        # Means over ranks: "..., 12.3 us by single ones, 4.5 us by a group, ..."
        one=$(awk '/ by single ones/ { for (i = 1; i < NF; i++) { if ($i == "us" && $(i + 2) == "single") single += $(i - 1)
                                                                  if ($i == "us" && $(i + 2) == "a") group += $(i - 1) } }
                   END { printf "%.2f", group > 0 ? single / group : 0 }' "$out/M34-$bytes.txt")
        times+="${times:+, }$one"
        least=$(calc "$one < $least ? $one : $least")
    done
fi
row "$what" "4 records a transfer (published)" \
    "$(value commands) + $(value completions); $(value control); $(value data); $(value description); $times; on $cores cores" "$reach" \
    "$(holds "$(value commands) == 1 && $(value completions) == 1 && $(value control) <= 1 && $(value data) == 1 && $(value description) == 0 && $least >= 1.25")"
