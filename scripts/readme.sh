#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# readme.sh [--check]: fills the marked blocks of README.md: the settings from env.example, and from
# docs/measurements.md, if it is there, the machine and the table of figures, with the plot of docs/collectives.svg.
# --check changes nothing and fails, with the difference, if a block is not up to date. Called by `make readme`
# and by tests/tools/documents_test.sh.
set -u

cd "$(dirname "$0")/.." || exit 2
new=$(mktemp "${TMPDIR:-/tmp}/castoff-readme.XXXXXX") || exit 1
trap 'rm -f "$new" "$new".*' EXIT

settings() {
    awk -f scripts/settings_table.awk env.example
}

# The list of the machine and the first table.
measurements() {
    if [ ! -e docs/measurements.md ]; then
        echo "Not measured yet: \`make bench-all\` writes docs/measurements.md, \`make readme\` copies the table here."
        return
    fi
    awk '/^## / { exit } /^- |^  |^\|/ { if (/^\|/ && !table++) { print "" } print }' docs/measurements.md
    echo
    echo "Written by \`make bench-all\` into [docs/measurements.md](docs/measurements.md), which has the command of each figure,"
    echo "the reasons for those that are not reached, and the tables behind them."
    if [ -e docs/collectives.svg ]; then
        printf '\n![Time of MPI_Bcast and MPI_Allgather by size, stock and castoff](docs/collectives.svg)\n\n'
        echo "The plot is made by \`make plot\`: $(sed -n 's/^plot_command := //p' mk/readme.mk | sed 's/^/`/; s/$/`/')."
    fi
}

# Replaces what stands between the marks of a block by the output of the function of that name.
fill() {
    "$1" >"$new.block"
    awk -v begin="<!-- $1:begin -->" -v end="<!-- $1:end -->" -v block="$new.block" '
        $0 == end { inside = 0 }
        !inside { print }
        $0 == begin { inside = 1; found = 1; while ((getline line < block) > 0) { print line } }
        END { exit !found || inside }' "$2"
}

if ! fill settings README.md >"$new.first" || ! fill measurements "$new.first" >"$new"; then
    echo "README.md: a block lacks its marks" >&2
    exit 1
fi
if [ "${1-}" = --check ]; then
    diff -u README.md "$new"
    exit
fi
cmp -s "$new" README.md || cat "$new" >README.md
