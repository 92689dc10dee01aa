#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPICH's own tests of MPI, which know nothing of castoff or of Open MPI: built against the Open MPI of this machine, run
# natively, and those that pass, with castoff. One that then fails, hangs or prints otherwise is a failure here. The tests
# are fetched as a Debian source package into build/suites and never become part of this repository. README.md in this
# folder says more; `make test-suites` calls it. Arguments: options of differential.py, and words that names of tests hold.
# SUITES_FAMILY=mpich: the same on the MPICH of this machine. SUITES_FOLDERS="coll pt2pt": these are built and run alone.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${SUITES_CACHE:-$top/build/suites}
castoff=${CASTOFF:-$top/build/castoff}
family=${SUITES_FAMILY:-open_mpi}
folders="attr comm datatype errhan group info init pt2pt topo basic coll threads errors rma spawn mpi_t io f77 f90 f08 cxx"
folders=${SUITES_FOLDERS:-$folders}
scratch="" segments="" child=""

tidy() {
    trap '' INT TERM HUP # a second one, as from make and from what ended it, would leave the folders
    [ -z "$child" ] || { kill -TERM "$child" 2>/dev/null && wait "$child"; }
    [ -z "$scratch$segments" ] || rm -rf "$scratch" "$segments"
}
trap tidy EXIT
trap 'exit 130' INT TERM HUP

skip() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

case $family in
open_mpi)
    suffix=""
    command -v mpicc >/dev/null || skip "there is no mpicc"
    mpicc --showme:version 2>/dev/null | grep -q 'Open MPI' || skip "mpicc is not Open MPI's"
    ;;
mpich)
    suffix=.mpich
    command -v mpicc.mpich >/dev/null || skip "there is no mpicc.mpich"
    [ -e "${castoff%/*}/libcastoff-mpich.so" ] || skip "there is no libcastoff-mpich.so; make mpich"
    set -- --family mpich --modes "default all" "$@"
    ;;
*) skip "SUITES_FAMILY=$family is neither open_mpi nor mpich" ;;
esac
mkdir -p "$cache" || exit 1
source_top=$(bash "$here/fetch.sh" mpich "$cache" 2>"$cache/reason") || skip "$(tail -n 1 "$cache/reason")"
source=$source_top/test/mpi
build=$cache/mpich-tests$suffix

# Open MPI declares calls that MPI-3 removed, which some tests still use, only to say so; its library has them. And up to
# version 4 it has the persistent collectives by other names.
configure() {
    local call
    mkdir -p "$build" && cd "$build" || return
    : >removed_calls.h
    [ "$family" = mpich ] || printf '#define %s\n' '__mpi_interface_removed__(function, successor)' \
        'OMPI_OMIT_MPI1_COMPAT_DECLS 0' 'OMPI_REMOVED_USE_STATIC_ASSERT 0' >removed_calls.h
    if [ "$family" = open_mpi ] && mpicc --showme:version 2>/dev/null | grep -q 'Open MPI [0-4]'; then
        for call in Barrier Bcast Allgather Allgatherv Alltoall Alltoallv Alltoallw Allreduce Gather Gatherv Scatter \
            Scatterv Reduce Reduce_scatter Reduce_scatter_block Scan Exscan; do
            echo "#define MPI_${call}_init MPIX_${call}_init" >>removed_calls.h
        done
    fi
    # The C++ classes of Open MPI lack the empty copy functions of windows.
    sed -i -e 's/MPI::Win::NULL_COPY_FN/MPI_WIN_NULL_COPY_FN/' -e 's/MPI::Win::NULL_DELETE_FN/MPI_WIN_NULL_DELETE_FN/' \
        "$source/util/mtest_cxx.cxx"
    "$source/configure" CC=mpicc$suffix CXX=mpicxx$suffix FC=mpifort$suffix F77=mpifort$suffix MPICC=mpicc$suffix \
        MPICXX=mpicxx$suffix MPIF77=mpifort$suffix MPIFC=mpifort$suffix CFLAGS="-w -O1" CXXFLAGS="-w -O1" \
        FFLAGS="-w -fallow-argument-mismatch" FCFLAGS="-w -fallow-argument-mismatch" CPPFLAGS="-include $build/removed_calls.h" \
        --enable-threads=multiple --enable-xfail --disable-dependency-tracking >configure.log 2>&1
}

# What needs a newer MPI does not build and counts as not built, not as passed.
compile() {
    local jobs folder
    jobs=$(nproc 2>/dev/null || echo 2)
    make -C "$build/dtpools" -j "$jobs" && make -k -C "$build/util" -j "$jobs"
    # configure switches it off for any MPI but MPICH.
    make -C "$build/util" libmtest_f08.la am_libmtest_f08_la_OBJECTS=mtest_f08.lo
    for folder in $folders; do
        make -k -C "$build/$folder" -j "$jobs"
        touch "$build/built.$folder"
    done
}

are_built() {
    local folder
    for folder in $folders; do
        [ -e "$build/built.$folder" ] || return
    done
}

unset MAKEFLAGS MAKELEVEL MFLAGS LD_PRELOAD "${!CASTOFF_@}"
if ! are_built; then
    echo "building MPICH's tests in $build, some minutes"
    [ -e "$build/Makefile" ] || (configure) || skip "its configure fails, see $build/configure.log"
    compile </dev/null >"$build/make.log" 2>&1
fi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/castoff-suite.XXXXXX") || exit 1
segments=$(mktemp -d /dev/shm/castoff-suite.XXXXXX) || exit 1
export OMPI_MCA_btl_vader_backing_directory=$segments
# A run takes an hour: what is built meanwhile must not come between its tests.
mkdir "$scratch/castoff" && cp "$castoff" "${castoff%/*}"/libcastoff*.so "$scratch/castoff" || exit 1
castoff=$scratch/castoff/${castoff##*/}
# MPICH and UCX leave their shared memory behind where a job is ended by force: it goes with a /dev/shm of the tests' own.
# shellcheck disable=SC2016 # for the shell that it starts
own='mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"' apart=()
[ "$family" != mpich ] || ! unshare --mount sh -c "$own" sh true 2>/dev/null || apart=(unshare --mount sh -c "$own" sh)
# And ranks of MPICH keep their cores while they wait.
if [ "$family" = mpich ]; then
    mpicc.mpich -O2 -shared -fPIC -o "$scratch/libprogress_sleeps.so" "$top/tests/mpi/tool/progress_sleeps.c" || exit 1
    set -- --preload "$scratch/libprogress_sleeps.so" "$@"
fi
"${apart[@]}" python3 "$here/differential.py" --build "$build" --source "$source" --castoff "$castoff" --scratch "$scratch" \
    --log "$cache/log$suffix" --folders "$folders" "$@" &
child=$!
wait "$child"
status=$?
child=""
exit "$status"
