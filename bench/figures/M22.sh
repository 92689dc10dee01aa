#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M22: how fast castoff trace reads the text of dumpi2ascii, on one core: to calls, and to the events that it keeps.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/synthetic.sh"
what="DUMPI text read on one core, synthetic trace of 100 MB: to calls; to events in a file"
reach=">= 200 MB/s"
make_traces parsing 2 200 || give_up "$what" "$reach" "$(last_words "$out/M22.err")"
note_command build/bench/micro/trace_speed parsing/synthetic-00000.txt
(cd "$synthetic" && "$build/bench/micro/trace_speed" parsing/synthetic-00000.txt) >"$out/M22.txt" 2>"$out/M22.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M22.err")"
read -r calls events < <(awk '!/^#/ { print $4, $5 }' "$out/M22.txt")
row "$what" "none" "$calls MB/s; $events MB/s" "$reach" "$(holds "$calls >= 200 && $events >= 200")"
