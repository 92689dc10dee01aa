#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Names of files, the environment and what else castoff did not write: none of it steers the terminal that shows it, or
# begins a line of its own, in what people read; and what programs read stays JSON.
. "$(dirname "$0")/check.sh"
. "$(dirname "$0")/trace_applications.sh"

# ESC, C1 as a byte and in UTF-8, DEL, bytes that are no UTF-8; and a line that is not ours.
odd=$(printf 'a\033[2J\2332J\302\2332J\177\303\050\n# forged: b\303\244')
shown='a\\x1b\[2J\\x9b2J\\xc2\\x9b2J\\x7f\\xc3(\\x0a# forged: b'$(printf '\303\244')
is_plain() { # files...: nothing steers, nothing is forged, letters are letters
    python3 - "$@" <<'PYTHON'
import sys
for path in sys.argv[1:]:
    text = open(path, "rb").read().decode()
    odd = [c for c in text if c not in "\n\t" and (c < " " or "\x7f" <= c <= "\x9f")]
    sys.exit(f"{path}: {odd}") if odd or "\n# forged" in text else None
PYTHON
}
outputs_are_plain() { is_plain "$work/out" "$work/err"; }
shows() { # what, file: the odd name is there, as it is to be seen
    ok "$1: plain" outputs_are_plain
    ok "$1: shown" grep -q "$shown" "$work/$2"
}
json_is_plain() { # file: JSON, and plain, which strings of it that hold new lines are, too
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1" && is_plain "$1"
}

run "$castoff" "$odd"
shows "an unknown command" err
run "$castoff" info "$odd"
shows "an option that is none" err
run env CASTOFF_LOG_FILE="$odd" "$castoff" info --settings
shows "a setting" out
run env CASTOFF_TUNE="$work/$odd" "$castoff" info
shows "a table that is not there" out
run env CASTOFF_LOG_FILE="$odd" CASTOFF_TUNE="$odd" "$castoff" info --json
cp "$work/out" "$work/info.json"
ok "info --json" json_is_plain "$work/info.json"
ok "info --json has every setting" python3 -c \
    'import json, sys; sys.exit(not all("value" in row for row in json.load(open(sys.argv[1]))["settings"]))' "$work/info.json"
ok "info makes no log file" [ ! -e "$odd" ]
ok "info --json has the warning" grep -q 'CASTOFF_TUNE: a' "$work/info.json"
printf 'bcast node ranks 2- bytes 1- take\n' >"$work/$odd"
run env CASTOFF_TUNE="$work/$odd" "$castoff" info --tune
shows "the table of a file" out
printf 'bcast node ranks 2- %s take\n' "$odd" >"$work/table"
run env CASTOFF_TUNE="$work/table" "$castoff" info
ok "a word in a table: plain" outputs_are_plain
mkdir "$work/$odd.d"
cp "$castoff" "$work/bin/libcastoff.so" "$work/$odd.d"
run "$work/$odd.d/castoff" info --json
cp "$work/out" "$work/info.json"
ok "info --json in an odd folder" json_is_plain "$work/info.json"
run "$work/$odd.d/castoff" info
shows "info in an odd folder" out

run "$castoff" ab -n 1 --warm-up 0 --json "$work/ab.json" -- true "$odd"
shows "ab: the command" out
ok "ab --json" json_is_plain "$work/ab.json"
ok "ab --json has the command" grep -q 'forged' "$work/ab.json"
run env CASTOFF_LOG_FILE="$odd" "$castoff" run -n -- printf %s "it's" "back\\slash" "$odd'" plain
ok "run -n: plain" outputs_are_plain
if command -v bash >/dev/null; then
    bash -c "printf '%s|' $(sed 's/.* LD_PRELOAD=[^ ]* //' "$work/out")" >"$work/words" 2>"$work/err"
    printf '%s|' printf %s "it's" "back\\slash" "$odd'" plain >"$work/wanted"
    ok "run -n: a shell reads it back" cmp -s "$work/words" "$work/wanted"
fi

application "$work/$odd.app" 40
printf 'MPI_Send entering at walltime \033[2J\2332J\n' >>"$work/$odd.app/app-0001.txt"
run "$castoff" trace --no-cache --json "$work/trace.json" --csv "$work/trace.csv" --plots "$work/plots" "$work/$odd.app"
ok "trace: status 0" status_is 0
shows "trace" out
ok "trace --json" json_is_plain "$work/trace.json"
ok "trace --json names the damaged file" grep -q 'app-0001.txt' "$work/trace.json"
ok "trace --csv" is_plain "$work"/trace.csv/*.csv
if command -v gnuplot >/dev/null; then
    ok "trace --plots" is_plain "$work"/plots/*.svg
    ok "trace --plots is XML" python3 -c \
        'import sys, xml.dom.minidom as d; [d.parse(path) for path in sys.argv[1:]]' "$work"/plots/*.svg
    application "$work/it's" 4
    run "$castoff" trace --no-cache --plots "$work/quoted" "$work/it's"
    ok "a quote in the title of a plot" grep -q "it's: " "$work/quoted/calls.svg"
else
    skip "plots" "no gnuplot; the package gnuplot-nox has it"
fi
run "$castoff" trace compare --no-cache "$work/$odd.app" "$work/$odd.app"
ok "trace compare: status 0" status_is 0
shows "trace compare" out

if command -v mpirun >/dev/null; then
    make -s -C "$top" lib modules >"$work/make" 2>&1 || cat "$work/make"
    ln -sf "$build/libcastoff.so" "$build/libcastoff-stack.so" "$work/bin"
    job() { run env "CASTOFF_LOG_FILE=$work/no/$odd" "$@" "$castoff" mpirun -n 2 "$build/bench/demo_app" 1 1; }
    job CASTOFF_REPORT=- CASTOFF_LOG=info
    ok "a job's log and report: plain" outputs_are_plain
    ok "a job's report: shown" grep -q "^  CASTOFF_LOG_FILE=.*$shown" "$work/err"
    job CASTOFF_REPORT="$work/report.txt"
    ok "a report in a file" is_plain "$work/report.txt"
    job CASTOFF_REPORT="$work/report.json"
    ok "a report as JSON" json_is_plain "$work/report.json"
    ok "a report as JSON has the setting" grep -q '"CASTOFF_LOG_FILE": ' "$work/report.json"
else
    skip "a job's log and report" "no mpirun; the package openmpi-bin has it"
fi
finish
