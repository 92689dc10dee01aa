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

# Starts abort_cut_off, with a deadline of a second, and waits until it is under way.
begin_rounds() { # bytes stop-file [NAME=VALUE...]
    rm -f "$shared"/run.* "$shared/stop"
    : >"$shared/run.out" # await_rounds counts its lines
    env CASTOFF_DEADLINE_S=1 "${@:3}" "${bounded[@]}" "$castoff" mpirun "${lab_arguments[@]}" --enable-recovery -n 4 \
        "$programs/abort_cut_off" "$1" "$2" >"$shared/run.out" 2>"$shared/run.err" </dev/null &
    job=$!
    await_rounds 1 "$job"
}

# Judges it by what so many ranks say. abort_cut_off would call wrong bytes neither an error nor none.
end_rounds() { # what ranks says
    local told
    wait "$job"
    told=$(grep -c "$3\$" "$shared/run.out")
    if ((told == $2)); then
        pass "$1"
    else
        fail "$1" "$told of $2 say '$3'" run
    fi
}

# Until so many ranks have ended with an error, or `job` has; judged later.
await_errors() { # ranks
    until (($(grep -c 'an error$' "$shared/run.out") >= $1)) || ! kill -0 "$job" 2>/dev/null; do
        read -r -t 0.02 <> <(:)
    done
}

# The rank on a host.
rank_process() { # host
    local process own
    own=$(lab-in-host "$1" readlink /proc/self/ns/net)
    for process in $(pgrep -f "^$programs/"); do
        [[ $(readlink "/proc/$process/ns/net") != "$own" ]] || echo "$process"
    done
}

case_gone() {
    local job bytes process host
    for bytes in 8 50000; do
        begin_rounds "$bytes" /nonexistent CASTOFF_PROGRESS=threads
        silence 2
        await_errors 4
        for host in $hosts; do
            lab-in-host "$host" nft delete table ip t
        done
        end_rounds "a host falls silent: an MPI error on all ranks ($bytes bytes)" 4 'an error'
    done
    # Without threads a silent rank may be computing: its host's kernel is asked.
    for bytes in 8 50000; do
        begin_rounds "$bytes" /nonexistent CASTOFF_PROGRESS=caller
        lab-link 2 down
        await_errors 3
        lab-link 2 up # what its rank says is on its way to mpirun
        end_rounds "a link is cut, callers alone: an MPI error on all ranks ($bytes bytes)" 4 'an error'
    done
    begin_rounds 50000 /nonexistent CASTOFF_PROGRESS=caller
    kill -KILL "$(rank_process 2)"
    end_rounds "a rank killed, callers alone: an MPI error on the others" 3 'an error'
    begin_rounds 50000 "$shared/stop" CASTOFF_PROGRESS=caller
    process=$(rank_process 2)
    kill -STOP "$process"
    read -r -t 4 <> <(:) # deadlines
    kill -CONT "$process"
    await_rounds 1 "$job"
    : >"$shared/stop"
    end_rounds "a rank stopped for longer than the deadline, callers alone: waited for" 4 'no error'
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
    CASTOFF_DEADLINE_S=1 "${bounded[@]}" "$castoff" mpirun "${lab_arguments[@]}" --enable-recovery -n 4 \
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
    CASTOFF_REPORT="$shared/run.json" "${bounded[@]}" "$castoff" mpirun "${lab_arguments[@]}" -n 4 \
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
