#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff under Open MPI 5.0 and MPICH of Debian 13: the programs of tests/mpi, native against castoff, with the libraries that
# this machine has built (beside Open MPI 4.1, if that is what it has: one library is to serve both), and some of them with
# the libraries as Debian 13 builds them. As root, in a Debian 13 in a folder, which debootstrap makes from the mirror that this
# machine's apt uses, inside name spaces: their end takes mounts and processes along, however it comes. What cannot be had is
# skipped and says why. Closes with "N passed, N failed, N skipped". `make test-families` calls it.
#
#   debian_13.sh [--root FOLDER] [--only open_mpi|mpich] [--short | --suite FOLDERS] [argument of tests/mpi/run.sh...]
#
# --root: the Debian 13 is there, or is made there, and stays. --short: a few programs of each kind, natively and with castoff
# on. Arguments choose programs, modes and so on; without any, all of Open MPI's, and what tests/families/mpich.sh runs.
# --suite: instead of the programs MPICH's own tests (tests/suites), those of the folders "coll pt2pt", natively and with
# castoff taking all; arguments are then those of tests/suites/differential.py.
set -u -o pipefail

cd "$(dirname "$0")/../.." || exit 2
. tests/debian.sh
root="" only="" short="" suite=""
while [ $# -gt 0 ]; do
    case $1 in
    --root) root=${2:?} && shift ;;
    --only) only=${2:?} && shift ;;
    --short) short=yes ;;
    --suite) suite=${2:?} && shift ;;
    *) break ;;
    esac
    shift
done
arguments=("$@")
[ -z "$short" ] || arguments=(--mode native --mode on "$@" bcast_sizes allgather_sizes ibcast_outstanding p2p_sizes p2p_isendrecv
    persistent_starts comm_halves fortran_f08 python_calls)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/castoff-families.XXXXXX") || exit 1
[ -n "$root" ] || root=$work/debian13

clean_up() {
    trap '' INT TERM HUP # timeout sends a second one, which would end this, too
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null # unshare, and with it all inside
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

# With the library, its modules and the command, of which proxies are made, as this machine has built them.
copy_all() {
    copy_tree "$root/castoff" && mkdir -p "$root/castoff/build-here" &&
        cp build/castoff build/libcastoff*.so "$root/castoff/build-here/" &&
        rm -f "$root/castoff/build/tests/mpi/log/owner"
}

# programs WHAT SCRIPT LIBRARY ARGUMENT...: of tests/mpi, in the new system; what they count is added. Where an interface has
# addresses of IPv4 and IPv6, Open MPI 5.0.7 finds no way to speak by TCP (open-mpi/ompi#14079), as parents and spawned
# children do, and hangs.
programs() {
    local what=$1 script=$2 library=$3
    shift 3
    counted "$what" CASTOFF_LIBRARY="$library" OMPI_MCA_btl_tcp_disable_family=6 bash "/castoff/tests/$script" "$@"
}

counted() { # what, command...
    local line one two three
    echo "== $1"
    inside env "${@:2}" > >(exec tee "$work/run.log") 2>&1
    wait # for tee
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/run.log" | tail -n 1)
    if [ -z "$line" ]; then
        failed=$((failed + 1))
        return
    fi
    read -r one _ two _ three _ <<<"${line//,/}"
    passed=$((passed + one)) failed=$((failed + two)) skipped=$((skipped + three))
}

# The tests as this machine's Debian has them, since a mirror may lack sources of another one.
mpich_suite() { # family
    local tests there=$root/castoff/build/suites
    if ! tests=$(bash tests/suites/fetch.sh mpich "$PWD/build/suites" 2>"$work/why"); then
        skip "MPICH's tests" "$(last_words "$work/why")"
        return
    fi
    [ -e "$there/${tests##*/}" ] || { mkdir -p "$there" && cp -a "$tests" "$there"; } || { skip "MPICH's tests" "no room"; return; }
    counted "MPICH's tests on $1" SUITES_FAMILY="$1" SUITES_FOLDERS="$suite" CASTOFF=/castoff/build-here/castoff \
        OMPI_MCA_btl_tcp_disable_family=6 bash /castoff/tests/suites/mpich_suite.sh --modes all "${arguments[@]}"
}

# in_hosts COMMAND...: on the first of three hosts of the laboratory.
in_hosts() {
    debian_13 iproute2 nftables ethtool >"$work/why" || { skip "between hosts" "$(last_words "$work/why")"; return 1; }
    inside bash /castoff/tests/lab/lab.sh --hosts 3 --rate none -- "$@" >"$work/hosts.log" 2>&1
    return 0
}

judge_hosts() { # what, command...
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        tail -n 20 "$work/hosts.log"
    fi
}

takes_calls() { # jobs that have not
    grep -qE '^castoff took [1-9][0-9]* of ' "$work/hosts.log" && [ "$(grep -c 'castoff is off for this job' "$work/hosts.log")" -eq "$1" ]
}

# Open MPI 5 exchanges nothing in MPI_Init: what ranks of other hosts have left has to be fetched, and where one of them runs
# without castoff none does.
open_mpi_between_hosts() {
    # shellcheck disable=SC2016 # for the shell in the laboratory
    in_hosts bash -c 'cd /castoff/build/tests/mpi &&
        preload="-x LD_PRELOAD=/castoff/build-here/libcastoff.so" && lab-mpirun -n 3 $preload -x CASTOFF_REPORT=- ./bcast_sizes &&
        lab-mpirun -n 3 $preload sh -c '"'"'[ "$OMPI_COMM_WORLD_RANK" != 1 ] || unset LD_PRELOAD; exec ./bcast_sizes'"'"'' || return 0
    judge_hosts "Open MPI between hosts, all with castoff and one without" takes_calls 1
}

is_as_native() {
    takes_calls 0 && [ "$(grep -c '^rank [0-2]: digest ' "$work/hosts.log")" -eq 6 ] &&
        [ "$(grep '^rank [0-2]: digest ' "$work/hosts.log" | cut -d: -f2 | sort -u | wc -l)" -eq 1 ]
}

mpich_between_hosts() {
    # shellcheck disable=SC2016 # for the shell in the laboratory
    in_hosts bash -c 'cd /castoff/build/tests/mpi-mpich && lab-mpiexec -n 3 ./bcast_sizes && CASTOFF_BCAST=yes CASTOFF_REPORT=- lab-mpiexec -n 3 \
        env LD_PRELOAD=/castoff/build-here/libcastoff-mpich.so ./bcast_sizes' || return 0
    judge_hosts "MPICH between hosts" is_as_native
}

under_open_mpi() {
    local version root_may
    version=$(inside ompi_info --version 2>/dev/null | head -n 1)
    case $version in
    *v5.0*) echo "$version" ;;
    *) skip "Open MPI 5.0" "Debian 13 has another: ${version:-none}"; return ;;
    esac
    [ -z "$suite" ] || { mpich_suite open_mpi; return; }
    # Not with two programs in a job: mpirun of Debian 13's 5.0.7 itself does not survive that (segmentation fault). What has
    # nothing to do is there the same request for all calls, natively, too (ialltoall_outstanding). And that mpirun ends the
    # others as soon as one has left without MPI_Finalize, before or after they print (finalize_missing).
    programs "Open MPI, the library of this machine" mpi/run.sh /castoff/build-here/libcastoff.so --without init_two_programs \
        --without ialltoall_outstanding --without finalize_missing "${arguments[@]}"
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
    open_mpi_between_hosts
    [ -z "$is_built" ] || [ -n "$short" ] || programs "Open MPI, the library that Debian 13 builds" mpi/run.sh \
        /castoff/build/libcastoff.so --mode native --mode on bcast_sizes p2p_sizes p2p_isendrecv persistent_starts python_calls
}

under_mpich() {
    inside sh -c 'mpichversion | head -n 1'
    [ -z "$suite" ] || { mpich_suite mpich; return; }
    # A few: it is the ABI that is to be the same.
    if [ -e "$root/castoff/build-here/libcastoff-mpich.so" ]; then
        programs "MPICH, the library of this machine" families/mpich.sh /castoff/build-here/libcastoff-mpich.so --mode native \
            --mode on bcast_sizes allgather_sizes ibcast_outstanding comm_halves fortran_f08 fortran_mpif fortran_use_mpi
        mpich_between_hosts
    else
        skip "MPICH, the library of this machine" "there is none; make mpich"
    fi
    [ -z "$is_built" ] || [ -n "$short" ] || programs "MPICH, the library that Debian 13 builds" families/mpich.sh \
        /castoff/build/libcastoff-mpich.so "${arguments[@]}"
}

[ "$(id -u)" -eq 0 ] || { skip "Debian 13" "needs root"; finish; }
# shellcheck disable=SC2046 # a word or none
make -s lib modules tools $(! command -v mpicc.mpich >/dev/null || echo mpich) || { failed=1; finish; }
# shellcheck disable=SC2046,SC2016 # a list of words; variables of make
debian_13 $(packages_of '$(DEPS_BUILD) g++ gfortran python3-mpi4py procps dpkg-dev mpich libmpich-dev') >"$work/why" ||
    { skip "Debian 13" "$(last_words "$work/why")"; finish; }
copy_all || { skip "Debian 13" "no room for the sources"; finish; }
is_built=yes
if ! inside make -s -C /castoff -j "$(nproc)" CI=true lib modules tools mpich; then
    failed=$((failed + 1)) is_built=""
    echo "FAILED: Debian 13 builds the libraries"
fi
[ "$only" = mpich ] || under_open_mpi
[ "$only" = open_mpi ] || under_mpich
finish
