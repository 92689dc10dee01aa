#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the unit test programs given as arguments, one after the other: one line each with its seconds, the log of
# those that fail, and "N passed, N failed, N skipped" at the end, counting programs. A program passes with status
# 0, is skipped with 77, and may take 60 seconds. cmocka's status is 0, too, where tests have skipped themselves: a
# program of which nothing else was left is skipped, and of the others the line says how many. Called by `make unit`.
set -u

limit=60
passed=0 failed=0 skipped=0
log=$(mktemp "${TMPDIR:-/tmp}/castoff-unit.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
# Settings of the caller must not change what the tests see.
for name in $(env | sed -n 's/^\(CASTOFF_[A-Z_]*\)=.*/\1/p'); do
    case $name in
    CASTOFF_TEST_*) ;;
    *) unset "$name" ;;
    esac
done

# The sum of what cmocka's closing lines of that kind say, in all groups of the program.
sum_of() { # PASSED or SKIPPED
    sed -n "s/^\\[ *$1 *\\] \\([0-9]*\\) test(s).*/\\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'
}

for program in "$@"; do
    name=$(basename "$program")
    started=$(date +%s%N)
    timeout -k 5 "$limit" "$program" >"$log" 2>&1
    status=$?
    took=$((($(date +%s%N) - started) / 10000000))
    without=$(sum_of SKIPPED)
    [ "$status" -ne 0 ] || [ "$without" -eq 0 ] || [ "$(sum_of PASSED)" -gt 0 ] || status=77
    case $status in
    0) verdict=ok passed=$((passed + 1)) ;;
    77) verdict=skipped skipped=$((skipped + 1)) ;;
    124 | 137) verdict="FAILED, no end within $limit s" failed=$((failed + 1)) ;;
    *) verdict="FAILED, status $status" failed=$((failed + 1)) ;;
    esac
    [ "$verdict" != ok ] || [ "$without" -eq 0 ] || verdict="ok, $without of its tests skipped"
    printf '  %-34s %4d.%02d s  %s\n' "$name" $((took / 100)) $((took % 100)) "$verdict"
    case $verdict in
    FAILED*) sed 's/^/    /' "$log" ;;
    skipped) tail -n 1 "$log" | sed 's/^/    /' ;;
    *" of its tests skipped") sed -n 's/^\(\[ *SKIPPED *\] [a-z_].*\)/    \1/p' "$log" ;;
    esac
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
