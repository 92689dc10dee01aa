#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the unit test programs given as arguments, as many at once as there are cores: one line each with its seconds,
# the log of those that fail, and "N passed, N failed, N skipped" at the end, counting programs. A program passes with
# status 0 and is skipped with 77. cmocka's status is 0, too, where tests have skipped themselves: a program of which
# nothing else was left is skipped, and of the others the line says how many. Who waits for a minute with nothing done,
# or takes 10 minutes of processor time (the longest takes one, under a sanitizer), hangs (tests/bounded.py). UNIT_RUNNER:
# words in front of each, as of an emulator. Called by `make unit`.
set -u

idle_limit=60 cpu_limit=600
bounded=$(cd "$(dirname "$0")" && pwd)/bounded.py

# The sum of what cmocka's closing lines of that kind say, in all groups of the program.
sum_of() { # PASSED or SKIPPED
    sed -n "s/^\[ *$1 *\] \([0-9]*\) test(s).*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'
}

# Its line and its log come out together, and one word goes to $work/words.
run_one() { # program
    name=$(basename "$1")
    log=$(mktemp "$work/log.XXXXXX") || exit 1
    started=$(date +%s%N)
    # shellcheck disable=SC2086 # a list of words
    python3 -S "$bounded" "$idle_limit" "$cpu_limit" ${UNIT_RUNNER:-} "$1" >"$log" 2>&1
    status=$?
    took=$((($(date +%s%N) - started) / 10000000))
    without=$(sum_of SKIPPED)
    [ "$status" -ne 0 ] || [ "$without" -eq 0 ] || [ "$(sum_of PASSED)" -gt 0 ] || status=77
    case $status in
    0) word=passed verdict=ok ;;
    77) word=skipped verdict=skipped ;;
    124) word=failed verdict="FAILED, hangs" ;;
    *) word=failed verdict="FAILED, status $status" ;;
    esac
    [ "$verdict" != ok ] || [ "$without" -eq 0 ] || verdict="ok, $without of its tests skipped"
    echo "$word" >>"$work/words"
    {
        printf '  %-34s %4d.%02d s  %s\n' "$name" $((took / 100)) $((took % 100)) "$verdict"
        case $verdict in
        FAILED*) sed 's/^/    /' "$log" ;;
        skipped) tail -n 1 "$log" | sed 's/^/    /' ;;
        *" of its tests skipped") sed -n 's/^\(\[ *SKIPPED *\] [a-z_].*\)/    \1/p' "$log" ;;
        esac
    } >"$log.said"
    flock "$work/words" cat "$log.said"
}

if [ "${1:-}" = --one ]; then
    work=$2
    run_one "$3"
    exit 0
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-unit.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
: >"$work/words"
# Settings of the caller must not change what the tests see.
for name in $(env | sed -n 's/^\(CASTOFF_[A-Z_]*\)=.*/\1/p'); do
    case $name in
    CASTOFF_TEST_*) ;;
    *) unset "$name" ;;
    esac
done
[ $# -eq 0 ] || printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc 2>/dev/null || echo 2)" sh "$0" --one "$work"

passed=$(grep -cx passed "$work/words") failed=$(grep -cx failed "$work/words") skipped=$(grep -cx skipped "$work/words")
# A program without a word was lost.
failed=$((failed + $# - passed - failed - skipped))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
