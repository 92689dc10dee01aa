#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What is called beside MPI_Bcast and MPI_Allgather, and persistent collectives, with one rank up to eight in all modes of
# tests/mpi/run.sh, 3 % of the chunks lost: 1 B to 16 MiB, shapes, types, late ranks, threads, freed communicators, many
# outstanding. `make test` has some of these numbers of ranks, and 1 %; 64 MiB: large_test.sh. Closes with "N passed, N
# failed, N skipped". Called by tests/run_all.sh; by hand: tests/long/family_ranks_test.sh [option of tests/mpi/run.sh...].

cd "$(dirname "${BASH_SOURCE[0]}")/../mpi" || exit 2
. ./summed_runs.sh || exit 2
options=("$@")

try() { # numbers of ranks, parts of names
    add_run --ranks "$1" --faults drop=0.03,dup=0.01,reorder=0.01 "${options[@]}" "${@:2}"
    cat "$log"
}

try "1 2 3 4 5 6 7 8" allgatherv_sizes allgatherv_shapes allgatherv_equal allgatherv_datatypes allgatherv_outstanding \
    allgatherv_threads allgatherv_strange_types ibcast_datatypes ibcast_start_order
# With one rank native gives one request for all that is over at once.
try "2 3 4 5 6 7 8" ibcast_outstanding iallgather_outstanding persistent_order persistent_threads
# From seven ranks on native's own answers are other ones in each run (statuses); with five it ends by SIGSEGV in its own
# collectives (communicators that are freed).
try "2 3 4 5 6" persistent_starts
try "2 3 4" comm_freed_pending
close_runs
