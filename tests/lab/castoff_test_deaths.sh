#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks of castoff_test_inside.sh, which sources this, on ranks that are killed, in collectives and among messages, with
# a launcher that ends the job and with one that lets the others live, and on hosts that are cut off while others wait
# for a message.
# shellcheck disable=SC2154 # variables of castoff_test_inside.sh

# Ranks 0 and 1 share a host, so memory between ranks is at stake too.
case_deaths() {
    local status=0
    launch run 3 abort_killed_rank || status=$?
    if ((status == 137)); then
        pass "a rank killed: the job ends"
    else
        fail "a rank killed: the job ends" "exit status $status instead of 137" run
    fi
    check_nothing_left "a rank killed: nothing is left"
    survivors abort_survivors 8 "blocks of 8 bytes"
    survivors abort_survivors 300000 "blocks of 300000 bytes"
    local call
    for call in ibcast allgatherv iallgatherv persistent-bcast persistent-allgather persistent-allgatherv; do
        survivors abort_survivors 8 "$call of 8 bytes" "$call"
        survivors abort_survivors 300000 "$call of 300000 bytes" "$call"
    done
    deaths_among_messages
    launch run 8 bcast_rotating &
    local job=$!
    await_ranks 8
    # Nobody has a chance to clean up.
    pkill -KILL -f "^$programs/bcast_rotating"
    wait "$job"
    check_nothing_left "all ranks killed: nothing is left"
}

# One rank a host; the launcher lets those live whose neighbour died.
survivors() { # program argument what [argument...]
    rm -f "$shared"/run.*
    "${bounded[@]}" "$castoff" mpirun "${lab_arguments[@]}" --map-by node --enable-recovery -n 4 \
        "$programs/$1" "$2" "${@:4}" >"$shared/run.out" 2>"$shared/run.err" </dev/null
    local told
    told=$(grep -c '^rank [012]: an error$' "$shared/run.out")
    if ((told == 3)) && grep -q 'peer is gone\|Connection reset' "$shared/run.err"; then
        pass "a rank killed, $3: the others get an MPI error"
        [[ $1 != abort_survivors ]] || check_named "$3"
    else
        fail "a rank killed, $3: the others get an MPI error" "$told of 3 got one" run
    fi
}

# The last one's host, by the address of its network.
check_named() { # what
    if grep -q 'warn: rank 3 (10\.[0-9.]*) is gone, or cannot be sent to' "$shared/run.err"; then
        pass "a rank killed, $1: rank and address are named"
    else
        fail "a rank killed, $1: rank and address are named" "nobody does" run
    fi
}

# Messages between hosts are carried by the MPI below, which does not tell of a death.
deaths_among_messages() {
    local kinds=("a receive" "a probe" "a test" "a large receive" "a synchronous send" "a large send"
        "a receive among messages of others,") kind status=0
    local -x CASTOFF_P2P=yes
    for kind in "${!kinds[@]}"; do
        survivors abort_p2p_survivors "$kind" "${kinds[kind]} waits"
    done
    "${bounded[@]}" "$castoff" mpirun "${lab_arguments[@]}" --map-by node -n 3 "$programs/abort_p2p_killed" 0 \
        >"$shared/run.out" 2>"$shared/run.err" </dev/null || status=$?
    if ((status == 137)); then
        pass "a rank killed that others wait for: the job ends"
    else
        fail "a rank killed that others wait for: the job ends" "exit status $status instead of 137" run
    fi
    check_nothing_left "a rank killed that others wait for: nothing is left"
}

# Each waits for the last one, which waits for the first, until they have been cut off from each other.
begin_waiting() { # kind [NAME=VALUE...]
    rm -f "$shared"/run.*
    : >"$shared/run.out"
    env CASTOFF_P2P=yes CASTOFF_DEADLINE_S=3 "${@:2}" "${bounded[@]}" "$castoff" mpirun \
        "${lab_arguments[@]}" --enable-recovery -n 4 "$programs/abort_p2p_survivors" "$1" cut \
        >"$shared/run.out" 2>"$shared/run.err" </dev/null &
    job=$!
    until (($(grep -c 'waits$' "$shared/run.out") == 4)) || ! kill -0 "$job" 2>/dev/null; do
        read -r -t 0.02 <> <(:)
    done
}

# Nothing tells of it, neither here nor there: the threads of that host's ranks, or its kernel, answer no more.
case_silent() {
    local job host kind kinds=("a receive" "a probe" "" "" "" "a large send")
    for kind in 0 1 5; do
        begin_waiting "$kind" CASTOFF_PROGRESS=threads
        silence 3
        await_errors 4
        for host in $hosts; do
            lab-in-host "$host" nft delete table ip t
        done
        end_rounds "a host falls silent, ${kinds[kind]} waits: an MPI error on all ranks" 4 'an error'
        begin_waiting "$kind" CASTOFF_PROGRESS=caller
        lab-link 3 down
        await_errors 3
        lab-link 3 up # what its rank says is on its way to mpirun
        end_rounds "a link is cut, callers alone, ${kinds[kind]} waits: an MPI error on all ranks" 4 'an error'
    done
    silent_without_multicast
    check_nothing_left "nothing is left"
}

# Collectives are native then; messages still have castoff's network, to ask who is there.
silent_without_multicast() {
    lab-multicast 2 off
    begin_waiting 0 CASTOFF_PROBE=10s CASTOFF_LOG=info
    lab-link 3 down
    await_errors 3
    lab-link 3 up
    end_rounds "a link is cut where multicast is not heard, a receive waits: an MPI error on all ranks" 4 'an error'
    if grep -q 'multicast is not heard by host h2' "$shared/run.err"; then
        pass "a link is cut where multicast is not heard: it was not"
    else
        fail "a link is cut where multicast is not heard: it was not" "nothing is said of it" run
    fi
    lab-multicast 2 on
}
