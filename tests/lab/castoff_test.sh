#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The library between hosts: programs of tests/mpi run across laboratories of several forms with every call taken, and
# must print what they print on native MPI; then with loss, injected faults, hosts that hear no multicast, junk and
# replayed datagrams, and ranks that stop or die. castoff_test_inside.sh has the checks that run in a lab. Prints a
# line a check and "N passed, N failed, N skipped"; status 0, 1 when a check failed, 77 when no lab is possible here.
# Arguments choose cases. CASTOFF_TEST_SEED repeats the injected faults of a run. Called by `make test`.
set -u

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 1
top=$(cd -- "$here/../.." && pwd) || exit 1
programs=$top/build/tests/mpi
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-lab-library.XXXXXX") || exit 1
log=$work/log
prefix=labcastoff.$$
chosen=" $* "
: >"$log"
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT
chmod 755 "$work"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export CASTOFF_TEST_SEED=${CASTOFF_TEST_SEED:-$(date +%s)}
for name in "${!CASTOFF_@}"; do
    [[ $name == CASTOFF_TEST_SEED ]] || unset "$name"
done

reason=$(python3 -S "$here/../bounded.py" 100 600 "$here/lab.sh" --prefix "$prefix" --hosts 1 -- true 2>&1)
case $? in
    0) ;;
    77) echo "SKIP all: ${reason#lab: skipped: }" && echo "0 passed, 0 failed, 1 skipped" && exit 77 ;;
    *) echo "FAIL a lab of one host: $reason" && echo "0 passed, 1 failed, 0 skipped" && exit 1 ;;
esac
make -s -C "$top" lib tools mpi-tests bench-programs || exit 1

# A case that takes minutes is run where it is named (tests/long/family_test.sh).
is_long_chosen() { # case
    [[ $chosen == *" $1 "* ]]
}

# What is called beside MPI_Bcast and MPI_Allgather, on seven hosts.
mapfile -t family <"$here/family_programs.txt"

# What a program prints does not depend on where its ranks are: native MPI on this machine alone is the reference, with
# the options of mpirun that the program's first comment asks for.
native() { # "program argument..." ranks...
    local program=$1 words ranks options
    read -ra words <<<"$program"
    read -ra options <<<"$(sed -n 's|^// mpirun: ||p' "$top/tests/mpi/${words[0]}.c")"
    for ranks in "${@:2}"; do
        python3 -S "$here/../bounded.py" 100 1500 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
            ${options[@]+"${options[@]}"} -n "$ranks" "$programs/${words[0]}" "${words[@]:1}" >"$work/$program.$ranks" 2>"$work/native.err" </dev/null && continue
        echo "FAIL native: $program with $ranks ranks" | tee -a "$log"
        tail -n 5 "$work/native.err"
    done
}

# What hangs is in want of progress, not of time: a busy machine stretches a case to several times what it takes alone.
run_inside() { # case lab-options...
    local name=$1 status began=$SECONDS
    shift
    [[ $chosen == "  " || $chosen == *" $name "* ]] || return 0
    python3 -S "$here/../bounded.py" 300 3600 "$here/lab.sh" --prefix "$prefix" "$@" -- \
        "$here/castoff_test_inside.sh" "$name" "$work" "$top" </dev/null | tee -a "$log"
    status=${PIPESTATUS[0]}
    ((status == 0)) || echo "FAIL $name: the lab ended with status $status" | tee -a "$log"
    echo "($name: $((SECONDS - began)) s)"
}

echo "injected faults have the seed $CASTOFF_TEST_SEED (CASTOFF_TEST_SEED repeats them)"
native bcast_sizes 4
native bcast_rotating 4 7
native bcast_unequal_sides 3
native bcast_unequal_nodes 4
native allgather_sizes 4
native bcast_stopped_rank 3
native bcast_two_jobs 4
native comm_halves 4
native comm_late 4
native iallgather_outstanding 4 5 8
native ibcast_outstanding 4
native allgatherv_shapes 4 8
native allgatherv_outstanding 4
native persistent_starts 4
native persistent_order 4 8
native ialltoall_sizes 3
native ialltoall_outstanding 3
native persistent_alltoall 3
native ibcast_outstanding 7
native allgatherv_shapes 7
if is_long_chosen family; then
    for program in "${family[@]}"; do
        native "$program" 7
    done
fi
native p2p_hosts 3 4
native p2p_order 4
native p2p_truncation 3

run_inside across --hosts 4
run_inside messages --hosts 4 --ranks-per-host 2
run_inside deaths --hosts 4 --ranks-per-host 2
run_inside crowded --hosts 4 --ranks-per-host 2
run_inside proxies --hosts 4 --ranks-per-host 2
run_inside fat_tree --hosts 5 --topology fat-tree --spines 2
run_inside snooping --hosts 4 --snooping
run_inside model --hosts 8 --rate 200mbit --snooping
run_inside model_fat_tree --hosts 8 --rate 200mbit --topology fat-tree --snooping
run_inside two_networks --hosts 3 --ranks-per-host 2 --decoy
run_inside lossy --hosts 4 --loss 50
! is_long_chosen family || run_inside family --hosts 7 --loss 30
run_inside shallow --hosts 8 --rate 200mbit --queue 2
run_inside faults --hosts 4
run_inside deaf --hosts 4
run_inside network --hosts 4
run_inside slow_network --hosts 3 --rate 2mbit
! is_long_chosen verdicts || run_inside verdicts --hosts 3
! is_long_chosen containers || run_inside containers --hosts 3
! is_long_chosen unlike || run_inside unlike --hosts 8 --rate 200mbit
run_inside descriptors --hosts 4
run_inside refused --hosts 4
run_inside gone --hosts 4
run_inside silent --hosts 4
run_inside shaken --hosts 4
run_inside hostile --hosts 5 --segment

passed=$(grep -c '^PASS ' "$log")
failed=$(grep -c '^FAIL ' "$log")
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0 && passed > 0))
