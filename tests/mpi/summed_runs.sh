# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts that call run.sh several times, and close with one sum of what its runs say: a run is ended with the script,
# and one without a closing line counts as a failure. Sourced, after cd to this folder.
set -u -o pipefail

child=""
trap '[ -z "$child" ] || kill -TERM "$child" 2>/dev/null; exit 130' INT TERM HUP
log=$(mktemp "${TMPDIR:-/tmp}/castoff-runs.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0

# run.sh's own arguments; what it prints stays in $log, its closing line in $line.
add_run() {
    local counts
    bash ./run.sh "$@" >"$log" 2>&1 &
    child=$!
    wait "$child"
    child=""
    line=$(tail -n 1 "$log")
    grep -qxE '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' <<<"$line" || line="0 passed, 1 failed, 0 skipped"
    read -r -a counts <<<"${line//,/}"
    passed=$((passed + counts[0])) failed=$((failed + counts[2])) skipped=$((skipped + counts[4]))
}

# The sum, and whether all is well.
close_runs() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
