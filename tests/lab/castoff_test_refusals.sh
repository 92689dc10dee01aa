#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks of castoff_test_inside.sh, which sources this, on hosts that refuse what a process asks of them, descriptors and
# sending, and on one that falls silent.
# shellcheck disable=SC2034,SC2154 # variables of either

# Native MPI connects to other hosts when it first needs to, in MPI_Finalize at the latest, and hangs without descriptors.
case_descriptors() {
    local wrapper limit settings=(CASTOFF_PROGRESS=threads CASTOFF_WORKERS=9 CASTOFF_UDP_SUBGROUPS=8)
    local complaint="castoff is off for this job, .* (ulimit -n is too low|rank [0-9] could not open UDP multicast)"
    # shellcheck disable=SC2016 # expanded by the ranks
    for limit in 24 30 40; do
        wrapper=(bash -c 'ulimit -n "$0" && exec "$@"' "$limit")
        check_run "native where only $limit files may be open" 4 bcast_rotating "taken == 0" "${settings[@]}"
    done
    complaint=""
    wrapper[3]=48
    check_run "served where 48 files may be open" 4 bcast_rotating \
        "$multicast_used and 'worker thread and callers' in transports" "${settings[@]}"
}

# Rules for datagrams that leave a host; native MPI's TCP goes on.
refuse() { # host on|off
    if [[ $2 == on ]]; then
        lab-in-host "$1" ip rule add ipproto udp pref 10 lookup 100
        lab-in-host "$1" ip route add prohibit default table 100
    else
        lab-in-host "$1" ip rule del pref 10
        lab-in-host "$1" ip route flush table 100
    fi
}

# What one host's ranks and the others send each other vanishes on arrival, as with a cut link: nobody is told anything.
silence() { # host
    local host
    for host in $hosts; do
        if [[ ${host#h} == "$1" ]]; then
            lab-in-host "$1" nft 'add table ip t; add chain ip t i { type filter hook input priority 0; };
                add rule ip t i udp dport > 0 drop'
        else
            lab-in-host "$host" nft "add table ip t; add chain ip t i { type filter hook input priority 0; };
                add rule ip t i ip saddr 10.77.0.$(($1 + 1)) udp dport > 0 drop"
        fi
    done
}

case_gone() {
    local job told bytes
    for bytes in 8 50000; do
        rm -f "$shared"/run.*
        CASTOFF_DEADLINE_S=1 CASTOFF_PROGRESS=threads timeout -k 5 30 "$castoff" mpirun "${lab_arguments[@]}" \
            --enable-recovery -n 4 "$programs/abort_cut_off" "$bytes" /nonexistent >"$shared/run.out" \
            2>"$shared/run.err" </dev/null &
        job=$!
        await_rounds 1 "$job"
        silence 2
        wait "$job"
        for host in $hosts; do
            lab-in-host "$host" nft delete table ip t
        done
        told=$(grep -c 'an error$' "$shared/run.out")
        if ((told == 4)); then
            pass "a host falls silent: an MPI error on all ranks ($bytes bytes)"
        else
            fail "a host falls silent: an MPI error on all ranks ($bytes bytes)" "$told of 4 got one" run
        fi
    done
    check_nothing_left "nothing is left"
}

# Until rank 0 of abort_cut_off has gone so many hundred rounds more, or the job has ended.
await_rounds() { # hundreds job
    local wanted=$(($(grep -c '^rounds$' "$shared/run.out" 2>/dev/null) + $1))
    until (($(grep -c '^rounds$' "$shared/run.out" 2>/dev/null) >= wanted)); do
        kill -0 "$2" 2>/dev/null || return
        read -r -t 0.02 <> <(:)
    done
}

case_refused() {
    local job told status=0 wrapper=()
    rm -f "$shared"/run.* "$shared/stop"
    CASTOFF_DEADLINE_S=1 timeout -k 5 30 "$castoff" mpirun "${lab_arguments[@]}" --enable-recovery -n 4 \
        "$programs/abort_cut_off" 8 "$shared/stop" >"$shared/run.out" 2>"$shared/run.err" </dev/null &
    job=$!
    await_rounds 1 "$job"
    refuse 1 on
    wait "$job"
    refuse 1 off
    told=$(grep -c 'an error$' "$shared/run.out")
    if ((told == 4)) && grep -q 'refuses to send to rank [023] (10.77.0.[134]): Permission denied' "$shared/run.err"; then
        pass "a host refuses what one rank sends: an MPI error on all ranks"
    else
        fail "a host refuses what one rank sends: an MPI error on all ranks" "$told of 4 got one" run
    fi
    check_nothing_left "nothing is left"
    rm -f "$shared"/run.*
    # Multicast alone: what it does not bring is asked for.
    CASTOFF_REPORT="$shared/run.json" timeout -k 5 30 "$castoff" mpirun "${lab_arguments[@]}" -n 4 \
        "$programs/abort_cut_off" 50000 "$shared/stop" >"$shared/run.out" 2>"$shared/run.err" </dev/null &
    job=$!
    await_rounds 1 "$job"
    lab-in-host 1 nft 'add table ip t; add chain ip t o { type filter hook output priority 0; };
        add rule ip t o ip daddr 239.0.0.0/8 udp dport > 0 drop'
    await_rounds 2 "$job"
    : >"$shared/stop"
    wait "$job" || status=$?
    lab-in-host 1 nft delete table ip t
    told=$(grep -c 'no error$' "$shared/run.out")
    if ((status == 0 && told == 4)) && report_says run "counters['send_refused'] > 0 and taken > 0"; then
        pass "a host refuses multicast: the bytes come by unicast"
    else
        fail "a host refuses multicast: the bytes come by unicast" "status $status, $told of 4 are content" run
    fi
}
