# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts of the figures (M1.sh, ...) share: running castoff bench with its tables kept, picking values out of
# its CSV, and the one line that each script prints on standard output:
#   figure TAB what TAB stock TAB castoff TAB to reach TAB reached|not reached|not measured TAB command
# Several commands are joined by "; ". Sourced.

set -u -o pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${FIGURES_BUILD:-$top/build}" && pwd) || exit 1
castoff=$build/castoff
out=${FIGURES_OUT:-$build/figures}
figure=$(basename "$0" .sh)
commands=""
family=${FIGURES_FAMILY:-} # mpich; nothing: Open MPI
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

row() { # what stock castoff to-reach verdict
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$figure" "$1" "$2" "$3" "$4" "$5" "${commands:-$0}"
}

give_up() { # what to-reach why: the row of a figure that could not be taken
    row "$1" "" "$3" "$2" "not measured"
    exit 0
}

# A run of what a figure is made of: it stays in bench/runs.tsv, where bench/all.sh measures, from now on, whatever becomes
# of the figure.
keep_run() { # figure:what verdict value to-reach
    printf '%s%s\t%s\t%s\t%s\n' "${FIGURES_RUNS_OF:-}" "$@" >>"${FIGURES_RUNS:-$out/$figure.runs}"
}

note_command() {
    local text="" word
    for word in "$@"; do
        [[ $word != *" "* ]] || word="'$word'"
        text+="${text:+ }$word"
    done
    text=${text//$top\//}
    commands+="${commands:+; }$text"
}

# bench NAME ARGUMENT...: castoff bench, its table in $out/NAME.txt and its CSV in $out/NAME.csv
bench() {
    local name=$1
    shift
    [[ -z $family ]] || set -- "$@" --family "$family"
    note_command castoff bench "$@"
    "$castoff" bench "$@" --csv "$out/$name.csv" >"$out/$name.txt" 2>"$out/$name.err"
}

lab_is_possible() {
    "$top/tests/lab/lab.sh" --hosts 1 -- true >/dev/null 2>&1
}

# late NAME HOSTS ARGUMENT...: entry_skew on so many hosts, its table added to $out/NAME.txt
late() {
    local name=$1 hosts=$2
    shift 2
    local line=(tests/lab/lab.sh --hosts "$hosts" --rate 200mbit -- lab-mpirun -n "$hosts" build/castoff run build/bench/entry_skew "$@")
    note_command "${line[@]}"
    "$top/tests/lab/lab.sh" --hosts "$hosts" --rate 200mbit -- lab-mpirun -n "$hosts" "$castoff" run \
        "$build/bench/entry_skew" "$@" 2>>"$out/$name.err" | grep -v setpgid >>"$out/$name.txt"
}

# Whether a job's report, if there is one, says that proxies carried calls of it. It is looked at once.
proxies_carried() { # report
    [[ -n $1 ]] || return 0
    grep -q '"proxy_calls": *[1-9]' "$1" && rm -f "$1" && return
    echo "proxies carried none of its calls" >&2
    return 1
}

# Columns of the CSV: 8 p50 us, 9 p99 us, 10 ratio, 11 low, 12 high, 13 verdict.
pick() { # csv call bytes castoff|default|best column
    awk -F, -v call="$2" -v bytes="$3" -v side="$4" -v column="$5" '
        $1 == call && $3 == bytes {
            if (side == "castoff" ? $4 == side && $15 : side == "default" ? $4 == "stock" && $5 == "default" : $4 != "castoff" && $15) {
                print $column
                exit
            }
        }' "$out/$1.csv"
}

calc() { # an awk expression
    awk "BEGIN { printf \"${2:-%.2f}\", ($1) }"
}

holds() { # a condition in awk
    awk "BEGIN { exit !($1) }" && echo reached || echo "not reached"
}

# The last line of files that says something.
last_words() { # file...
    cat "$@" 2>/dev/null | grep -v -e '^-*$' -e setpgid | tail -n 1
}
