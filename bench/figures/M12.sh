#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M12: one node, 2 and 4 ranks, 1 B to 8 MiB, back to back, against the best of Open MPI's algorithms and components, and
# at 2 ranks against MPICH where it is installed (the same program, built by mpicc.mpich, jobs in turn).
. "$(dirname "$0")/figure.sh"
what="Bcast and Allgather on one node, 1 B - 8 MiB: geometric mean over the best of stock at 2 and 4 ranks, lowest ratio; MPICH over castoff at 2 ranks, lowest ratio"
reach=">= 1.2 at 2, >= 1.3 at 4; lowest >= 0.97; not slower than the better of Open MPI and MPICH at 2"
bench M12 -n 2,4 --calls bcast,allgather --sizes 1:8M --stock-best --seconds 1 || give_up "$what" "$reach" "$(last_words "$out/M12.err")"
mean() { # ranks
    awk -F, -v ranks="$1" '$2 == ranks && $15 && $4 != "castoff" { sum += log($10); n++ } END { printf "%.2f", exp(sum / n) }' "$out/M12.csv"
}
lowest=$(awk -F, '$15 && $4 != "castoff" { if (!n++ || $10 < low) { low = $10; at = $1 " " $3 " B, " $2 " ranks" } } END { printf "%.2f (%s)", low, at }' "$out/M12.csv")
mpich="not installed" mpich_low=1
if [[ -n $family ]]; then
    mpich="is the one below"
elif command -v mpicc.mpich >/dev/null && command -v mpiexec.mpich >/dev/null; then
    note_command bench/figures/M12.sh
    mpicc.mpich -std=gnu17 -O2 -o "$out/coll-mpich" "$top"/bench/coll*.c -lm &&
        mpiexec.mpich -n 2 "$out/coll-mpich" --calls bcast,allgather --sizes "$(awk -F, '$2 == 2 && $1 == "bcast" { print $3 }' "$out/M12.csv" | sort -nu | paste -sd,)" \
            --seconds 1 >"$out/M12.mpich" 2>>"$out/M12.err"
    mpich=$(awk -F'[ ,]' -v csv="$out/M12.csv" '
        $1 == "row" && $5 == "stock" { n = split($0, f, " "); m = 0; for (i = 8; i <= n; i++) v[++m] = f[i] + 0
            for (i = 2; i <= m; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
            theirs[$2 " " $3] = v[int((m + 1) / 2)] / 1000 }
        END { while ((getline line < csv) > 0) { split(line, c, ","); key = c[1] " " c[3]
                if (c[2] == 2 && c[4] == "castoff" && c[15] && key in theirs) { r = theirs[key] / c[8]; if (!k++ || r < low) { low = r; at = key } } }
              printf "%.2f (%s B)", low, at }' "$out/M12.mpich")
    mpich_low=${mpich%% *}
fi
row "$what" "1 (by definition)" "$(mean 2) at 2, $(mean 4) at 4; lowest $lowest; MPICH: $mpich" "$reach" \
    "$(holds "$(mean 2) >= 1.2 && $(mean 4) >= 1.3 && ${lowest%% *} >= 0.97 && $mpich_low >= 0.99")"
