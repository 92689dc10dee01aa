#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff ab: interleaving, the comparison of outputs, failures, and the files it writes.
. "$(dirname "$0")/check.sh"

run "$castoff" ab -n 6 --json "$work/ab.json" --csv "$work/ab.csv" -- true
ok "true: status 0" status_is 0
ok "true: a table" out_has '^without '
ok "true: a ratio with interval" out_has '95% interval'
ok "true: same output" out_has '# output: the same on both sides'
ok "castoff is in every second run" times_loaded 7
ok "six pairs have no other word for the interval" [ "$(grep -c 'all pairs' "$work/out")" -eq 0 ]
run "$castoff" ab -n 2 --warm-up 0 -- true
ok "two pairs are no interval of 95 %" out_has '^# ratio without/with .* all pairs .* too few pairs$'
ok "CSV has a line for each pair" [ "$(wc -l <"$work/ab.csv")" -eq 7 ]
ok "JSON names the command" grep -q '"true"' "$work/ab.json"
ok "nothing stays in /tmp" [ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'castoff-ab-*' -newer "$work/bin/castoff")" ]

mkdir "$work/place"
TMPDIR=$work/place run sh -c '"$1" ab -n 1 --show --warm-up 0 -- sh -c "yes | head -n 100000" | true' sh "$castoff"
goes() { until [ -z "$(ls "$1")" ]; do sleep 0.1; done; } # who watches over it comes to it a moment later
ok "a reader who goes: nothing stays either" goes "$work/place"
TMPDIR=$work/place run "$castoff" ab -n 1 --warm-up 0 -- sh -c 'echo "${CASTOFF_REPORT%/*/*}" >>"$1"' sh "$work/report.place"
ok "its own files are in TMPDIR" grep -qxF "$work/place" "$work/report.place"
run "$castoff" ab -n 1 --warm-up 0 --json /dev/full -- true
ok "JSON to a full disk: why" err_has 'cannot write /dev/full: No space left on device'
run "$castoff" ab -n 500 --warm-up 0 --json /dev/full -- true
ok "much JSON to a full disk: why" err_has 'cannot write /dev/full: No space left on device'

run "$castoff" ab -n 2 --warm-up 0 -- sh -c 'echo x >>'"$work"'/order; echo "${LD_PRELOAD:+y}" >>'"$work"'/order'
ok "sides take turns" [ "$(tr -d '\n' <"$work/order")" = "xxyxyx" ]

run "$castoff" ab -n 2 --csv - --show -- echo hello
ok "CSV on standard output: nothing else there" [ "$(grep -vc '^pair,\|^[12],' "$work/out")" -eq 0 ]
ok "CSV on standard output: the table for people" err_has '^without '
ok "CSV on standard output: the command's output" err_has '^hello$'

run "$castoff" ab -n 2 --warm-up 0 -- sh -c 'echo "hello${LD_PRELOAD:+ castoff}"'
ok "different output: said" out_has '# output: DIFFERENT with castoff'
ok "different output: status 1" status_is 1
run "$castoff" ab -n 2 --warm-up 0 -- sh -c 'date +%N'
ok "output that changes by itself is not held against castoff" out_has 'changes from run to run'
ok "and does not fail" status_is 0

run "$castoff" ab -n 2 -- sh -c 'exit 33'
ok "failing command: its status" status_is 33
ok "failing command: which side" err_has 'without castoff ended with status 33'
run "$castoff" ab -n 2 -- sh -c 'test -z "$LD_PRELOAD" || exit 34'
ok "failing with castoff: its status" status_is 34
ok "failing with castoff: said" err_has 'with castoff ended with status 34'
run "$castoff" ab -n 2 -- ./there-is-no-such-program
ok "missing command: status 127" status_is 127
run "$castoff" ab
ok "no command: status 2" status_is 2
run "$castoff" ab -n x -- true
ok "bad number: status 2" status_is 2
LD_PRELOAD=$work/bin/libcastoff.so run "$castoff" ab -- true
ok "preloaded already: refused" err_has 'LD_PRELOAD names libcastoff.so already'
LD_PRELOAD=$work/bin/libcastoff.so.bak run "$castoff" ab -n 1 -- true
ok "something else preloaded: not refused for that" sh -c '! grep -q "LD_PRELOAD names" "$1"' sh "$work/err"

run "$castoff" ab --set BCATS=no -- sh -c "echo >$work/ran"
ok "an unknown setting is refused" status_is 2
ok "with a suggestion" err_has 'did you mean CASTOFF_BCAST?'
ok "before anything runs" [ ! -e "$work/ran" ]
run "$castoff" ab -n 1 --warm-up 0 --set LOG=info --show -- env
ok "--set reaches the side with castoff" out_has '^CASTOFF_LOG=info$'
run "$castoff" ab -n 1 --warm-up 0 -- sh -c "exec $castoff run --set LOG=debug -- sh -c 'exit 0'"
ok "a script that calls castoff run" status_is 0

if command -v mpirun >/dev/null; then
    cp /bin/true "$work/rank"
    run "$castoff" ab -n 1 --warm-up 0 -- mpirun -n 2 "$work/rank"
    ok "mpirun: ranks only, on one side" loaded_into rank
    ok "mpirun: both ranks" times_loaded 2
    run "$castoff" ab -n 1 --warm-up 0 -- mpirun -n 2 "$castoff" run --set LOG=info -- "$work/rank"
    ok "castoff run in the line: one side only" times_loaded 2
    ok "castoff run in the line: status 0" status_is 0
    make -s -C "$top" all >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
    stand_in=$castoff castoff=$build/castoff
    run "$castoff" ab -n 1 --warm-up 0 --json "$work/calls.json" -- mpirun -n 2 "$build/bench/traffic" bcast 4096 30
    ok "calls are timed: status 0" status_is 0
    ok "calls are timed: of whom" out_has "# which calls gained it: .* of 2 of 2 ranks\$"
    ok "calls are timed: calls of a rank, both times, what was gained by all and by each" \
        out_has '^MPI_Bcast  *30  *[0-9.]*  *[0-9.]*  *-*[0-9.]*  *-*[0-9.]*$'
    ok "calls are timed: castoff's start is in it" out_has '^MPI_Init '
    ok "calls are timed: what is left" out_has '^outside_MPI  *-  *-*[0-9.]* '
    ok "calls are timed: JSON" python3 -S -c 'import json, sys
calls = {row["call"]: row for row in json.load(open(sys.argv[1]))["by_call"]}
sys.exit(not (calls["MPI_Bcast"]["calls_with"] == calls["MPI_Bcast"]["calls_without"] == 30 and calls["MPI_Bcast"]["with_s"] > 0))' "$work/calls.json"
    ok "calls are timed: nothing stays in /tmp" [ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'castoff-ab-*' -newer "$work/calls.json")" ]
    run "$castoff" ab -n 1 --warm-up 0 --no-calls -- mpirun -n 2 "$build/bench/traffic" bcast 4096 30
    ok "--no-calls: no table of calls" sh -c '! grep -q "which calls" "$1"' sh "$work/out"
    ok "--no-calls: status 0" status_is 0
    castoff=$stand_in
else
    skip "mpirun" "not installed"
fi
if command -v gnuplot >/dev/null; then
    run "$castoff" ab -n 2 --svg "$work/ab.svg" -- true
    ok "SVG" grep -q '<svg' "$work/ab.svg"
else
    skip "SVG" "no gnuplot; the package gnuplot-nox has it"
fi
for option in json csv svg; do
    run "$castoff" ab -n 1 --warm-up 0 "--$option" "$work/none/x" -- touch "$work/ran"
    ok "--$option: a place that cannot be written is named" err_has "cannot write $work/none/x: No such file"
    ok "--$option: before anything is run" [ ! -e "$work/ran" ]
    ok "--$option: status 1" status_is 1
done
run env PATH="$work" "$castoff" ab -n 1 --svg "$work/no.svg" -- /bin/true
ok "without gnuplot: said" err_has 'gnuplot-nox'
finish
