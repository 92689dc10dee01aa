#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The checks of castoff_verbs_test.sh that run in a laboratory, as its command beside the guests. Arguments: the case,
# the top of the project. Prints PASS, FAIL or SKIP and what was checked.

set -u

case_name=$1 top=$2
shared=$CASTOFF_LAB_SHARED
programs=$top/build/tests/mpi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# shellcheck source=tests/lab-verbs/waits.sh
. "$(dirname -- "$0")/waits.sh"

check() { # what command...
    local what="$case_name: $1"
    shift
    if "$@" >"$shared/checked" 2>&1; then
        echo "PASS $what"
    else
        echo "FAIL $what"
        tail -n 40 "$shared/checked" "$shared/err" | cut -c 1-250 | sed 's/^/    /'
    fi
}

# In the guests, with castoff and these settings; what it writes is in $shared/out and err, its report in report.
run() { # ranks program settings...
    local ranks=$1 program=$2 exports=() setting
    shift 2
    for setting in CASTOFF_UDP_INTERFACE=eth0 CASTOFF_PROBE=20s CASTOFF_BCAST=yes CASTOFF_ALLGATHER=yes CASTOFF_IALLGATHER=yes \
        CASTOFF_REPORT="$shared/report" "$@"; do
        exports+=(-x "$setting")
    done
    rm -f "$shared/report"
    "${bounded[@]}" lab-mpirun -n "$ranks" "${exports[@]}" "$top/build/castoff" run -- "$programs/$program" \
        >"$shared/out" 2>"$shared/err"
}

uses() { # transport
    grep -q "^$1: .* group" "$shared/report" || { grep -m 3 "off:\|udp:\|verbs:" "$shared/report"; return 1; }
}

counted() { # counter: how often, over all ranks
    awk -v name="$1" '$1 == name { print $2 }' "$shared/report"
}

some() { # counter
    local value
    value=$(counted "$1")
    ((${value:-0} > 0)) || { echo "$1 is ${value:-0}"; return 1; }
}

none() { # counter
    ! some "$1"
}

# Its output natively, on this machine, and by the last run.
as_natively() { # ranks program
    "${bounded[@]}" mpirun --oversubscribe -n "$1" "$programs/$2" >"$shared/native" 2>/dev/null
    cmp "$shared/native" "$shared/out"
}

works() { # ranks program what settings...
    local ranks=$1 program=$2 what=$3
    shift 3
    check "$what runs" run "$ranks" "$program" "$@"
    check "$what takes verbs" uses verbs
    check "$what gives what it gives natively" as_natively "$ranks" "$program"
}

# Bytes that the guests have sent to the fabric, and that it has brought them, since the last call.
count_ports() { # into sent and brought
    local now
    read -ra now <<<"$(lab-counters | awk '{ a += $2; b += $3 } END { print a, b }')"
    sent=$((now[0] - sent_before)) brought=$((now[1] - brought_before))
    sent_before=${now[0]} brought_before=${now[1]}
}

# Of four allgathers of 256 KiB a rank; what a job without any needs is taken off.
ports_of() { # command...
    count_ports
    "$@" "$top/build/bench/traffic" allgather 262144 0 >"$shared/out" 2>"$shared/err"
    count_ports
    local idle_sent=$sent idle_brought=$brought
    "$@" "$top/build/bench/traffic" allgather 262144 4 >"$shared/out" 2>"$shared/err"
    count_ports
    sent=$((sent - idle_sent)) brought=$((brought - idle_brought))
}

is_below() { # value bound
    echo "$1, bound $2"
    (($1 > 0 && $1 <= $2))
}

# A guest that waits for its turn of a core is not a loss: the cutoff is long here, so that only payload is counted.
case_counters() {
    local sent=0 brought=0 sent_before=0 brought_before=0 payload=$((4 * 4 * 262144)) ours our_share ring
    ports_of "${bounded[@]}" lab-mpirun -n 4 -x CASTOFF_UDP_INTERFACE=eth0 -x CASTOFF_TRANSPORT=verbs -x CASTOFF_PROBE=20s \
        -x CASTOFF_ALLGATHER=yes -x CASTOFF_MCAST_CUTOFF=500ms "$top/build/castoff" run --
    ours=$((sent + brought)) our_share=$sent
    check "an allgather sends each rank's bytes once, and 6 % for heads and reports" is_below "$sent" $((payload * 106 / 100))
    read -ra stock <<<"${CASTOFF_LAB_MPIRUN_ARGS/btl_tcp_if_include 10.79.0/btl_tcp_if_include 10.78.0}"
    ports_of "${bounded[@]}" mpirun "${stock[@]}" -n 4 --mca coll_tuned_use_dynamic_rules 1 \
        --mca coll_tuned_allgather_algorithm 4
    ring=$((sent + brought))
    echo "counters: castoff sent $our_share of all $ours, stock's ring $sent of all $ring, payload $payload"
    # 2 - 2/P = 1.5, of which 0.97 is asked.
    check "all ports together carry 1.455 times less than for stock's ring" is_below $((ours * 1455)) $((ring * 1000))
}

case_jobs() {
    works 4 bcast_rotating "broadcasts of all roots" CASTOFF_TRANSPORT=verbs
    check "broadcasts of all roots come in runs" some data_chunks_in_runs
    works 3 iallgather_mixed_all "nonblocking allgathers" CASTOFF_TRANSPORT=auto
    works 3 allgather_datatypes "allgathers of datatypes" CASTOFF_TRANSPORT=verbs
    works 3 allgather_datatypes "allgathers with faults" CASTOFF_TRANSPORT=verbs \
        CASTOFF_FAULT=drop=0.02,dup=0.01,reorder=0.01,seed=5
    check "allgathers with faults lose datagrams" some faults_injected
    check "neighbours say things by their connections" some verbs_words
    works 3 persistent_order "persistent collectives and nonblocking ones" CASTOFF_TRANSPORT=verbs CASTOFF_IBCAST=yes \
        CASTOFF_BCAST_INIT=yes CASTOFF_ALLGATHER_INIT=yes CASTOFF_ALLGATHERV_INIT=yes
    lab-loss 1 20 multicast
    works 4 bcast_rotating "broadcasts over a lossy fabric" CASTOFF_TRANSPORT=verbs
    check "broadcasts over a lossy fabric fetch what was lost" some retransmitted_bytes
    lab-loss 1 0
    two_at_once
}

# ranks program arguments... over connections of verbs; a program says itself what is wrong with a message.
messages() {
    local ranks=$1 program=$2
    shift 2
    "${bounded[@]}" lab-mpirun -n "$ranks" -x CASTOFF_UDP_INTERFACE=eth0 -x CASTOFF_PROBE=20s -x CASTOFF_TRANSPORT=verbs \
        -x CASTOFF_P2P=yes -x CASTOFF_LOG=info -x CASTOFF_REPORT="$shared/report" "${more[@]}" "$top/build/castoff" run -- \
        "$programs/$program" "$@" >"$shared/out" 2>"$shared/err"
}

case_messages() {
    local more=()
    check "messages of all kinds arrive" messages 2 p2p_stress 1 8
    check "messages of all kinds go by verbs" says "messages between hosts go by verbs"
    check "large messages are read where they lie" some message_bytes_read
    check "messages of three ranks keep their order" messages 3 p2p_order
    check "messages of all sizes arrive" messages 3 p2p_sizes
    more=(lab-memlock 12288)
    check "too little memory for large messages: they arrive" messages 2 p2p_stress 2 8
    check "too little memory for large messages: they still go by verbs" says "messages between hosts go by verbs"
    more=()
    lab-loss 1 10
    check "messages over a lossy fabric arrive" messages 2 p2p_stress 3 8
    check "messages over a lossy fabric: packets were lost" test "$(lab-loss-count 1 | cut -d' ' -f1)" -gt 0
    lab-loss 1 0
    more=(--enable-recovery)
    local bytes
    for bytes in 8 300000; do
        check "a rank killed among messages of $bytes bytes: the job ends" messages_of_survivors "$bytes"
        check "a rank killed among messages of $bytes bytes: they go by verbs" says "messages between hosts go by verbs"
        check "a rank killed among messages of $bytes bytes: the others get an MPI error" others_failed
    done
}

# With --enable-recovery the launcher tells of the dead one.
messages_of_survivors() {
    messages 4 abort_survivors "$1" messages
    test $? -ne 124
}

two_at_once() {
    local first second status=0
    for first in 1 2; do
        "${bounded[@]}" lab-mpirun -n 2 -x CASTOFF_UDP_INTERFACE=eth0 -x CASTOFF_TRANSPORT=verbs -x CASTOFF_PROBE=20s \
            -x CASTOFF_BCAST=yes -x CASTOFF_IBCAST=yes -x CASTOFF_REPORT="$shared/report.$first" "$top/build/castoff" run -- \
            "$programs/bcast_rotating" >"$shared/out.$first" 2>&1 &
        second="${second:-} $!"
    done
    for first in $second; do
        wait "$first" || status=$?
    done
    check "two jobs at once both run" test "$status" -eq 0
    check "two jobs at once both take verbs" test "$(grep -l '^verbs: .* group' "$shared"/report.? | wc -l)" -eq 2
}

says() { # pattern
    grep -q -- "$1" "$shared/err" "$shared/report" 2>/dev/null
}

# One rank is killed, and the launcher lets the others live: they get an MPI error.
case_deaths() {
    local bytes
    for bytes in 8 300000; do
        "${bounded[@]}" lab-mpirun -n 4 --enable-recovery -x CASTOFF_UDP_INTERFACE=eth0 -x CASTOFF_TRANSPORT=verbs \
            -x CASTOFF_PROBE=20s -x CASTOFF_BCAST=yes -x CASTOFF_IBCAST=yes -x CASTOFF_ALLGATHER=yes -x CASTOFF_LOG=info "$top/build/castoff" run -- \
            "$programs/abort_survivors" "$bytes" >"$shared/out" 2>"$shared/err"
        check "a rank killed, blocks of $bytes bytes: over verbs" says "verbs: .* group"
        check "a rank killed, blocks of $bytes bytes: the others get an MPI error" others_failed
    done
}

others_failed() {
    grep -c '^rank [012]: an error$' "$shared/out"
    (($(grep -c '^rank [012]: an error$' "$shared/out") == 3))
}

# Payload leaves from the program's memory, which may have become another since it was registered.
case_regions() {
    works 2 bcast_remapped "broadcasts from changing memory" CASTOFF_TRANSPORT=verbs
    check "broadcasts from changing memory leave without a copy" some verbs_uncopied_bytes
    check "broadcasts from changing memory use a registration again" some verbs_registrations_reused
    check "broadcasts from changing memory give up what has changed" some verbs_registrations_changed
    works 2 bcast_remapped "broadcasts with nothing kept" CASTOFF_TRANSPORT=verbs CASTOFF_VERBS_KEEP=0 \
        CASTOFF_VERBS_REGISTER=16K
    check "broadcasts with nothing kept leave without a copy" some verbs_uncopied_bytes
    check "broadcasts with nothing kept register each time" none verbs_registrations_reused
    works 2 iallgather_mixed_all "allgathers from memory, with faults" CASTOFF_TRANSPORT=verbs \
        CASTOFF_VERBS_REGISTER=4K CASTOFF_FAULT=drop=0.02,seed=6
    check "allgathers from memory leave without a copy" some verbs_uncopied_bytes
    check "little memory that may be locked: the job runs" little_memory_run
    check "little memory that may be locked: over verbs" uses verbs
    check "little memory that may be locked: what cannot be registered is copied" some verbs_registrations_refused
    check "little memory that may be locked gives what it gives natively" as_natively 2 bcast_remapped
}

# Enough for the rings, not for the program's blocks.
little_memory_run() {
    rm -f "$shared/report"
    "${bounded[@]}" lab-mpirun -n 2 -x CASTOFF_UDP_INTERFACE=eth0 -x CASTOFF_TRANSPORT=verbs -x CASTOFF_BCAST=yes -x CASTOFF_IBCAST=yes \
        -x CASTOFF_PROBE=20s -x CASTOFF_REPORT="$shared/report" lab-memlock 6300 "$top/build/castoff" run -- \
        "$programs/bcast_remapped" >"$shared/out" 2>"$shared/err"
}

# A job of three that goes on until it is told to end; after its beginning something is done to guest 1.
trouble() { # what settings... -- harm...
    local what=$1 settings=() job
    shift
    while [[ $1 != -- ]]; do
        settings+=(-x "$1")
        shift
    done
    shift
    rm -f "$shared"/{begun,end,report}
    "${bounded[@]}" lab-mpirun -n 3 --enable-recovery -x CASTOFF_UDP_INTERFACE=eth0 -x CASTOFF_TRANSPORT=verbs \
        -x CASTOFF_PROBE=20s -x CASTOFF_ALLGATHER=yes -x CASTOFF_REPORT="$shared/report" "${settings[@]}" \
        "$top/build/castoff" run -- "$programs/trouble_survivors" 20000 "$shared" >"$shared/out" 2>"$shared/err" &
    job=$!
    check "$what: the job is under way" await test -e "$shared/begun"
    check "$what: it is done" "$@"
    sleep 1
    touch "$shared/end"
    wait "$job"
}

all_say() { # "no error" or "an error"
    cat "$shared/out"
    (($(grep -c "^rank [012]: $1\$" "$shared/out") == 3)) || {
        lab-in-guest 1 sh -c 'rdma link; ip -br address; ip route; dmesg | tail -n 8'
        return 1
    }
}

link_comes_back() {
    lab-in-guest 1 ip link set eth0 down && await says "port 1 is down" && lab-in-guest 1 ip link set eth0 up &&
        lab-in-guest 1 ip route add 224.0.0.0/4 dev eth0
}

# Without its address Soft-RoCE fails the queue pair that is to send, although the port is active. The other address
# keeps the interface's memberships.
address_comes_back() {
    lab-in-guest 1 ip addr add 10.77.0.2/24 dev eth0 && lab-in-guest 1 ip addr del 10.78.0.2/24 dev eth0 &&
        await says "a send ended with" && lab-in-guest 1 ip addr add 10.78.0.2/24 dev eth0 &&
        lab-in-guest 1 ip addr del 10.77.0.2/24 dev eth0 && lab-in-guest 1 ip route replace 224.0.0.0/4 dev eth0
}

case_troubles() {
    trouble "queue pairs that fail" CASTOFF_DEADLINE_S=3600 -- address_comes_back
    check "queue pairs that fail: all have the right bytes" all_say "no error"
    check "queue pairs that fail: the completions are named" says 'a send ended with "local QP operation error"'
    check "queue pairs that fail: they are counted" some verbs_failed
    check "queue pairs that fail: they are set up anew" some verbs_revived
    # A busy machine may be long about it.
    trouble "a link that comes back" CASTOFF_DEADLINE_S=3600 -- link_comes_back
    check "a link that comes back: all have the right bytes" all_say "no error"
    check "a link that comes back: it says so" says "port 1 is active again"
    check "a link that comes back: the device's words are counted" some verbs_events
    trouble "a link that stays away" CASTOFF_DEADLINE_S=3 -- lab-in-guest 1 ip link set eth0 down
    check "a link that stays away: all get an MPI error" all_say "an error"
    check "a link that stays away: it says so" says "port 1 is down"
    lab-in-guest 1 ip link set eth0 up
    lab-in-guest 1 ip route add 224.0.0.0/4 dev eth0
    trouble "a device that is taken away" CASTOFF_P2P=yes CASTOFF_LOG=info -- "${bounded[@]}" lab-in-guest 1 rdma link del rxe0
    check "a device that is taken away: messages had it, too" says "messages between hosts go by verbs"
    check "a device that is taken away: they give it back" says "connection to rank . is lost: the device is taken away"
    check "a device that is taken away: all get an MPI error" all_say "an error"
    check "a device that is taken away: it says so" says "the device is taken away"
}

# Lost chunks are read from the neighbour's memory, over the connections of the ring.
case_reads() {
    local lossy=(CASTOFF_TRANSPORT=verbs CASTOFF_VERBS_READ=1 CASTOFF_MCAST_EAGER=0) auth
    lossy+=(CASTOFF_FAULT=miss=0.05,kind=data,seed=9)
    for auth in yes no; do
        works 3 bcast_rotating "broadcasts that miss chunks, CASTOFF_AUTH=$auth," "${lossy[@]}" CASTOFF_AUTH=$auth
        check "broadcasts that miss chunks, CASTOFF_AUTH=$auth, read them" some verbs_reads
        echo "($(counted verbs_reads) chunks and $(counted verbs_read_bytes) bytes read, $(counted retransmitted_bytes) sent again)"
    done
    check "broadcasts that miss chunks: the report names the ring" grep -q "reads memory of rank" "$shared/report"
    works 3 allgather_datatypes "allgathers that miss chunks" "${lossy[@]}"
    check "allgathers that miss chunks read them" some verbs_reads
    check "allgathers that miss chunks: nothing is not authentic" none dropped_not_authentic
    works 3 bcast_rotating "broadcasts that miss chunks and may not read" "${lossy[@]}" CASTOFF_VERBS_READ=0
    check "broadcasts that miss chunks and may not read do not" none verbs_reads
    echo "($(counted retransmitted_bytes) bytes sent again)"
    trouble "connections of the ring that fail" "${lossy[@]}" -- connections_fail
    check "connections of the ring that fail: all have the right bytes" all_say "no error"
    check "connections of the ring that fail: it says so" says "cannot be read any more"
    check "connections of the ring that fail: some was read" some verbs_reads
}

# The device gives up after half a second, Soft-RoCE never, and then castoff does after two.
connections_fail() {
    lab-loss 1 1000 connections && await says "cannot be read any more" && lab-loss 1 0
}

# A job that could not have verbs goes on without them, and says why.
case_refusals() {
    check "too little memory that may be locked: the job runs" locked_run
    check "too little memory that may be locked: it says which limit" says "ulimit -l allows"
    check "another device: the job runs" run 2 bcast_signals CASTOFF_TRANSPORT=verbs CASTOFF_VERBS_DEVICE=mlx5_9
    check "another device: it says which setting" says "CASTOFF_VERBS_DEVICE"
    lab-in-guest 1 rdma link del rxe0
    check "a rank without a device: the job runs" run 2 bcast_signals CASTOFF_TRANSPORT=auto
    check "a rank without a device: over UDP" uses udp
    check "a rank without a device: castoff info says so" info_says 1 "no RDMA device"
    check "a device: castoff info names it" info_says 0 "usable: *rxe0 port 1"
}

locked_run() {
    "${bounded[@]}" lab-mpirun -n 2 -x CASTOFF_UDP_INTERFACE=eth0 -x CASTOFF_TRANSPORT=verbs -x CASTOFF_BCAST=yes -x CASTOFF_IBCAST=yes \
        lab-memlock 64 "$top/build/castoff" run -- "$programs/bcast_signals" >"$shared/out" 2>"$shared/err"
}

info_says() { # guest pattern
    lab-in-guest "$1" env CASTOFF_UDP_INTERFACE=eth0 "$top/build/castoff" info --transports >"$shared/info"
    grep "^verbs" "$shared/info"
    grep "^verbs" "$shared/info" | grep -q -- "$2"
}

case_no_device() {
    check "no device: the job runs" run 2 bcast_signals CASTOFF_TRANSPORT=auto
    check "no device: over UDP" uses udp
    check "no device, verbs alone: the job runs" run 2 bcast_signals CASTOFF_TRANSPORT=verbs
    check "no device, verbs alone: it says so" says "CASTOFF_TRANSPORT=verbs: no RDMA device"
}

"case_$case_name"
