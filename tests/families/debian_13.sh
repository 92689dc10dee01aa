#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff under Open MPI 5.0 and MPICH of Debian 13: the programs of tests/mpi, native against castoff, with the libraries that
# this machine has built (beside Open MPI 4.1, if that is what it has: one library is to serve both), and some of them with
# the libraries as Debian 13 builds them. As root, in a Debian 13 in a folder, which debootstrap makes from the mirror that this
# machine's apt uses, inside name spaces: their end takes mounts and processes along, however it comes. What cannot be had is
# skipped and says why. Closes with "N passed, N failed, N skipped". `make test-families` calls it.
#
#   debian_13.sh [--root FOLDER] [--only open_mpi|mpich] [argument of tests/mpi/run.sh...]
#
# --root: the Debian 13 is there, or is made there, and stays. Arguments choose programs, modes and so on; without any, all
# of Open MPI's, and what tests/families/mpich.sh runs.
set -u -o pipefail

cd "$(dirname "$0")/../.." || exit 2
. tests/debian.sh
root="" only=""
while [ $# -gt 1 ]; do
    case $1 in
    --root) root=$2 ;;
    --only) only=$2 ;;
    *) break ;;
    esac
    shift 2
done
arguments=("$@")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/castoff-families.XXXXXX") || exit 1
[ -n "$root" ] || root=$work/debian13

clean_up() {
    trap '' INT TERM HUP # timeout sends a second one, which would end this, too
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null # unshare, and with it all inside
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

# apart COMMAND...: with mounts and processes of its own.
apart() {
    waited unshare --mount --pid --fork --kill-child=KILL "$@"
}

inside() { # the new system
    # shellcheck disable=SC2016 # for the shell that it starts
    apart sh -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount -t tmpfs tmpfs "$0/dev/shm" &&
        mount -t tmpfs tmpfs "$0/tmp" && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "$@"' \
        "$root" "$@"
}

# Debian 13 with what castoff and the programs are built with. Says why not.
make_system() {
    local from needed
    command -v debootstrap >/dev/null || { echo "there is no debootstrap"; return 1; }
    from=$(mirror)
    [ -n "$from" ] || { echo "this machine's apt knows no mirror"; return 1; }
    apart debootstrap --variant=minbase --include=make,gcc,ca-certificates trixie "$root" "$from" >"$work/bootstrap.log" 2>&1 ||
        { echo "debootstrap: $(last_words "$work/bootstrap.log")"; return 1; }
    needed=$(printf 'include mk/deps.mk\nsay:\n\t@echo $(DEPS_BUILD) g++ gfortran python3-mpi4py procps mpich libmpich-dev\n' | make -s -f - say)
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null
    apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' >"$root/etc/apt/apt.conf.d/90host"
    # shellcheck disable=SC2086,SC2016 # a list of words; for the shell that it starts
    inside env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -q update && apt-get -q -y install --no-install-recommends "$@"' \
        sh $needed >"$work/packages.log" 2>&1 || { echo "its packages: $(last_words "$work/packages.log")"; return 1; }
    touch "$root/castoff-is-ready"
}

# What git knows and what is new, and the library, its modules and the command, of which proxies are made, as this machine
# has built them.
copy_tree() {
    mkdir -p "$root/castoff/build-here" && git ls-files -co --exclude-standard -z |
        tar -c --null --ignore-failed-read --no-recursion -T - | tar -x -C "$root/castoff" &&
        cp build/castoff build/libcastoff*.so "$root/castoff/build-here/" && rm -f "$root/castoff/build/tests/mpi/log/owner"
}

# programs WHAT SCRIPT LIBRARY ARGUMENT...: of tests/mpi, in the new system; what they count is added.
programs() {
    local what=$1 script=$2 library=$3 line one two three
    shift 3
    echo "== $what"
    inside env CASTOFF_LIBRARY="$library" bash "/castoff/tests/$script" "$@" > >(exec tee "$work/run.log") 2>&1
    wait # for tee
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/run.log" | tail -n 1)
    if [ -z "$line" ]; then
        failed=$((failed + 1))
        return
    fi
    read -r one _ two _ three _ <<<"${line//,/}"
    passed=$((passed + one)) failed=$((failed + two)) skipped=$((skipped + three))
}

under_open_mpi() {
    local version root_may
    version=$(inside ompi_info --version 2>/dev/null | head -n 1)
    case $version in
    *v5.0*) echo "$version" ;;
    *) skip "Open MPI 5.0" "Debian 13 has another: ${version:-none}"; return ;;
    esac
    # Not with two programs in a job: mpirun of Debian 13's 5.0.7 itself does not survive that (segmentation fault). And what
    # has nothing to do is there the same request for all calls, natively, too (ialltoall_outstanding).
    programs "Open MPI, the library of this machine" mpi/run.sh /castoff/build-here/libcastoff.so --without init_two_programs \
        --without ialltoall_outstanding "${arguments[@]}"
    # Where communicators may be revoked, castoff stays off and says so.
    root_may=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    inside env "${root_may[@]}" mpirun --with-ft ulfm --oversubscribe -n 2 -x LD_PRELOAD=/castoff/build-here/libcastoff.so \
        /castoff/build/tests/mpi/bcast_sizes >"$work/ulfm.log" 2>&1
    if [ "$(grep -c 'castoff is off for this job.* it is to tolerate faults' "$work/ulfm.log")" -eq 1 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: a job that is to tolerate faults is not left to native MPI"
        tail -n 20 "$work/ulfm.log"
    fi
    [ -z "$is_built" ] || programs "Open MPI, the library that Debian 13 builds" mpi/run.sh /castoff/build/libcastoff.so \
        --mode native --mode on bcast_sizes p2p_sizes p2p_isendrecv persistent_starts python_calls
}

under_mpich() {
    inside sh -c 'mpichversion | head -n 1'
    # A few: it is the ABI that is to be the same.
    if [ -e "$root/castoff/build-here/libcastoff-mpich.so" ]; then
        programs "MPICH, the library of this machine" families/mpich.sh /castoff/build-here/libcastoff-mpich.so --mode native \
            --mode on bcast_sizes allgather_sizes ibcast_outstanding comm_halves fortran_f08 fortran_mpif fortran_use_mpi
    else
        skip "MPICH, the library of this machine" "there is none; make mpich"
    fi
    [ -z "$is_built" ] || programs "MPICH, the library that Debian 13 builds" families/mpich.sh /castoff/build/libcastoff-mpich.so \
        "${arguments[@]}"
}

[ "$(id -u)" -eq 0 ] || { skip "Debian 13" "needs root"; finish; }
# shellcheck disable=SC2046 # a word or none
make -s lib modules tools $(! command -v mpicc.mpich >/dev/null || echo mpich) || { failed=1; finish; }
[ -e "$root/castoff-is-ready" ] || make_system >"$work/why" || { skip "Debian 13" "$(last_words "$work/why")"; finish; }
copy_tree || { skip "Debian 13" "no room for the sources"; finish; }
is_built=yes
if ! inside make -s -C /castoff -j "$(nproc)" CI=true lib modules tools mpich; then
    failed=$((failed + 1)) is_built=""
    echo "FAILED: Debian 13 builds the libraries"
fi
[ "$only" = mpich ] || under_open_mpi
[ "$only" = open_mpi ] || under_mpich
finish
