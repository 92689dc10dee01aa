#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs of nonblocking and persistent collectives once more, carried by proxies (CASTOFF_PROXY=yes,
# CASTOFF_IBCAST=proxy and the like): inside a node, and with a proxy for each rank. What they receive is judged by the
# programs themselves, and must be native's. Ranks that disagree are told so by an error that their program does not
# look for, so it is run in the mode alone in which nobody does. Closes with "N passed, N failed, N skipped". Called by
# tests/run_all.sh; by hand: tests/mpi/proxy_settings_test.sh [part of a program's name...].

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
. ./summed_runs.sh || exit 2
carried=(--set CASTOFF_PROXY=yes)
for call in IBCAST IALLGATHER IALLGATHERV BCAST_INIT ALLGATHER_INIT ALLGATHERV_INIT; do
    carried+=(--set "CASTOFF_$call=proxy")
done

try() { # arguments of run.sh
    add_run --no-report "${carried[@]}" "$@"
    [[ $line == *" 0 failed, "* ]] || cat "$log"
    echo "-- $*: $line"
}

if [ $# -gt 0 ]; then
    try --mode native --mode on --mode faults "$@"
else
    try --mode native --mode on --mode faults ibcast_ iallgather_ allgatherv_shapes allgather_in_place persistent_lengths persistent_order persistent_stall_told comm_mixed_calls
    try --mode faults allgatherv_disagree
    for first in 65530 4294967290; do # calls whose numbers pass what 16 and 32 bits hold
        try --mode on --set "CASTOFF_FAULT=first=$first" ialltoall_outstanding ibcast_outstanding iallgather_outstanding
    done
fi
close_runs
