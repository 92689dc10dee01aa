# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the figures about messages (M15, M16, M17) share: values out of the CSV of castoff bench p2p --stock-best, where
# the default is ob1 and the other job has ucx. Sourced after figure.sh.

# Median of a side in microseconds; job: default or ucx. Nothing where that job gave no result.
median_of() { # csv call step castoff|stock job
    awk -F, -v call="$2" -v step="$3" -v side="$4" -v job="$5" \
        '$1 == call && $3 == step && $4 == side && $5 == job { print $8 }' "$out/$1.csv"
}

# The same in nanoseconds, or "-".
nanoseconds() { # csv call step side job
    local us
    us=$(median_of "$@")
    [[ -n $us ]] && calc "$us * 1000" %.0f || echo "-"
}

# Lowest ratio of those that the table shows, with its place: "0.98 (latency 64, 0.95 - 1.01)".
lowest_ratio() { # csv
    awk -F, '$15 && $4 == "stock" { if (!n++ || $10 < low) { low = $10; at = $1 " " $3 ", " $11 " - " $12 ($5 == "ucx" ? ", ucx" : "") } }
        END { printf "%.2f (%s)", low, at }' "$out/$1.csv"
}

# How many of the table's comparisons castoff has certainly lost.
count_slower() { # csv
    awk -F, '$15 && $4 == "stock" { n += $13 == "slower" } END { print n + 0 }' "$out/$1.csv"
}

words_about_ucx() { # csv
    [[ -n $family ]] || grep -q ',stock,ucx,' "$out/$1.csv" || echo "; ucx does not work here"
}
