#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff under the MPICH of this machine (Debian: mpich, libmpich-dev): builds libcastoff-mpich.so and runs the programs of
# tests/mpi on MPICH, native against castoff. What MPICH itself does not pass, since a program expects what Open MPI does, is
# skipped and says so. Closes with "N passed, N failed, N skipped". `make test-mpich` calls it.
#
#   mpich.sh [argument of tests/mpi/run.sh...]
#
# Arguments choose programs, modes and so on; without any, the programs of collectives, natively and with castoff on.
set -u -o pipefail

cd "$(dirname "$0")/../.." || exit 2
for command in mpicc.mpich mpiexec.mpich; do
    if ! command -v "$command" >/dev/null; then
        echo "skipped: MPICH: there is no $command; the packages mpich and libmpich-dev have it"
        echo "0 passed, 0 failed, 1 skipped"
        exit
    fi
done
make -s mpich || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }
# Not those that need gigabytes, nor those in which MPICH 4.0.2 itself does not end: persistent collectives that ranks start
# in different orders, say (fortran_persistent_collectives, persistent_errors_mixed, persistent_order, persistent_starts). MPI_Testall that finds not
# all requests done may write MPI_ERROR of those that are: MPICH does not, castoff and Open MPI do (iallgather_statuses).
# What MPICH says of its own nonblocking collective is what the request said of the message before (ialltoall_statuses).
# Three want what only proxies do, and there are none: all-to-alls are left to MPICH (ialltoall_before_wait, ialltoall_freed),
# and so is a persistent collective that fails at one rank (persistent_failed), which ends the job there.
# ibcast_left_alone wants MPI_Open_port, which is not there with UCX, and a root whose start moves it: here worker threads do.
# Hydra ends the others as soon as one rank has left without MPI_Finalize, before or after they print (finalize_missing).
# UCX complains, with the time, of files of the program's at the numbers of its own (init_closed_streams).
left_out=()
for program in bcast_over_2gib allgatherv_over_2gib ialltoall_over_2gib allgatherv_shapes iallgather_statuses \
    iallgather_failed_neighbour fortran_persistent_collectives ialltoall_before_wait ialltoall_freed \
    ialltoall_statuses ibcast_left_alone persistent_errors_mixed persistent_failed persistent_order persistent_starts \
    finalize_missing init_closed_streams; do
    left_out+=(--without "$program")
done
[ $# -gt 0 ] || set -- --mode native --mode on bcast allgather alltoall comm_ init_ fortran_ persistent_ finalize_ cxx_
# MPICH and UCX leave their shared memory behind where a job is ended by force: it goes with a /dev/shm of the tests' own.
own='mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"' apart=()
! unshare --mount sh -c "$own" sh true 2>/dev/null || apart=(unshare --mount sh -c "$own" sh)
CASTOFF_TEST_FAMILY=mpich exec "${apart[@]}" bash tests/mpi/run.sh --no-report "${left_out[@]}" "$@"
