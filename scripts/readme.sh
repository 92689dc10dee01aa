#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# readme.sh [--check]: fills the marked blocks of README.md and docs/settings.md: settings from env.example, those for
# users in the one and all in the other; from bench/runs.tsv the table of real programs; and from docs/measurements.md, if it
# is there, the machine and two figures, with the plot of docs/collectives.svg. --check changes nothing and fails, with the difference, if a block is not up to
# date. Called by `make readme` and by tests/tools/documents_test.sh.
set -u

cd "$(dirname "$0")/.." || exit 2
new=$(mktemp "${TMPDIR:-/tmp}/castoff-readme.XXXXXX") || exit 1
trap 'rm -f "$new" "$new".*' EXIT
figures="M1 M3" # what a broadcast and an allgather gain; programs (M48) have a table of their own

settings() { # tier
    awk -v tier="$1" -f scripts/settings_table.awk env.example
}

# What programs gain, the list of the machine, and what the table has of these figures.
measurements() {
    awk -f scripts/programs_table.awk bench/runs.tsv
    echo
    if [ ! -e docs/measurements.md ]; then
        echo "Not measured yet: \`make bench-all\` writes docs/measurements.md, \`make readme\` copies two figures here."
        return
    fi
    awk '/^## |^\|/ { exit } /^- |^  / { print }' docs/measurements.md
    printf '\n| figure | what | stock | castoff | to reach | |\n| --- | --- | --- | --- | --- | --- |\n'
    for figure in $figures; do
        awk -F ' [|] ' -v OFS=' | ' -v figure="| $figure" '$1 == figure { print $1, $2, $3, $4, $5, $NF; exit }' docs/measurements.md
    done
    printf '\nAll: [docs/measurements.md](docs/measurements.md) (`make bench-all`).\n'
    if [ -e docs/collectives.svg ]; then
        printf '\n![Time of MPI_Bcast and MPI_Allgather by size, stock and castoff (make plot)](docs/collectives.svg)\n'
    fi
}

# Replaces what stands between the marks of a block by the output of a function.
fill() { # block, file, command...
    "${@:3}" >"$new.block"
    awk -v begin="<!-- $1:begin -->" -v end="<!-- $1:end -->" -v block="$new.block" '
        $0 == end { inside = 0 }
        !inside { print }
        $0 == begin { inside = 1; found = 1; while ((getline line < block) > 0) { print line } }
        END { exit !found || inside }' "$2"
}

put() { # file, what it should be: its status is that of --check
    if [ "$check" = --check ]; then
        diff -u "$1" "$2"
    else
        cmp -s "$2" "$1" || cat "$2" >"$1"
    fi
}

check=${1-}
if ! fill settings README.md settings user >"$new.first" || ! fill measurements "$new.first" measurements >"$new" ||
    ! fill settings docs/settings.md settings all >"$new.all"; then
    echo "README.md or docs/settings.md: a block lacks its marks" >&2
    exit 1
fi
put README.md "$new"
status=$?
put docs/settings.md "$new.all" && exit "$status"
