#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs of nonblocking and persistent collectives once more, carried by proxies (CASTOFF_PROXY=yes,
# CASTOFF_IBCAST=proxy and the like): inside a node, and with a proxy for each rank. What they receive is judged by the
# programs themselves, and must be native's. Ranks that disagree are told so by an error that their program does not
# look for, so it is run in the mode alone in which nobody does. Closes with "N passed, N failed, N skipped". Called by
# tests/run_all.sh; by hand: tests/mpi/proxy_settings_test.sh [part of a program's name...].
set -u -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
child=""
trap '[ -z "$child" ] || kill -TERM "$child" 2>/dev/null; exit 130' INT TERM HUP
log=$(mktemp "${TMPDIR:-/tmp}/castoff-proxied.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
carried=(--set CASTOFF_PROXY=yes)
for call in IBCAST IALLGATHER IALLGATHERV BCAST_INIT ALLGATHER_INIT ALLGATHERV_INIT; do
    carried+=(--set "CASTOFF_$call=proxy")
done
passed=0 failed=0 skipped=0

try() { # options and parts of names
    bash ./run.sh --no-report "${carried[@]}" "$@" >"$log" 2>&1 &
    child=$!
    wait $child
    child=""
    local line
    line=$(tail -n 1 "$log")
    grep -qxE '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' <<<"$line" || line="0 passed, 1 failed, 0 skipped"
    [[ $line == *" 0 failed, "* ]] || cat "$log"
    echo "-- $*: $line"
    # shellcheck disable=SC2086 # words
    set -- ${line//,/}
    passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + $5))
}

if [ $# -gt 0 ]; then
    try --mode native --mode on --mode faults "$@"
else
    try --mode native --mode on --mode faults ibcast_ iallgather_ allgatherv_shapes allgather_in_place persistent_lengths persistent_order
    try --mode faults allgatherv_disagree
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
