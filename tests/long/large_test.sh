#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Large nonblocking and persistent collectives: 64 MiB by one rank up to eight in all modes of tests/mpi/run.sh, and
# persistent ones beyond 2 GiB, on a node and between nodes; both once more by proxies. Closes with "N passed, N failed, N skipped". Called by
# tests/run_all.sh.

cd "$(dirname "${BASH_SOURCE[0]}")/../mpi" || exit 2
. ./summed_runs.sh || exit 2

try() { # arguments of run.sh
    add_run "$@"
    cat "$log"
}

# Eight ranks and less fill two cores: one program at a time.
try --jobs 1 --ranks "1 2 3 4 5 6 7 8" ibcast_large
try persistent_over_2gib
carried=(--no-report --mode native --mode on --mode faults --set CASTOFF_PROXY=yes)
for call in IBCAST IALLGATHER IALLGATHERV BCAST_INIT ALLGATHER_INIT ALLGATHERV_INIT; do
    carried+=(--set "CASTOFF_$call=proxy")
done
try "${carried[@]}" --jobs 1 --ranks "2 5 8" ibcast_large
try "${carried[@]}" persistent_over_2gib
close_runs
