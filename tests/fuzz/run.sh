#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the fuzz programs of a build folder for FUZZ_SECONDS each, as many at once as there are cores: run.sh FOLDER NAME...
# A line for each with its runs, the log and the place of the input of those that fail, "N passed, N failed, N skipped" at
# the end. New inputs stay in the build folder; the corpus in the tree grows only by hand. FUZZ_SEED repeats a run. Called
# by `make fuzz`.
set -u

folder=$1
shift
here=$(dirname "$0")
seconds=${FUZZ_SECONDS:-10}
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# Its lines go to $work/NAME.said, and its word to $work/words.
fuzz() { # name
    local name=$1 log=$folder/$1.log runs status
    mkdir -p "$folder/corpus/$name" "$folder/crashes/$name"
    # The outer limit is for a target that loops where libFuzzer's own watchdog cannot see it.
    timeout -k 5 $((seconds + 60)) "$folder/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 -seed="${FUZZ_SEED:-0}" -print_final_stats=1 -artifact_prefix="$folder/crashes/$name/" \
        "$folder/corpus/$name" "$here/corpus/$name" >"$log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [ $status -eq 0 ] && [ "${runs:-0}" -gt 0 ]; then
        echo passed >>"$work/words"
        printf '  %-14s %9d runs  ok\n' "$name" "$runs"
    else
        echo failed >>"$work/words"
        printf '  %-14s %9s runs  FAILED, status %d\n' "$name" "${runs:-?}" "$status"
        tail -n 40 "$log" | sed 's/^/    /'
    fi >"$work/$name.said"
}

# As many at once as there are cores: each takes one.
: >"$work/words"
running=0
for name in "$@"; do
    if [ "$running" -ge "$(nproc 2>/dev/null || echo 1)" ]; then
        wait -n
        running=$((running - 1))
    fi
    fuzz "$name" &
    running=$((running + 1))
done
wait
for name in "$@"; do
    cat "$work/$name.said"
done
passed=$(grep -cx passed "$work/words")
failed=$(($# - passed)) # one without a word was lost
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
