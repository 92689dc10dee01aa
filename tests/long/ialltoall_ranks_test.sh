#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Ialltoall, MPI_Ialltoallv and their persistent forms with one rank up to 16, in all modes of tests/mpi/run.sh, each
# rank with a proxy of its own, and nodes of three and of five ranks, the last one of fewer: 1 B to 1 MB a pair, shapes,
# types, Fortran, Python, 64 outstanding, late ranks, statuses, threads. Closes with "N passed, N failed, N skipped". Called
# by tests/run_all.sh; by hand: tests/long/ialltoall_ranks_test.sh [option of tests/mpi/run.sh...].

cd "$(dirname "${BASH_SOURCE[0]}")/../mpi" || exit 2
. ./summed_runs.sh || exit 2
options=("$@")

try() { # numbers of ranks, then options and parts of names
    add_run --ranks "$1" "${options[@]}" "${@:2}"
    cat "$log"
}

shapes=(ialltoall_sizes persistent_alltoall)
try "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16" "${shapes[@]}"
try "4 7 11" --set CASTOFF_UDP_INTERFACE=lo --set CASTOFF_NODE_RANKS=3 "${shapes[@]}"
try "8 13 16" --set CASTOFF_UDP_INTERFACE=lo --set CASTOFF_NODE_RANKS=5 "${shapes[@]}"
# What needs no more numbers than a few. One has room for eight ranks, and one wants more than two nodes of three.
try "5 16" alltoall --without ialltoall_sizes --without persistent_alltoall --without ialltoall_over_2gib \
    --without ialltoall_secret_memory --without ialltoall_many_ranks
close_runs
