#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures every figure and writes docs/measurements.md whole: machine, date, one table row for each figure with its
# command, reasons for those not reached (bench/reasons.txt), and the tables behind them; every run is kept as a line of
# bench/runs.tsv. Hours: each figure may take 15 minutes, and real programs (M48), 18 of ten minutes at most, one
# of them of thirty, three and a half hours. Called by
# `make bench-all`; bench/all.sh BUILD [FIGURE...] measures only some and takes the others from earlier runs of this
# build folder; where one is missing, docs/measurements.md stays as it is. FAMILY=mpich bench/all.sh BUILD [FIGURE...] measures
# over MPICH what can be (make bench-mpich), against MPICH's own choice. Figures over any MPI but Open MPI 4.1 say which in
# bench/runs.tsv, and docs/measurements.md stays as it is.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$top/build}" && pwd) || exit 1
shift
family=${FAMILY:-} mpi="" over_any=(M1 M12 M15 M16 M17)
case $family in
mpich) mpi=" MPICH $(mpichversion 2>/dev/null | sed -n 's/^MPICH Version:[[:space:]]*//p')" ;;
"") mpi=$(mpirun --version 2>/dev/null | sed -n '/ 4[.]1[.]/d; s/^mpirun (Open MPI)/ Open MPI/p') ;;
*) echo "all.sh: FAMILY=$family is not mpich" >&2; exit 2 ;;
esac
where=${mpi# } where=${where// /-}
export FIGURES_BUILD=$build FIGURES_OUT=$build/figures${where:+-$where} FIGURES_FAMILY=$family
cd "$top" || exit 1
mkdir -p "$FIGURES_OUT"
all=(M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 M11 M12 M13 M14 M15 M16 M17 M18 M19 M20 M21 M22 M23 M24 M25 M26 M27 M28 M29 M30 M31 M32 M33 M34 M35 M36 M38 M39 M40 M42 M43 M46 M47 M48 M49 M50 M51)
figures=("$@")
[ -z "$mpi" ] || all=("${over_any[@]}")
((${#figures[@]} > 0)) || figures=("${all[@]}")
for figure in "${figures[@]}"; do
    [[ " ${all[*]} " == *" $figure "* ]] || { echo "all.sh: no figure $figure${mpi:+ over$mpi}" >&2; exit 2; }
done
# What was measured stays, good or bad: a line in bench/runs.tsv. What a figure is made of stays at once, for a figure may
# be cut off, and so may this script.
commit=$(git -C "$top" describe --always --dirty=+ 2>/dev/null || echo unknown) # before that file makes it differ
machine="$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(env -u OMP_NUM_THREADS nproc) cores"
FIGURES_RUNS_OF=$(printf '%s\t%s\t%s\t' "$(date -u +%Y-%m-%d)" "$commit" "$machine")
export FIGURES_RUNS_OF FIGURES_RUNS=$top/bench/runs.tsv
[ -z "$mpi" ] || FIGURES_RUNS=$FIGURES_OUT/runs
keep() { # figure
    awk -F'\t' -v OFS='\t' -v mpi="$mpi" -v date="$(date -u +%Y-%m-%d)" -v commit="$commit" -v machine="$machine" '
        $6 == "reached" || $6 == "not reached" { print date, commit, machine, $1 mpi, $6, $4, $5 }' \
        "$FIGURES_OUT/$1.row" >>"$top/bench/runs.tsv"
}

for figure in "${figures[@]}"; do
    echo "== $figure" >&2
    limit=900
    [ "$figure" != M48 ] || limit=12900 # real programs are long
    timeout $limit "$top/bench/figures/$figure.sh" >"$FIGURES_OUT/$figure.row" ||
        printf '%s\t%s\t\t%s\t\tnot measured\t%s\n' "$figure" "see bench/figures/$figure.sh" "no end within $limit s, or it failed" \
            "bench/figures/$figure.sh" >"$FIGURES_OUT/$figure.row"
    keep "$figure"
    cut -f 1,4,5,6 "$FIGURES_OUT/$figure.row" >&2
done
[ -z "$mpi" ] || exit 0
"$top/bench/write_measurements.sh" "$FIGURES_OUT" >"$FIGURES_OUT/measurements.md" || exit
missing=()
for figure in "${all[@]}"; do
    [ -e "$FIGURES_OUT/$figure.row" ] || missing+=("$figure")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "docs/measurements.md stays as it is, for here are no rows of ${missing[*]}; the others: $FIGURES_OUT/measurements.md" >&2
else
    cp "$FIGURES_OUT/measurements.md" "$top/docs/measurements.md"
fi
