#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Real programs from Debian, native and with castoff taking all it can: the same results. hpcc verifies itself, lammps
# prints the same numbers, netpipe checks every byte, mpi4py programs check what they get, ScaLAPACK's testers check
# matrices, MUMPS solves, OpenCoarrays' tests put, get and tell each other. `make test-apps` installs them; what is not
# installed is skipped. Not part of `make test`, whose machine need not have them.
set -u

here=$(cd "$(dirname "$0")" && pwd)
castoff=${CASTOFF:-$here/../../build/castoff}
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-apps.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
export OMPI_MCA_orte_tmpdir_base="$work" # of this test alone: the last job to leave a shared one removes it
unset LD_PRELOAD "${!CASTOFF_@}"
passed=0 failed=0 skipped=0
everything=(-x CASTOFF_P2P=yes -x CASTOFF_BCAST=yes -x CASTOFF_IBCAST=yes -x CASTOFF_ALLGATHER=yes -x CASTOFF_IALLGATHER=yes -x CASTOFF_ALLGATHERV=yes -x CASTOFF_IALLGATHERV=yes -x CASTOFF_BCAST_INIT=yes -x CASTOFF_ALLGATHER_INIT=yes -x CASTOFF_ALLGATHERV_INIT=yes)

skip() {
    echo "skipped: $1"
    skipped=$((skipped + 1))
}

# Runs a job on either side; its output goes to a file of that name.
native() { # name ranks program...
    local name=$1 ranks=$2
    shift 2
    timeout -k 5 300 mpirun --oversubscribe -n "$ranks" "$@" >"$name.native" 2>"$name.native.err" </dev/null
}

taken() {
    local name=$1 ranks=$2
    shift 2
    timeout -k 5 300 "$castoff" mpirun --oversubscribe "${everything[@]}" -x "CASTOFF_REPORT=$work/$name.json" \
        -n "$ranks" "$@" >"$name.taken" 2>"$name.taken.err" </dev/null
}

# "N" of a call in the report.
taken_calls() { # name call
    python3 -c 'import json, sys
calls = json.load(open(sys.argv[1]))["calls"]
print(sum(calls[name]["taken"] for name in calls))' "$work/$1.json" 2>/dev/null || echo 0
}

# Both sides ended well, castoff took something, and what `filter` leaves of the outputs is equal.
check() { # name filter ranks program...
    local name=$1 filter=$2 ranks=$3 why=""
    shift 3
    rm -f "$name".*
    native "$name" "$ranks" "$@" || why="native status $?"
    [ -n "$why" ] || taken "$name" "$ranks" "$@" || why="status $? with castoff"
    [ -n "$why" ] || (($(taken_calls "$name") > 0)) || why="nothing was taken"
    if [ -z "$why" ] && ! diff <($filter <"$name.native") <($filter <"$name.taken") >"$name.diff"; then
        why="other results"
    fi
    if [ -z "$why" ]; then
        echo "ok: $name ($ranks ranks, $(taken_calls "$name") calls taken)"
        passed=$((passed + 1))
    else
        echo "FAILED: $name ($ranks ranks): $why"
        head -n 20 "$name.diff" "$name.taken.err" 2>/dev/null
        failed=$((failed + 1))
    fi
}

# The numbers of a lammps log, without its timings.
thermo() {
    awk '/^ *Step/ { on = 1 } /^Loop time/ { on = 0 } on'
}

if command -v lmp >/dev/null; then
    check lammps thermo 2 lmp -log none -in "$here/melt.lammps"
    check lammps thermo 4 lmp -log none -in "$here/melt.lammps"
else
    skip "lammps is not installed"
fi

# hpcc writes a file; what it says about correctness has no times in it.
verdicts() {
    cat >/dev/null
    grep -E 'PASSED|FAILED|error|Failures|ErrorCount|Success=' hpccoutf.txt |
        sed -E 's/=.*\.\.\./ .../; s/[0-9]\.[0-9]+e?[-+0-9]*//g'
}

check_hpcc() {
    local name=hpcc why="" side
    for side in native taken; do
        rm -f hpccoutf.txt
        [ -n "$why" ] || $side $name 4 hpcc || why="status $? ($side)"
        [ -n "$why" ] || grep -q 'Success=1' hpccoutf.txt || why="no success ($side)"
        ! grep -q 'FAILED' hpccoutf.txt || why="it says FAILED ($side)"
        cp hpccoutf.txt "hpcc.$side.out" 2>/dev/null
    done
    (($(taken_calls $name) > 0)) || why=${why:-nothing was taken}
    if [ -z "$why" ]; then
        echo "ok: $name (4 ranks, $(taken_calls $name) calls taken)"
        passed=$((passed + 1))
    else
        echo "FAILED: $name: $why"
        tail -n 5 hpcc.taken.err hpcc.taken.out
        failed=$((failed + 1))
    fi
}

if command -v hpcc >/dev/null; then
    cp "$here/hpccinf.txt" hpccinf.txt
    check_hpcc
else
    skip "hpcc is not installed"
fi

# With -i it says nothing of a size whose bytes are right, and stops at one whose bytes are wrong.
sizes_only() {
    grep -oE '^ *[0-9]+: +[0-9]+ bytes' | sort -u
}

if command -v NPopenmpi >/dev/null; then
    for options in "-i" "-i -z -a" "-i -2 -a" "-i -S"; do
        # shellcheck disable=SC2086 # a list of options
        check "netpipe${options// /}" sizes_only 2 NPopenmpi -u 262144 -n 5 -o "$work/np.out" $options
    done
else
    skip "netpipe-openmpi is not installed"
fi

if /usr/bin/python3 -c "import mpi4py" 2>/dev/null; then
    check mpi4py-ring cat 3 /usr/bin/python3 "$here/ring_and_master.py"
    check mpi4py-ring cat 4 /usr/bin/python3 "$here/ring_and_master.py"
else
    skip "python3-mpi4py is not installed"
fi

# Verdicts of ScaLAPACK's testers, without times and rates.
matrix_verdicts() {
    grep -E 'PASSED|FAILED|tests ' | sed -E 's/[-+0-9]*\.[-+0-9ED]*//g; s/ +/ /g' | sort
}

testers=$(echo /usr/lib/*/scalapack/openmpi-tests)
if [ -d "$testers" ]; then
    # They look for their matrices where they run.
    cp -rL "$testers" "$work/scalapack"
    cd "$work/scalapack/PBLAS" || exit 1
    for tester in dpb1tst dpb2tst dpb3tst zpb3tst; do
        check "$tester" cat 4 "./$tester"
    done
    cd "$work/scalapack" || exit 1
    for tester in xdlu xdqr xdgblu; do
        check "$tester" matrix_verdicts 4 "./$tester"
    done
    cd "$work" || exit 1
else
    skip "scalapack-mpi-test is not installed"
fi

solution() {
    grep 'Solution is'
}

if [ -x /usr/lib/mumps/dsimpletest ]; then
    check mumps solution 4 sh -c '/usr/lib/mumps/dsimpletest </usr/lib/mumps/input_simpletest_real'
else
    skip "mumps-test is not installed"
fi

coarrays=$(echo /usr/lib/*/open-coarrays/openmpi/bin/OpenCoarrays-*-tests)
if [ -d "$coarrays" ]; then
    for program in co_broadcast_test co_sum_test syncall syncimages2 teams_coarray_get sendget_convert_nums; do
        check "$program" "grep passed" 4 "$coarrays/$program"
    done
else
    skip "libcoarrays-openmpi-dev is not installed"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
