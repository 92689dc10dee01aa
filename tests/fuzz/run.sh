#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the fuzz programs of a build folder for FUZZ_SECONDS each: run.sh FOLDER NAME... A line for each with its runs,
# the log and the place of the input of those that fail, "N passed, N failed, N skipped" at the end. New inputs stay
# in the build folder; the corpus in the tree grows only by hand. FUZZ_SEED repeats a run. Called by `make fuzz`.
set -u

folder=$1
shift
here=$(dirname "$0")
seconds=${FUZZ_SECONDS:-10}
passed=0 failed=0

for name in "$@"; do
    log=$folder/$name.log
    mkdir -p "$folder/corpus/$name" "$folder/crashes/$name"
    # The outer limit is for a target that loops where libFuzzer's own watchdog cannot see it.
    timeout -k 5 $((seconds + 60)) "$folder/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 -seed="${FUZZ_SEED:-0}" -print_final_stats=1 -artifact_prefix="$folder/crashes/$name/" \
        "$folder/corpus/$name" "$here/corpus/$name" >"$log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [ $status -eq 0 ] && [ "${runs:-0}" -gt 0 ]; then
        passed=$((passed + 1))
        printf '  %-14s %9d runs  ok\n' "$name" "$runs"
    else
        failed=$((failed + 1))
        printf '  %-14s %9s runs  FAILED, status %d\n' "$name" "${runs:-?}" "$status"
        tail -n 40 "$log" | sed 's/^/    /'
    fi
done

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
