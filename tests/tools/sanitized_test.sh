#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs built with sanitizers, whose runtimes are particular about preloads and about what castoff asks of the
# allocator: they run, are served, and no sanitizer has anything to say. Needs Open MPI.
. "$(dirname "$0")/check.sh"

if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
    skip "all" "no mpicc or mpirun; the packages libopenmpi-dev and openmpi-bin have them"
    finish
fi
make -s -C "$top" all >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
castoff=$build/castoff
# Open MPI itself leaks, and its threads are not the thread sanitizer's business here.
export ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_bugs=0

served() { # preload by...: a job of two ranks, all of whose calls are castoff's
    run mpirun -n 2 -x CASTOFF_BCAST=yes -x CASTOFF_IBCAST=yes -x CASTOFF_ALLGATHER=yes -x CASTOFF_IALLGATHER=yes -x CASTOFF_ALLGATHERV=yes -x CASTOFF_IALLGATHERV=yes -x CASTOFF_BCAST_INIT=yes -x CASTOFF_ALLGATHER_INIT=yes -x CASTOFF_ALLGATHERV_INIT=yes -x CASTOFF_P2P=yes \
        -x "CASTOFF_REPORT=$work/report" "$@" "$work/program"
}

for sanitizer in address thread undefined; do
    if ! OMPI_CC=gcc mpicc -std=gnu17 -g -fsanitize=$sanitizer -o "$work/program" "$top/tests/tools/sanitized.c" 2>"$work/err"
    then
        skip "$sanitizer" "no gcc with -fsanitize=$sanitizer"
        continue
    fi
    for way in "$castoff run" "env LD_PRELOAD=$build/libcastoff.so"; do
        rm -f "$work/report"
        # shellcheck disable=SC2086 # words
        served $way
        ok "$sanitizer, $way: status 0" status_is 0
        ok "$sanitizer, $way: right" [ "$(sort "$work/out")" = "$(printf '0 right\n1 right')" ]
        ok "$sanitizer, $way: nothing said" err_is_empty
        ok "$sanitizer, $way: served" grep -q 'MPI_Irecv' "$work/report"
    done
done
finish
