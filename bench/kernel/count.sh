#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Instructions of a completion, or of a message, for each case of kernel_count, on RV64 and on x86-64: the difference of
# two runs of different lengths over the difference of the lengths. On RV64 qemu writes a line for each instruction that
# it executes, on x86-64 callgrind counts. Exact, the same each time, and nobody's clock.
#
#   count.sh BUILD [CASE...]     after `make kernel-programs`
set -u -o pipefail
build=${1:?usage: count.sh BUILD [CASE...]}
shift
short=1024 long=3072
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-count.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
mkfifo "$work/trace" || exit 1

on_rv64() { # case count
    local lines status
    env -i qemu-riscv64 -singlestep -d nochain,exec -D "$work/trace" "$build/bench/kernel/rv64/kernel_count" "$1" "$2" \
        >/dev/null 2>"$work/err" &
    lines=$(grep -c '^Trace' "$work/trace")
    wait $!
    status=$?
    [ "$status" -eq 0 ] && echo "$lines"
}

on_x86_64() { # case count
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bench/kernel/x86-64/kernel_count" "$1" "$2" \
        2>"$work/err" >/dev/null && sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$work/err"
}

one() { # on_rv64|on_x86_64 case
    local few many
    few=$("$1" "$2" $short) && many=$("$1" "$2" $long) && [ -n "$few" ] && [ -n "$many" ] ||
        { echo "count.sh: $2 failed $1: $(tail -n 1 "$work/err")" >&2; exit 1; }
    awk "BEGIN { printf \"%.1f\", ($many - $few) / ($long - $short) }"
}

"$build/bench/kernel/x86-64/kernel_count" >"$work/cases" || exit 1
cases=("$@")
[ ${#cases[@]} -gt 0 ] || mapfile -t cases < <(cut -f 1 "$work/cases")
echo "# instructions of a completion (of a message: match-...), batches of 32, no cache and no clock considered"
printf '# %-16s %8s %8s\n' case rv64 x86-64
for case in "${cases[@]}"; do
    rv64=$(one on_rv64 "$case") && x86_64=$(one on_x86_64 "$case") || exit 1
    printf '%-18s %8s %8s  %s\n' "$case" "$rv64" "$x86_64" "$(awk -F'\t' -v case="$case" '$1 == case { print $2 }' "$work/cases")"
done
