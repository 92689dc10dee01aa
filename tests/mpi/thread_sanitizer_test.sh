#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs of several threads under ThreadSanitizer: the library and the programs are built with it, the MPI below is
# not, so what only that one does is left out. A race, like anything else that a program finds wrong, is a failure, and
# its report is shown. Other ranks' accesses to shared memory are not seen: what goes between processes is what the
# models and the unit tests of the rings are for. Closes with "N passed, N failed, N skipped". Called by
# tests/run_all.sh; by hand: tests/mpi/thread_sanitizer_test.sh [word that a run's line contains].
set -u -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
unset MAKEFLAGS MAKELEVEL MFLAGS SAN LD_PRELOAD "${!CASTOFF_@}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
programs=build-thread/tests/mpi
limit=120
passed=0 failed=0

# program, its arguments with _ between them or -, ranks, settings
runs() {
    cat <<'TEXT'
p2p_stress 11_25 2 CASTOFF_P2P=yes
p2p_stress 12_25 2 CASTOFF_P2P=yes CASTOFF_PROGRESS=threads CASTOFF_P2P_STREAM=0 CASTOFF_SHM_SINGLE_COPY=no CASTOFF_P2P_CREDIT=64K
p2p_stress 13_25 2 CASTOFF_P2P=yes CASTOFF_MATCH_LANES=3 CASTOFF_P2P_EAGER=0 CASTOFF_P2P_BUFFER=0
p2p_stress 14_25 2 CASTOFF_P2P=yes CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROGRESS=threads
p2p_threads - 2 CASTOFF_P2P=yes
p2p_mprobe_threads - 3 CASTOFF_P2P=yes CASTOFF_PROGRESS=threads
bcast_threads - 2 CASTOFF_BCAST=yes CASTOFF_ALLGATHER=yes CASTOFF_IALLGATHER=yes
bcast_threads - 2 CASTOFF_BCAST=yes CASTOFF_IALLGATHER=yes CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROGRESS=threads
persistent_threads - 2 CASTOFF_BCAST_INIT=yes CASTOFF_ALLGATHER_INIT=yes CASTOFF_ALLGATHERV_INIT=yes CASTOFF_ALLGATHER=yes
persistent_threads - 2 CASTOFF_BCAST_INIT=yes CASTOFF_ALLGATHER_INIT=yes CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROGRESS=threads
ialltoall_threads - 2 CASTOFF_PROXY=yes CASTOFF_IALLTOALL=yes CASTOFF_IALLTOALLV=yes
ialltoall_threads - 2 CASTOFF_PROXY=yes CASTOFF_IALLTOALL=yes CASTOFF_IALLTOALLV=yes CASTOFF_PROXY_LEND=copy
ialltoall_threads - 2 CASTOFF_PROXY=yes CASTOFF_IALLTOALL=yes CASTOFF_IALLTOALLV=yes CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROGRESS=threads
persistent_threads - 2 CASTOFF_PROXY=yes CASTOFF_BCAST_INIT=proxy CASTOFF_ALLGATHER_INIT=proxy CASTOFF_ALLGATHERV_INIT=proxy
adapt_errors - 3 CASTOFF_ADAPT=yes
adapt_errors - 3 CASTOFF_ADAPT=yes CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROGRESS=threads
TEXT
}

log=$(mktemp -d "${TMPDIR:-/tmp}/castoff-tsan.XXXXXX") || exit 1
segments=$(mktemp -d /dev/shm/mpi-tests.XXXXXX) || exit 1
trap 'rm -rf "$log" "$segments"' EXIT
trap '[ -z "${job:-}" ] || kill -TERM "$job" 2>/dev/null; exit 130' INT TERM HUP
export OMPI_MCA_btl_vader_backing_directory=$segments OMPI_MCA_orte_tmpdir_base=$log

make -s -j 2 SAN=thread lib tools || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }
make -s -j 2 -f tests/mpi/build.mk mpi_tests_build=$programs \
    MPI_TESTS_CFLAGS="-std=gnu17 -O1 -g -fsanitize=thread" \
    $(runs | cut -d' ' -f1 | sort -u | sed "s|^|$programs/|") || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }

# What MPI's own libraries do with memory is not theirs to be judged by half.
printf 'called_from_lib:%s\n' libmpi.so.40 libopen-pal.so.40 libopen-rte.so.40 >"$log/suppressions"

while read -r -u 3 program arguments ranks settings; do
    label="$program ${arguments/_/ } $ranks $settings"
    [[ $label == *"${1:-}"* ]] || continue
    exports=()
    for setting in $settings LD_PRELOAD="$PWD/build-thread/libcastoff.so" CASTOFF_REPORT="$log/report" CASTOFF_STALL_S=60 CASTOFF_PROBE=20s; do
        exports+=(-x "$setting")
    done
    # Who starts a proxy clones: for the sanitizer that is a fork, behind which it looks at its thread no more.
    options="die_after_fork=0 ignore_noninstrumented_modules=1 suppressions=$log/suppressions exitcode=66 log_path=$log/race"
    arguments=${arguments#-}
    # shellcheck disable=SC2086 # a list of arguments
    python3 -S tests/bounded.py $limit $((limit * (ranks + 1))) \
        mpirun --oversubscribe --bind-to none -n "$ranks" "${exports[@]}" -x TSAN_OPTIONS="$options" \
        "$programs/$program" ${arguments/_/ } >"$log/output" 2>&1 </dev/null &
    job=$!
    wait $job
    status=$?
    job=""
    if [ $status -eq 0 ] && ! compgen -G "$log/race*" >/dev/null && [ -s "$log/report" ]; then
        passed=$((passed + 1))
        echo "  ok      $label"
    else
        failed=$((failed + 1))
        echo "  FAILED  $label: status $status"
        tail -n 20 "$log/output"
        cat "$log"/race* 2>/dev/null | head -n 80
    fi
    rm -f "$log"/race* "$log/report"
done 3< <(runs)

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
