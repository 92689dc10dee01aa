#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The library in programs of an MPI for which it was not built: another family (MPICH), another version of its own.
# Each runs as without it, and rank 0 says why in one line.
. "$(dirname "$0")/check.sh"

make -s -C "$top" lib >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
library=$build/libcastoff.so

lines_are() { [ "$(sort "$work/out" | tr '\n' ';')" = 'rank 0 of 2: 41 42;rank 1 of 2: 41 42;' ]; }
one_line_says() { # its text
    [ "$(grep -c . "$work/err")" -eq 1 ] && err_has 'castoff is off for this job, which runs on native MPI: ' && err_has "$1"
}

if command -v mpicc.mpich >/dev/null && command -v mpiexec.mpich >/dev/null; then
    mpicc.mpich -w -o "$work/mpich" "$top/tests/tools/other_mpi.c" || exit 1
    run mpiexec.mpich -n 2 "$work/mpich"
    ok "MPICH alone: what it prints" lines_are
    run mpiexec.mpich -n 2 env LD_PRELOAD="$library" "$work/mpich"
    ok "MPICH: status 0" status_is 0
    ok "MPICH: the same output" lines_are
    ok "MPICH: one line that says why" one_line_says 'neither Open MPI 4.1 nor 5.0'
    run mpiexec.mpich -n 2 env LD_PRELOAD="$library" CASTOFF_ENABLE=0 "$work/mpich"
    ok "MPICH, switched off: the same output" lines_are
    ok "MPICH, switched off: no word" err_is_empty
    mpicc.mpich -w -shared -fPIC -Dmain=program_main -o "$work/part.so" "$top/tests/tools/other_mpi.c" || exit 1
    ${CC:-cc} -o "$work/loader" "$top/tests/tools/other_mpi_loader.c" -ldl || exit 1
    run mpiexec.mpich -n 2 env LD_PRELOAD="$library" "$work/loader" "$work/part.so"
    ok "MPICH, loaded later: status 0" status_is 0
    ok "MPICH, loaded later: the same output" lines_are
    ok "MPICH, loaded later: one line that says why" one_line_says 'neither Open MPI 4.1 nor 5.0'
    if make -s -C "$top" mpich tools >"$work/make" 2>&1; then
        run mpiexec.mpich -n 2 env CASTOFF_REPORT="$work/report.json" CASTOFF_P2P=yes CASTOFF_PROXY=yes "$build/castoff" run "$work/mpich"
        ok "MPICH, its own library: status 0" status_is 0
        ok "MPICH, its own library: the same output" lines_are
        ok "MPICH, its own library: messages are left to it, in one line" err_has 'CASTOFF_P2P: messages are left to MPICH'
        ok "MPICH, its own library: no proxies, and why" err_has 'there are no proxies: not with MPICH'
        ok "MPICH, its own library: it serves" grep -q '"started": true' "$work/report.json"
        # shellcheck disable=SC2016 # for the shell that each rank is at first
        run mpiexec.mpich -n 2 sh -c 'test "$PMI_RANK" = 1 || export LD_PRELOAD="$0"; exec "$1"' \
            "$build/libcastoff-mpich.so" "$work/mpich"
        ok "MPICH, one rank without it: the same output" lines_are
        ok "MPICH, one rank without it: one line that says why" one_line_says 'rank 1 runs without castoff'
    else
        skip "MPICH, its own library" "$(tail -n 1 "$work/make")"
    fi
else
    skip "another family" "no MPICH; the package mpich has it"
fi

if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    mpicc -o "$work/openmpi" "$top/tests/tools/other_mpi.c" || exit 1
    ${CC:-cc} -shared -fPIC -o "$work/version.so" "$top/tests/tools/other_version.c" || exit 1
    run mpirun -n 2 -x LD_PRELOAD="$library:$work/version.so" "$work/openmpi"
    ok "another version: status 0" status_is 0
    ok "another version: right output" lines_are
    ok "another version: one line that says why" one_line_says 'neither Open MPI 4.1 nor 5.0'
    if make -s -C "$top" mpich >"$work/make" 2>&1; then
        run mpirun -n 2 -x LD_PRELOAD="$build/libcastoff-mpich.so" "$work/openmpi"
        ok "the library for MPICH under Open MPI: status 0" status_is 0
        ok "the library for MPICH under Open MPI: right output" lines_are
        ok "the library for MPICH under Open MPI: one line that says why" one_line_says 'is for MPICH'
    else
        skip "the library for MPICH under Open MPI" "$(tail -n 1 "$work/make")"
    fi
else
    skip "another version" "no Open MPI; the package libopenmpi-dev has it"
fi
finish
