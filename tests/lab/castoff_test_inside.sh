#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The checks of castoff_test.sh that run inside a laboratory, as its command on host h0. Arguments: the case, the
# directory with what the programs print on native MPI, and the top of the project. Prints PASS or FAIL and what was
# checked, for a failure also why; the status is 0 unless the case itself broke down.
set -u

case_name=$1 work=$2 top=$3
programs=$top/build/tests/mpi
castoff=$top/build/castoff
shared=$CASTOFF_LAB_SHARED
hosts=$CASTOFF_LAB_HOSTS
read -r -a lab_arguments <<<"$CASTOFF_LAB_MPIRUN_ARGS"
# A job that hangs does nothing, or spins: how long one takes says the machine, not the job.
bounded=(python3 -S "$top/tests/bounded.py" 100 1500)
# They speak to the lab's command; for the job they would be unknown settings.
unset "${!CASTOFF_LAB_@}"
export CASTOFF_BCAST=yes CASTOFF_IBCAST=yes CASTOFF_ALLGATHER=yes CASTOFF_IALLGATHER=yes CASTOFF_ALLGATHERV=yes CASTOFF_IALLGATHERV=yes CASTOFF_BCAST_INIT=yes CASTOFF_ALLGATHER_INIT=yes CASTOFF_ALLGATHERV_INIT=yes CASTOFF_STALL_S=10
# To be heard at the start ranks have longer than half a second, which a busy machine may take.
export CASTOFF_PROBE=20s

pass() { # what
    echo "PASS $case_name: $1"
}

fail() { # what why [run]
    echo "FAIL $case_name: $1: $2"
    if (($# > 2)); then
        tail -n 5 "$shared/$3.out" | cut -c 1-200 | sed 's/^/    /'
        grep -v '^$' "$shared/$3.err" | tail -n 12 | cut -c 1-200 | sed 's/^/    /'
    fi
}

# Runs a program across the hosts with castoff; its output, errors and report are $shared/RUN.*. Ranks may have a
# `wrapper`.
launch() { # run ranks "program argument..." [NAME=VALUE...]
    local run=$1 ranks=$2 program
    read -ra program <<<"$3"
    shift 3
    rm -f "$shared/$run".*
    env "$@" CASTOFF_REPORT="$shared/$run.json" "${bounded[@]}" \
        "$castoff" mpirun "${lab_arguments[@]}" -n "$ranks" ${wrapper[@]+"${wrapper[@]}"} "$programs/${program[0]}" "${program[@]:1}" \
        >"$shared/$run.out" 2>"$shared/$run.err" </dev/null
}

# Is the condition true of the report? It may speak of taken, seen and declined (by call; or of the collectives alone,
# declined_collectives), counters (those that are missing would be a spelling mistake), dropped, transports and nodes.
report_says() { # run condition
    python3 -S - "$shared/$1.json" "$2" <<'PYTHON'
import json, sys
try:
    report = json.load(open(sys.argv[1]))
except (OSError, ValueError) as error:
    sys.exit("report unusable: %s" % error)
calls = report["calls"].values()
names = {
    "seen": sum(call["seen"] for call in calls),
    "taken": sum(call["taken"] for call in calls),
    "declined": {reason for call in calls for reason in call["declined"]},
    "declined_collectives": {reason for name, call in report["calls"].items() if "cast" in name or "gather" in name
                             for reason in call["declined"]},
    "counters": report["counters"],
    "transports": report["transports"],
    "nodes": report["nodes"],
}
if not eval(sys.argv[2], names):
    names.pop("__builtins__")
    names["counters"] = {name: value for name, value in report["counters"].items() if value}
    sys.exit("the report does not say %s: %s" % (sys.argv[2], names))
PYTHON
}

# Every call that has bytes was taken, and they went by multicast.
multicast_used='taken > 0 and declined <= {"zero_bytes"} and "udp: eth0" in transports and counters["data_bytes_sent"] > 0'

# The same of a program that has messages, too, which native carries between hosts.
collectives_used=${multicast_used/declined /declined_collectives }

# Judges a run that has ended: status 0, native output, no complaint of the library but one that is `bearable`, and what
# the report is to say.
judge() { # what run status ranks program condition
    local why
    if (($3 != 0)); then
        fail "$1" "exit status $3" "$2"
    elif ! cmp -s "$work/$5.$4" "$shared/$2.out"; then
        fail "$1" "output differs from native: $(diff "$work/$5.$4" "$shared/$2.out" | head -n 3 | cut -c 1-160 | tr '\n' ' ')" "$2"
    elif [[ -z ${complaint-} ]] && grep -E '^\[[^]]*@[^]]*\] (error|warn): ' "$shared/$2.err" | grep -qvE "${bearable:-^$}"; then
        fail "$1" "the library complains" "$2"
    elif [[ -n ${complaint-} ]] && ! grep -qE "$complaint" "$shared/$2.err"; then
        fail "$1" "no complaint that matches '$complaint'" "$2"
    elif ! why=$(report_says "$2" "$6" 2>&1); then
        fail "$1" "$why"
    else
        pass "$1"
    fi
}

check_run() { # what ranks program condition [NAME=VALUE...]
    local status=0
    launch run "$2" "$3" "${@:5}" || status=$?
    judge "$1" run "$status" "$2" "$3" "$4"
}

# Waits until no process of a job is left in the hosts, then looks for files; 100 seconds at most.
check_nothing_left() { # what
    local host left="" deadline=$((SECONDS + 100))
    while pgrep -f "^$programs/" >/dev/null; do
        ((SECONDS < deadline)) || { fail "$1" "processes are left"; return; }
        read -r -t 0.05 <> <(:)
    done
    for host in $hosts; do
        left+=$(lab-in-host "$host" ls -A /dev/shm)
    done
    if [[ -z $left ]]; then
        pass "$1"
    else
        fail "$1" "left in /dev/shm: $left"
    fi
}

case_across() {
    check_run "broadcasts of all sizes" 4 bcast_sizes "$multicast_used and nodes == 4"
    check_run "broadcasts from root to root" 4 bcast_rotating "$multicast_used"
    check_run "allgathers of all sizes" 4 allgather_sizes "$multicast_used"
    check_run "many allgathers at a time" 4 iallgather_outstanding "$multicast_used"
    check_run "many broadcasts at a time" 4 ibcast_outstanding "$multicast_used"
    check_run "roots that give fewer bytes than there is room for" 3 bcast_unequal_sides \
        '"unequal_lengths" in declined_collectives and taken > 0' CASTOFF_BCAST=auto
    check_run "allgathers of unequal blocks" 4 allgatherv_shapes "$multicast_used"
    check_run "many allgathers of unequal blocks at a time" 4 allgatherv_outstanding "$collectives_used"
    check_run "persistent collectives" 4 persistent_starts "$collectives_used"
    check_run "persistent collectives in another order on each rank" 4 persistent_order "$collectives_used"
    # Each half hears the other, which must not look like an attack.
    check_run "halves of a communicator" 4 comm_halves \
        "$multicast_used and counters['dropped_foreign'] > 0 and counters['dropped_not_authentic'] == 0"
    check_run "fresh communicators" 4 comm_late "taken == 800 and counters['communicators_opened_by_others'] > 0"
    check_run "without authentication" 4 iallgather_outstanding "$multicast_used" CASTOFF_AUTH=no
    check_run "without authentication, broadcasts land" 4 bcast_sizes \
        "$multicast_used and counters['data_chunks_landed'] > 0" CASTOFF_AUTH=no
    check_run "damage alone is looked for" 4 bcast_sizes \
        "$multicast_used and counters['data_chunks_landed'] == 0" CASTOFF_AUTH=check
    check_run "damage is found" 4 bcast_rotating "$multicast_used and counters['dropped_not_authentic'] > 0" \
        CASTOFF_AUTH=check CASTOFF_FAULT=corrupt=0.02,kind=data,seed=3
    check_run "landing among losses" 4 bcast_sizes "$multicast_used and counters['data_chunks_landed'] > 0" \
        CASTOFF_AUTH=no CASTOFF_FAULT=drop=0.02,reorder=0.02,dup=0.02,seed=4
    check_run "without offload" 4 allgather_sizes \
        "$multicast_used and 'gso no, gro no' in transports and counters['send_system_calls'] > 0" CASTOFF_UDP_OFFLOAD=no
    check_run "a rank that stands still" 3 bcast_stopped_rank "$multicast_used"
    local first status=0
    launch one 4 bcast_two_jobs &
    first=$!
    launch two 4 bcast_two_jobs || status=$?
    judge "two jobs at once, one" two "$status" 4 bcast_two_jobs "$multicast_used"
    status=0
    wait "$first" || status=$?
    judge "two jobs at once, the other" one "$status" 4 bcast_two_jobs "$multicast_used"
    check_nothing_left "nothing is left"
}

# Ranks 0 and 1 share a host, and so do 2 and 3.
case_messages() {
    local used='counters["messages_remote"] > 0 and counters["messages_remote"] < counters["messages_sent"]'
    check_run "messages between hosts and inside them" 4 p2p_hosts "$used and nodes == 2" CASTOFF_P2P=yes
    check_run "a small window" 4 p2p_hosts "$used" CASTOFF_P2P=yes CASTOFF_P2P_CARRIER_EAGER=16K \
        CASTOFF_P2P_CARRIER_MEMORY=256K
    check_run "a host with a single rank" 3 p2p_hosts "$used" CASTOFF_P2P=yes
    check_run "order by sender" 4 p2p_order "$used" CASTOFF_P2P=yes
    check_run "receives that are too small" 3 p2p_truncation "$used" CASTOFF_P2P=yes
    check_run "native messages between hosts" 4 p2p_order 'counters["messages_remote"] == 0' CASTOFF_P2P=yes \
        CASTOFF_P2P_CARRIER=no
    check_run "no network of castoff's" 4 p2p_order 'counters["messages_sent"] == 0' CASTOFF_P2P=yes CASTOFF_TRANSPORT=shm
    check_nothing_left "nothing is left"
}

# Until so many ranks of `job` run and have opened their sockets, or it is over.
await_ranks() { # ranks
    until (($(pgrep -fc "^$programs/") >= $1)) && [[ -n $(multicast_port) ]]; do
        kill -0 "$job" 2>/dev/null || return 1
        read -r -t 0.02 <> <(:)
    done
    return 0
}

case_crowded() {
    local program
    check_run "two ranks on each host" 8 iallgather_outstanding "$multicast_used and nodes == 4 and counters['shared_memory_bytes'] > 0"
    check_run "one host with a single rank" 7 bcast_rotating "$multicast_used and nodes == 4"
    check_run "persistent collectives, two ranks on each host" 8 persistent_order "$collectives_used and nodes == 4"
    check_run "unequal blocks, two ranks on each host" 8 allgatherv_shapes "$multicast_used and nodes == 4"
    check_run "roots that give fewer bytes, two ranks on each host" 4 bcast_unequal_nodes \
        '"unequal_lengths" in declined_collectives and taken > 0 and nodes == 2' CASTOFF_BCAST=auto
    for program in allgatherv_shapes ibcast_outstanding; do
        check_run "one host with a single rank: $program" 7 "$program" "$collectives_used and nodes == 4"
    done
    # Which fails on native MPI, where no rank lacks anything.
    local status=0
    launch run 3 bcast_no_memory || status=$?
    if ((status == 0)) && grep -q 'MPI_Allgather failed: Cannot allocate memory' "$shared/run.err"; then
        pass "one rank without memory"
    else
        fail "one rank without memory" "exit status $status" run
    fi
    check_nothing_left "nothing is left"
}

case_proxies() { # by TCP, and inside a host; one host has a single rank
    for program in ialltoall_sizes ialltoall_outstanding persistent_alltoall; do
        check_run "$program" 3 "$program" 'nodes == 2 and counters["proxy_calls"] > 10' CASTOFF_{IALLTOALL,IALLTOALLV,ALLTOALL_INIT,ALLTOALLV_INIT,PROXY}=yes
    done
    check_nothing_left "nothing is left"
}

case_fat_tree() {
    check_run "many allgathers at a time" 5 iallgather_outstanding "$multicast_used and nodes == 5"
}

case_snooping() {
    check_run "halves of a communicator" 4 comm_halves "$multicast_used"
    check_run "many allgathers at a time" 4 iallgather_outstanding "$multicast_used"
}

# Bytes that crossed the links, by the switches' counters, over those of the cost model, in percent. Heads, tags and
# frames make them more; credit, handshakes and what the launcher says during the job are in them, too.
links_against_model() { # call algorithm least most words-of-ports.sh...
    local call=$1 algorithm=$2 least=$3 most=$4 model crossed percent
    shift 4
    model=$("$castoff" bench --model --hosts 8 --leaf "${leaf:-8}" --pod 8 --collective "$call" --bytes 262144 |
        awk -v name="$algorithm" '$1 == name { print $3 }')
    # lab-mpirun takes the settings of this shell to none but the first host.
    crossed=$(env -u CASTOFF_BCAST -u CASTOFF_IBCAST -u CASTOFF_ALLGATHER -u CASTOFF_IALLGATHER -u CASTOFF_ALLGATHERV \
        -u CASTOFF_IALLGATHERV -u CASTOFF_BCAST_INIT -u CASTOFF_ALLGATHER_INIT -u CASTOFF_ALLGATHERV_INIT \
        -u CASTOFF_STALL_S -u CASTOFF_PROBE \
        CASTOFF_LAB_MPIRUN_ARGS="${lab_arguments[*]}" \
        "$top/bench/figures/ports.sh" "$call" 262144 8 -n 8 "$@" 2>"$shared/ports.err")
    if [[ -z $model || -z $crossed ]]; then
        fail "$call by $algorithm" "no figures: $(tail -n 1 "$shared/ports.err")"
        return
    fi
    percent=$((crossed * 100 / (8 * model)))
    if ((percent >= least && percent <= most)); then
        pass "$call by $algorithm crosses the links of the cost model ($percent % of its bytes)"
    else
        fail "$call by $algorithm crosses the links of the cost model" "$percent % of its bytes"
    fi
}

case_model() {
    local stock=(--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allgather_algorithm 4)
    links_against_model allgather multicast 103 120 -- "$castoff" run --set PROBE=20s -- "$top/build/bench/traffic"
    links_against_model bcast multicast 103 120 -- "$castoff" run --set PROBE=20s -- "$top/build/bench/traffic"
    links_against_model allgather ring 102 115 "${stock[@]}" -- "$top/build/bench/traffic"
}

case_model_fat_tree() {
    local leaf=4
    case_model
}

# The first interface of each host leads nowhere.
case_two_networks() {
    check_run "the network that all hosts share" 4 iallgather_outstanding "$multicast_used and nodes == 2"
    check_run "an interface by its name" 5 iallgather_outstanding "$multicast_used and nodes == 3" CASTOFF_UDP_INTERFACE=eth0
    local complaint='warn: communicators of several nodes stay native: multicast is not heard'
    check_run "the wrong interface by its name" 4 iallgather_outstanding 'taken == 0' CASTOFF_UDP_INTERFACE=decoy0
}

check_lost() { # what
    local lost=0 host
    for host in $hosts; do
        lost=$((lost + $(lab-loss-count "$host" | cut -d' ' -f1)))
    done
    if ((lost > 0)); then
        pass "$1"
    else
        fail "$1" "none was"
    fi
}

case_lossy() {
    check_run "5 % loss: halves of a communicator" 4 comm_halves "$multicast_used and counters['retransmitted_bytes'] > 0"
    check_run "5 % loss: many allgathers at a time" 4 iallgather_outstanding "$multicast_used and counters['retransmitted_bytes'] > 0"
    local fetched="$collectives_used and counters['retransmitted_bytes'] > 0"
    check_run "5 % loss: many broadcasts at a time" 4 ibcast_outstanding "$fetched"
    check_run "5 % loss: roots that give fewer bytes than there is room for" 3 bcast_unequal_sides \
        '"unequal_lengths" in declined_collectives and taken > 0' CASTOFF_BCAST=auto
    check_run "5 % loss: many allgathers of unequal blocks at a time" 4 allgatherv_outstanding "$fetched"
    check_run "5 % loss: persistent collectives" 4 persistent_order "$fetched"
    check_lost "5 % loss: datagrams were lost"
}

# The whole family, seven hosts, 3 % loss.
case_family() {
    local program
    while read -r program; do
        check_run "3 % loss: $program" 7 "$program" "$collectives_used and nodes == 7"
    done <"$top/tests/lab/family_programs.txt"
    check_lost "3 % loss: datagrams were lost"
    check_nothing_left "nothing is left"
}

# Switch ports that hold next to nothing: several senders overrun them, and learn what gets through.
case_shallow() {
    local what="allgathers through ports that hold 2 ms"
    CASTOFF_REPORT=$shared/shallow.json "${bounded[@]}" "$castoff" mpirun "${lab_arguments[@]}" -n 8 \
        "$top/build/bench/traffic" allgather 262144 10 >"$shared/shallow.out" 2>"$shared/shallow.err" </dev/null ||
        { fail "$what" "status $?" shallow && return; }
    if report_says shallow "taken > 0 and counters['retransmitted_bytes'] > 0" 2>"$shared/why"; then
        pass "$what"
    else
        fail "$what" "$(cat "$shared/why")" shallow
    fi
}

case_faults() {
    local seed=seed=$CASTOFF_TEST_SEED injected="$multicast_used and counters['faults_injected'] > 0"
    check_run "one in five dropped" 4 comm_halves "$injected" "CASTOFF_FAULT=drop=0.2,$seed"
    check_run "everything twice" 4 iallgather_outstanding "$injected and counters['data_chunks_duplicate'] > 0" \
        "CASTOFF_FAULT=dup=1,$seed"
    check_run "multicast ceases" 4 comm_halves "$injected and counters['retransmitted_bytes'] > 0" \
        "CASTOFF_FAULT=blackhole_after=50,$seed"
}

# Multicast does not reach everyone: native MPI serves the calls, and a warning and the report say why.
case_deaf() {
    local off='warn: castoff is off for this job.*multicast is not heard by'
    local native='taken == 0 and "castoff_not_started" in declined and "not heard by'
    local complaint="$off any of the other 3 hosts within 500ms"
    local -x CASTOFF_PROBE=500ms
    check_run "no multicast at all" 4 comm_halves "$native any of the other 3 hosts\" in transports" CASTOFF_FAULT=blackhole=1
    lab-multicast 2 off
    CASTOFF_PROBE=5s # half a second may be too short for the others, too
    complaint="$off host h2 \(rank 2\) within"
    check_run "one host hears no multicast" 4 comm_halves "$native host h2 (rank 2) within\" in transports"
    lab-multicast 3 off
    complaint="$off host h2 \(rank 2\), host h3 \(rank 3\) within"
    check_run "two hosts hear no multicast" 4 comm_halves "$native host h2 (rank 2), host h3\" in transports"
    lab-multicast 3 on
    lab-multicast 2 on
    complaint="" CASTOFF_PROBE=20s
    check_run "it hears again" 4 comm_halves "$multicast_used"
}

# shellcheck source=tests/lab/castoff_test_deaths.sh
. "$top/tests/lab/castoff_test_deaths.sh"
# shellcheck source=tests/lab/castoff_test_hostile.sh
. "$top/tests/lab/castoff_test_hostile.sh"
# shellcheck source=tests/lab/castoff_test_network.sh
. "$top/tests/lab/castoff_test_network.sh"
# shellcheck source=tests/lab/castoff_test_verdicts.sh
. "$top/tests/lab/castoff_test_verdicts.sh"
# shellcheck source=tests/lab/castoff_test_refusals.sh
. "$top/tests/lab/castoff_test_refusals.sh"
# shellcheck source=tests/lab/castoff_test_shaken.sh
. "$top/tests/lab/castoff_test_shaken.sh"

"case_$case_name"
