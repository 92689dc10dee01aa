#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Formats the rows of the figures (FOLDER/M*.row) and the tables behind them as docs/measurements.md, on standard
# output. Every figure appears; one that is not reached carries its reason out of bench/reasons.txt ("M3 text").
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:?usage: write_measurements.sh FOLDER}
. "$top/bench/machine.sh"

rows() {
    find "$folder" -maxdepth 1 -name 'M*.row' | sort -V | xargs cat
}

{
cat <<'TEXT'
<!-- SPDX-License-Identifier: BSD-3-Clause -->
# Measurements

Written by `make bench-all`. Both sides of a comparison run in one job, in turn; the median of the slowest rank is
compared; every byte is checked outside the timed part. "Stock" is Open MPI without castoff; its "best" is the best
of its tuned algorithms and of its components sm, han and adapt at that point. The laboratory is the one of tests/lab:
hosts are network namespaces on this machine. Times are those of a shared machine; ratios are what counts. "Reached" is
what nine of ten of the last ten runs kept in bench/runs.tsv reached, or all where fewer are kept; the values are those of
the last run, the ranges those of all.

TEXT
machine "$FIGURES_BUILD" "$top"
printf '\n| figure | what | stock | castoff | to reach | |\n| --- | --- | --- | --- | --- | --- |\n'
rows | awk -F'\t' '{ printf "| %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5, $6 == "reached" ? "reached" : "**" $6 "**" }'

printf '\n## Not reached\n\n' # put_runs.py tells which, by all runs

printf '\n## Commands\n\nEach figure alone, after `make bench-programs bench-micro`: `bench/figures/FIGURE.sh`. What they run:\n\n'
rows | awk -F'\t' '{ printf "- %s: `%s`\n", $1, $7 }'

printf '\n## Tables\n'
find "$folder" -maxdepth 1 -name 'M*.txt' -size +0 | sort -V | while read -r table; do
    printf '\n### %s\n\n```\n' "$(basename "$table" .txt)"
    cat "$table"
    printf '```\n'
done
if [[ -s $folder/M11.rivals ]]; then
    printf '\n### M11, rivals\n\n```\n'
    cat "$folder/M11.rivals"
    printf '```\n'
fi
} | python3 -S "$top/bench/put_runs.py"
