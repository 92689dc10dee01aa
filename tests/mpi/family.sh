# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The family of MPI that the programs are built with and run on: Open MPI, or MPICH (CASTOFF_TEST_FAMILY=mpich), which has
# other wrappers, another launcher and another library of castoff's. Its ranks keep their cores while they wait, so all of
# its programs, native ones too, run with a preload that gives them away ($sleeps). Part of run.sh.

family=${CASTOFF_TEST_FAMILY:-open_mpi}
case $family in
open_mpi) build=$top/build/tests/mpi library=build/libcastoff.so sleeps="" ;;
mpich) build=$top/build/tests/mpi-mpich library=build/libcastoff-mpich.so sleeps=$build/libprogress_sleeps.so ;;
*)
    echo "run.sh: CASTOFF_TEST_FAMILY=$family is neither open_mpi nor mpich" >&2
    return 1
    ;;
esac

# Not all of them are for MPICH: those that do not build are skipped.
build_programs() {
    [ "$family" = mpich ] || { make -s -C "$top" -f tests/mpi/build.mk -j 2 mpi-tests; return; }
    mkdir -p "$build"
    make -s -k -C "$top" -f tests/mpi/build.mk -j 2 mpi_tests_build=build/tests/mpi-mpich MPICC=mpicc.mpich \
        MPICXX=mpicxx.mpich MPIFORT=mpifort.mpich mpi-tests >"$build/build.log" 2>&1
    [ -e "$build/bcast_sizes" ]
}

# The line that launches a program, for MPICH's launcher; the caller's arrays describe it.
mpich_line() {
    local setting words=()
    for setting in "${exports[@]}"; do
        [ "$setting" = -x ] && words+=(-genv) || words+=("${setting%%=*}" "${setting#*=}")
    done
    exports=("${words[@]}") options=()
    line=(mpiexec.mpich -n "$ranks" "${exports[@]}" "${command[@]}")
}

# A program's settings, but for proxies where there are none, which a line would say.
settings_for_family() {
    [ "$family" = mpich ] && echo "${1//CASTOFF_PROXY=yes/}" || echo "$1"
}

# Why a program is not for this family; nothing: it is.
unfit_for_family() { # name, options of mpirun
    [ "$family" = mpich ] || return 0
    case $2 in
    "" | "--mca coll "* | "--mca mpi_yield_when_idle 1") ;; # which Open MPI needs to be native alone, or slow
    *) echo "needs Open MPI's $2" && return ;;
    esac
    [ ! -e "$here/$1.py" ] || { echo "mpi4py is Open MPI's" && return; }
    [ -e "$build/$1" ] || echo "does not build with MPICH"
}

# What MPICH itself does not pass, because a program expects what Open MPI does, is no question to castoff. The caller's
# variables say what ran, and what its line is to say.
native_is_fit() {
    [ "$family/$mode" = mpich/native ] && [ "$result" != pass ] && [ "$result" != skip ] || return 0
    row=" skipped: MPICH itself does not pass: $result"
    echo skip >>"$log_dir/results"
    return 1
}
