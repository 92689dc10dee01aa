#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The checks of lab_test.sh that run inside a laboratory, as its command on host h0. The first
# argument names the case, the second the directory with the built probe programs. Prints PASS, FAIL
# or SKIP and what was checked; the status is 0 unless the case itself broke down.

set -u

work=$2
probe=$work/lab_probe

check() { # what command...
    local what="$case_name: $1"
    shift
    if "$@"; then
        echo "PASS $what"
    else
        echo "FAIL $what"
    fi
}

await() { # command...: until it succeeds, 200 seconds at most
    local deadline=$((SECONDS + 200))
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        read -r -t 0.02 <> <(:)
    done
    return 0
}

# Starts a listener on a host and returns when it may be sent to; its job number is in `listener`.
listen_on() { # host probe-arguments...
    local output=$CASTOFF_LAB_SHARED/listener.$1.$4
    : >"$output"
    lab-in-host "$1" "$probe" "${@:2}" >"$output" &
    listener=$!
    await grep -q ready "$output"
}

counter() { # port column (2 rx bytes, 3 tx bytes, 4 rx packets, 5 tx packets)
    "$CASTOFF_LAB_COUNTERS" | awk -v port="$1" -v column="$2" '$1 == port { print $column }'
}

at_least() { # value lowest
    (($1 >= $2)) || echo "$1 is less than $2"
    (($1 >= $2))
}

less_than() { # value bound
    (($1 < $2)) || echo "$1 is not less than $2"
    (($1 < $2))
}

counter_reaches() { # port column value
    (($(counter "$1" "$2") >= $3))
}

reaches() { # host
    listen_on "$1" echo "10.77.0.$(($1 + 1))" 5000 && "$probe" ask "10.77.0.$(($1 + 1))" 5000 &&
        wait "$listener"
}

# A host has joined before its report is at every switch: a datagram that is asked for may find none of them ready.
is_joined() { # host
    "$probe" knock 239.1.2.3 5001 && grep -q knocked "$CASTOFF_LAB_SHARED/listener.$1.5001"
}

multicast_arrives() { # say|burst datagrams host...
    local host listeners=() how=$1 count=$2
    shift 2
    for host; do
        listen_on "$host" hear 239.1.2.3 5001 "$count"
        listeners+=("$listener")
        await is_joined "$host" || return 1
    done
    "$probe" "$how" 239.1.2.3 5001 "$count"
    for listener in "${listeners[@]}"; do
        wait "$listener" || return 1
    done
}

# While the link is down a question stays without answer; the same listener answers afterwards.
link_can_be_cut() { # host
    listen_on "$1" echo "10.77.0.$(($1 + 1))" 5000 || return 1
    lab-link "$1" down
    ! timeout 1 "$probe" ask "10.77.0.$(($1 + 1))" 5000 2>/dev/null || return 1
    kill -0 "$listener" || return 1
    lab-link "$1" up
    "$probe" ask "10.77.0.$(($1 + 1))" 5000 && wait "$listener"
}

pour_to() { # host bytes [sending-host]: prints the nanoseconds it took
    listen_on "$1" drain "10.77.0.$(($1 + 1))" "$((5100 + ${3-0}))" >&2 &&
        lab-in-host "${3-0}" "$probe" pour "10.77.0.$(($1 + 1))" "$((5100 + ${3-0}))" "$2" &&
        wait "$listener"
}

# Two streams at once that share one direction of h0's link; prints the nanoseconds for both.
pour_two() { # from|to
    local start streams=() host
    start=$(date +%s%N)
    for host in 1 2; do
        if [[ $1 == from ]]; then
            pour_to "$host" 1000000 >/dev/null &
        else
            pour_to 0 1000000 "$host" >/dev/null &
        fi
        streams+=($!)
    done
    wait "${streams[0]}" && wait "${streams[1]}" && echo $(($(date +%s%N) - start))
}

mpi_runs() { # ranks expected-line
    local line
    line=$(python3 -S "$(dirname "$0")/../bounded.py" 100 1000 "$CASTOFF_LAB_MPIRUN" -n "$1" "$work/lab_sum") || return 1
    [[ $line == "$2" ]] || echo "$line"
    [[ $line == "$2" ]]
}

hosts_are_apart() {
    : >/dev/shm/only_here && : >"$TMPDIR/only_here" &&
        [[ $(lab-in-host 1 hostname) == h1 ]] &&
        ! lab-in-host 1 test -e /dev/shm/only_here && ! lab-in-host 1 test -e "$TMPDIR/only_here" &&
        lab-in-host 1 test -e /sys/class/net/eth0
}

agent_is_like_a_login() {
    local seen
    seen=$(LD_PRELOAD='' SECRET=1 lab-agent h1 'echo "$(hostname) ${SECRET-none}"')
    [[ $seen == "h1 none" ]]
}

check_flat() {
    local before
    # 20 Mbit/s carry 2.5 bytes a microsecond; a shaper may pass its 64 KiB at once.
    local shortest=$(((2000000 - 2 * 65536) * 400))
    check "h1 answers" reaches 1
    check "h2 answers" reaches 2
    check "multicast arrives at all others" multicast_arrives say 20 1 2
    check "hosts have their own names and memory" hosts_are_apart
    check "mpirun's agent passes no environment on" agent_is_like_a_login
    if [[ -x $work/lab_sum ]]; then
        check "stock mpirun spans the hosts" mpi_runs 3 "ranks 3 sum 3 hosts 3"
        check "mpirun left nothing in the directory for temporary files" \
            test -z "$(find "$TMPDIR" -mindepth 1 ! -name only_here)"
    else
        echo "SKIP $case_name: stock mpirun spans the hosts (no mpicc)"
    fi
    before=$(counter p1 3)
    pour_to 1 1000000 >/dev/null
    check "the port counted at least that" at_least $(($(counter p1 3) - before)) 1000000
    check "the port of the other host did not" less_than "$(counter p2 3)" 1000000
    check "2 MB out of h0 take at least as long as 20 Mbit/s allow" \
        at_least "$(pour_two from || echo 0)" "$shortest"
    check "2 MB into h0 take at least as long as 20 Mbit/s allow" \
        at_least "$(pour_two to || echo 0)" "$shortest"
    lab-kill-host 2
    check "h2 answers after its processes were killed" reaches 2
    check "a link can be cut and joined again" link_can_be_cut 1
}

check_datagrams() {
    local before lost bytes heard=$CASTOFF_LAB_SHARED/mirror
    lab-loss 1 500
    before=$(counter p1 5)
    "$probe" say 239.1.2.3 5001 1000
    check "1000 datagrams pass the port" await counter_reaches p1 5 $((before + 1000))
    # The last ones may still be between the port and the host's rules.
    await loss_is_over 400
    read -r lost bytes < <(lab-loss-count 1)
    check "about half of them are lost" at_least "$lost" 400
    check "about half of them arrive" less_than "$lost" 600
    check "lost bytes are counted" at_least "$bytes" $((lost * 1000))
    read -r before bytes < <(lab-loss-count 1)
    lab-loss 1 1000
    "$probe" say 239.1.2.3 5001 50
    check "all can be lost" await loss_is_over $((before + 50))
    lab-loss 1 0
    check "without loss all arrive" multicast_arrives say 20 1 2
    lab-loss 1 1000 tcp
    read -r before bytes < <(lab-loss-count 1)
    check "datagrams pass where segments of TCP are lost" multicast_arrives say 20 1 2
    check "these are" segment_is_lost "$before"
    lab-loss 1 0
    lab-multicast 1 off
    check "multicast can be held back from a host" is_deaf 1
    check "unicast still reaches it" reaches 1
    lab-multicast 1 on
    before=$(counter p2 4)
    lab-inject 2 send --to 239.1.2.3:5001 --from 10.77.0.1:7 --count 50 >/dev/null
    check "made-up datagrams are on the wire" await counter_reaches p2 4 $((before + 50))
    : >"$heard"
    lab-inject 2 mirror --as replay --to ANY:5001 --count 20 >"$heard" &
    local mirror=$!
    await grep -q ready "$heard"
    listen_on 1 hear 239.1.2.3 5001 40
    "$probe" say 239.1.2.3 5001 20
    check "replayed datagrams arrive beside the first ones" wait "$listener"
    wait "$mirror"
}

# Nobody listens there: who hears that has lost nothing. A machine that stands still for the second of a try has sent nothing.
segment_is_lost() { # packets that were lost before
    local lost bytes try
    for ((try = 0; try < 20; try++)); do
        ! lab-in-host 2 timeout 1 bash -c 'exec 3<>/dev/tcp/10.77.0.2/9' 2>/dev/null || return 1
        read -r lost bytes < <(lab-loss-count 1)
        ((lost <= $1)) || return 0
    done
    return 1
}

loss_is_over() { # packets
    local lost bytes
    read -r lost bytes < <(lab-loss-count 1)
    : "$bytes"
    ((lost >= $1))
}

# True when a datagram to the group does not reach the host although unicast sent after it does.
is_deaf() { # host
    local held
    listen_on "$1" hear 239.1.2.4 5003 1
    held=$listener
    "$probe" say 239.1.2.4 5003 1
    reaches "$1" || return 1
    # The listener still waits, or "kill" has nothing to end.
    kill "$held" || return 1
    wait "$held" 2>/dev/null
    (($? == 143))
}

check_snooping() {
    local before_member before_stranger
    before_member=$(counter p1 3)
    before_stranger=$(counter p2 3)
    check "multicast arrives at the member" multicast_arrives say 20 1
    check "the member's port counted it" at_least $(($(counter p1 3) - before_member)) 20000
    check "a host that did not join gets none of it" \
        less_than $(($(counter p2 3) - before_stranger)) 1000
}

check_fat_tree() {
    local host before other
    for host in 1 2 3; do
        check "h$host answers" reaches "$host"
    done
    before=$(counter l0s0 3)
    other=$(counter l0s1 3)
    pour_to 2 200000 >/dev/null
    check "traffic to h2 takes spine 0" at_least $(($(counter l0s0 3) - before)) 200000
    check "and not spine 1" less_than $(($(counter l0s1 3) - other)) 20000
    pour_to 3 200000 >/dev/null
    check "traffic to h3 takes spine 1" at_least $(($(counter l0s1 3) - other)) 200000
    before=$(counter l0s0 3)
    other=$(counter l1s0 2)
    check "multicast arrives at all others" multicast_arrives say 20 1 2 3
    check "it left its leaf" at_least $(($(counter l0s0 3) - before)) 20000
    check "it left its leaf once" less_than $(($(counter l0s0 3) - before)) 30000
    check "it entered the other leaf once" less_than $(($(counter l1s0 2) - other)) 30000
}

check_fat_tree_snooping() {
    local before stranger leaf host
    for host in 1 2 3 4; do
        check "h$host answers" reaches "$host"
    done
    # Leaves: h0 h1, h2 h3, h4. Only h2 joins.
    before=$(counter l1s0 2)
    stranger=$(counter p3 3)
    leaf=$(counter l2s0 2)
    check "multicast arrives at the member" multicast_arrives say 20 2
    check "the link to its leaf counted it" at_least $(($(counter l1s0 2) - before)) 20000
    check "a host of the same leaf gets none of it" less_than $(($(counter p3 3) - stranger)) 1000
    check "a leaf without members gets none of it" less_than $(($(counter l2s0 2) - leaf)) 1000
}

# A burst to all hosts is more packets than a processor's queue for all devices takes, and more pairs of hosts than the
# kernel's table of neighbours.
check_many() {
    local host reached=0
    for ((host = 1; host < 48; host++)); do
        reaches "$host" && reached=$((reached + 1))
    done
    check "all hosts answer" test "$reached" -eq 47
    # shellcheck disable=SC2046
    check "a burst by multicast arrives whole at all" multicast_arrives burst 65 $(seq 47)
}

# Stays until the lab is broken off, with processes that do not end by themselves or by asking.
linger() {
    local host
    for host in 1 2; do
        lab-in-host "$host" setsid bash -c 'trap "" TERM INT HUP; exec sleep 1000' &
    done
    : >/dev/shm/leftover
    : >"$TMPDIR/leftover"
    trap 'exit 0' TERM
    echo lingering
    sleep 1000 &
    wait
}

check_side_by_side() { # own-name other-name
    : >"$work/up.$1"
    check "$1: the other lab is up meanwhile" await test -e "$work/up.$2"
    check "$1: h1 answers" reaches 1
    [[ ! -x $work/lab_sum ]] || check "$1: mpirun" mpi_runs 2 "ranks 2 sum 1 hosts 2"
    : >"$work/done.$1"
    check "$1: both were up to the end" await test -e "$work/done.$2"
}

case_name=$1
if [[ $1 == linger ]]; then
    linger
else
    "check_$1" "${@:3}"
fi
exit 0
