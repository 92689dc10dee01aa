#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/applications.md has a row, a section and plots for each application of bench/applications.sh, and of the shape
# that `make traces` gives it: the quickest are recorded and analyzed here. Needs Open MPI and gnuplot for that.
. "$(dirname "$0")/check.sh"

document=$top/docs/applications.md
script=$top/bench/applications.sh

# A section, with numbers and the words behind a colon left out: what is the same in every run.
shape() { # document application
    awk -v name="$2" '/^## / { on = $2 == name } on' "$1" | sed -E 's/:.*//; s/-?[0-9]+(\.[0-9]+)?%?/N/g; s/ +/ /g; s/^ //'
}

"$script" --list >"$work/names"
ok "there are at least four applications" [ "$(wc -l <"$work/names")" -ge 4 ]
ok "a section for each, and no other" sh -c "sed -n 's/^## //p' '$document' | cmp - '$work/names'"
for line in Processor System MPI castoff Date; do
    ok "it says where it was written: $line" grep -q "^- $line" "$document"
done
while read -r name; do
    shape "$document" "$name" >"$work/out"
    ok "$name: a row" grep -q "^| \[$name\](#$name) | [0-9]" "$document"
    ok "$name: the verdict first" grep -qE "^$name: (benefits|no need|little to gain|nothing to match)" "$document"
    ok "$name: its command" grep -q "^ *mpirun -n [0-9]* castoff run --record $name " "$document"
    ok "$name: its tables" out_has '^bins depth avg depth max walked/match'
    ok "$name: plots" [ -s "$top/docs/applications/$name-calls.svg" ]
done <"$work/names"
ok "no plot that nothing shows" sh -c "cd '$top/docs' && for plot in applications/*.svg; do
    grep -qF \"(\$plot)\" applications.md || exit 1; done"

if ! command -v mpirun >/dev/null || ! command -v gnuplot >/dev/null; then
    skip "recording" "no mpirun or no gnuplot"
    finish
fi
make -s -C "$top" all >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
export TRACES_OUT="$work/traces-own"
cp "$document" "$work/before"
run "$script" "$build" stencil demo_app
ok "make traces, two of them: status 0" status_is 0
ok "the document stays" cmp -s "$document" "$work/before"
made=$TRACES_OUT
for name in stencil demo_app; do
    shape "$document" "$name" >"$work/expected"
    shape "$made/applications.md" "$name" >"$work/out"
    ok "$name: of the same shape" cmp -s "$work/expected" "$work/out"
done
ok "four traces" [ "$(ls "$made/stencil" | wc -l)" -eq 4 ]
ok "the stencil benefits" grep -q '^stencil: benefits from hashed matching: 256 bins' "$made/applications.md"
ok "whose messages are known" grep -q '^| \[stencil\](#stencil) | 4 | 100.0 % | 0.0 % | 103680 | ' "$made/applications.md"
ok "a plot holds something" grep -q '<path' "$made/applications/stencil-depth.svg"
run "$script" "$build" nothing
ok "an application that is none: status 2" status_is 2
ok "an application that is none: said" err_has 'no application nothing; there are stencil'

finish
