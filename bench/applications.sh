#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Records small real applications by castoff run --record, analyzes each by castoff trace, and writes
# docs/applications.md with its plots in docs/applications: verdicts, tables, machine, date, commands. Called by `make
# traces`; bench/applications.sh BUILD [APPLICATION...] takes only some, and leaves docs as it is: what it writes then
# lies in BUILD/traces-own (TRACES_OUT is another folder), where the traces are, too. `bench/applications.sh --list`
# names them.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/bench/machine.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
unset LD_PRELOAD "${!CASTOFF_@}"

# Name, ranks, what it comes in, its file of tests/apps (-: none), what it is; then the command.
applications="stencil|4|bench/stencil.c|-|A grid of blocks that are dealt out to the ranks, each averaged with its 26 neighbours
stencil 6 20
lammps|4|Debian's lammps|melt.lammps|Molecular dynamics: a Lennard-Jones melt, 80 steps and a restart
lmp -log none -in melt.lammps
hpcc|4|Debian's hpcc|hpccinf.txt|The HPC Challenge: LU factorization, transposition, random access, FFT, latency and bandwidth
hpcc
netpipe|2|Debian's netpipe-openmpi|-|Ping-pong of non-blocking receives up to 256 KiB
NPopenmpi -u 262144 -n 5 -o np.out -a
mpi4py|4|Debian's python3-mpi4py|ring_and_master.py|Python: pickled objects, a ring, a master that hands out work to whoever asks
/usr/bin/python3 ring_and_master.py
demo_app|4|bench/demo_app.c|-|Collective calls alone: in each step a model is broadcast, and its parts are gathered
demo_app 256 20"

names() {
    awk -F'|' 'NF > 1 { print $1 }' <<<"$applications"
}

if [ "${1:-}" = --list ]; then
    names
    exit
fi
build=$(cd "${1:-$top/build}" && pwd) || exit 1
shift
chosen=("$@")
((${#chosen[@]} > 0)) || mapfile -t chosen < <(names)
for name in "${chosen[@]}"; do
    names | grep -qxF -e "$name" || { echo "no application $name; there are $(names | xargs)" >&2; exit 2; }
done
out=${TRACES_OUT:-$build/traces-own}
castoff=$build/castoff
mkdir -p "$out/applications" && out=$(cd "$out" && pwd) || exit 1
plots=$out/applications

of() { # application field
    awk -F'|' -v name="$1" -v field="$2" '$1 == name { print $field }' <<<"$applications"
}

command_of() { # application
    awk -F'|' -v name="$1" 'found { print; exit } $1 == name { found = 1 }' <<<"$applications"
}

# In a folder of its own, for programs write files. Its trace lies beside it.
record() { # application
    local name=$1 file words
    file=$(of "$name" 4)
    read -ra words <<<"$(command_of "$name")"
    rm -rf "${out:?}/$name" "$out/$name.run"
    mkdir "$out/$name.run"
    [ "$file" = - ] || cp "$top/tests/apps/$file" "$out/$name.run"
    [ ! -x "$build/bench/${words[0]}" ] || words[0]=$build/bench/${words[0]}
    (cd "$out/$name.run" && timeout -k 5 300 mpirun --oversubscribe -n "$(of "$name" 2)" "$castoff" run \
        --record "$out/$name" -- "${words[@]}" >"$out/$name.out" 2>"$out/$name.err" </dev/null)
}

# Plots that say something go among the others, without what gnuplot repeats in them.
keep_plots() { # application
    local name=$1 plot wanted=(calls)
    [ "$(number "$name" receives)" = 0 ] || wanted=(calls depth moments talk)
    rm -f "$plots/$name-"*.svg
    for plot in "${wanted[@]}"; do
        perl -0pe 's/[ \t]+\n/\n/g; 1 while s/<g[^<>]*>\s*<\/g>\s*//g; s/\n\s+/\n/g' \
            "$out/$name.plots/$plot.svg" >"$plots/$name-$plot.svg"
    done
}

analyze() { # application
    local name=$1
    rm -rf "$out/$name.plots"
    (cd "$out" && "$castoff" trace --no-cache --json "$name.json" --plots "$name.plots" "$name" >"$name.txt" 2>"$name.err") &&
        keep_plots "$name"
}

# A number of the JSON, by a name that it has once.
number() { # application name
    sed -n "s/^ *\"$2\": \(-*[0-9.]*\).*/\1/p" "$out/$1.json" | head -n 1
}

share() { # application part: of the calls that are not progress or others
    awk -v part="$(number "$1" "$2")" -v point="$(number "$1" point_to_point)" -v all="$(number "$1" collective)" \
        -v one="$(number "$1" one_sided)" 'BEGIN { all += point + one; printf "%.1f %%", all ? 100 * part / all : 0 }'
}

verdict() { # application
    sed -n 's/^ *"verdict": "\(.*\)",/\1/p' "$out/$1.json"
}

row() { # application
    local name=$1 bins=-
    [ "$(verdict "$name")" != benefits ] || bins=$(sed -n '/"verdict": {/,/}/s/^ *"bins": \([0-9]*\).*/\1/p' "$out/$name.json")
    printf '| [%s](#%s) | %s | %s | %s | %s | %s | %s | %.2f | %.2f | %s | %s |\n' "$name" "$name" "$(of "$name" 2)" \
        "$(share "$name" point_to_point)" "$(share "$name" collective)" "$(number "$name" matches)" \
        "$(number "$name" posted_depth_max)" "$(number "$name" unexpected_depth_max)" "$(number "$name" walked_before)" \
        "$(number "$name" walked_then)" "$bins" "$(verdict "$name")"
}

section() { # application
    local name=$1 plot
    printf '\n## %s\n\n%s (%s).\n\n' "$name" "$(of "$name" 5)" "$(of "$name" 3)"
    printf '    mpirun -n %s castoff run --record %s %s\n    castoff trace --plots %s.plots %s\n\n```\n' "$(of "$name" 2)" \
        "$name" "$(command_of "$name")" "$name" "$name"
    sed 's/ *$//' "$out/$name.txt"
    printf '```\n\n'
    for plot in "$plots/$name-"*.svg; do
        plot=$(basename "$plot" .svg)
        echo "![$name: ${plot##*-}](applications/$plot.svg)"
    done
}

document() {
    cat <<'TEXT'
<!-- SPDX-License-Identifier: BSD-3-Clause -->
# Applications

Written by `make traces`: small real programs, recorded by `castoff run --record` and analyzed by `castoff trace`. What
each of them would gain from hashed matching, and what its communication looks like. `castoff trace` prints the same of
any program; [columns.md](columns.md) explains the words. Files that programs read are in tests/apps. On one machine the
order in which messages come differs from run to run, and with it a little of what is counted here.

TEXT
    machine "$build" "$top"
    printf '\n| application | ranks | point-to-point | collective | matches | posted, most | unexpected, most | %s\n%s\n' \
        "looked at for a match | with bins | bins | verdict |" "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    local name
    for name in "$@"; do
        row "$name"
    done
    for name in "$@"; do
        section "$name"
    done
}

done=() lacking=()
for name in "${chosen[@]}"; do
    read -r program _ <<<"$(command_of "$name")"
    if [ ! -x "$build/bench/$program" ] && ! command -v "$program" >/dev/null; then
        echo "$name: $program is not installed ($(of "$name" 3))" >&2
        lacking+=("$name")
    elif record "$name" && analyze "$name"; then
        head -n 1 "$out/$name.txt"
        done+=("$name")
    else
        echo "$name: failed: $(tail -n 1 "$out/$name.err")" >&2
        lacking+=("$name")
    fi
done
document "${done[@]}" >"$out/applications.md"
if [ "${done[*]}" != "$(names | xargs)" ]; then
    echo "docs/applications.md stays as it is; $out/applications.md has ${done[*]:-nothing}"
    [ ${#lacking[@]} -eq 0 ]
    exit
fi
mkdir -p "$top/docs/applications"
rm -f "$top/docs/applications/"*.svg
cp "$plots/"*.svg "$top/docs/applications/"
cp "$out/applications.md" "$top/docs/applications.md"
