#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The checks of lab_verbs_test.sh that run in a laboratory, as its command beside the guests.
# Arguments: the case, the directory of the test, the top of the project. Prints PASS, FAIL or SKIP
# and what was checked; the status is 0 unless the case itself broke down.

set -u

case_name=$1 work=$2 top=$3
shared=$CASTOFF_LAB_SHARED
# shellcheck source=tests/lab-verbs/waits.sh
. "$(dirname -- "$0")/waits.sh"

check() { # what command...
    local what="$case_name: $1"
    shift
    if "$@" >"$shared/checked" 2>&1; then
        echo "PASS $what"
    else
        echo "FAIL $what"
        tail -n 8 "$shared/checked" | cut -c 1-160 | sed 's/^/    /'
    fi
}

counter() { # port column (2 rx bytes, 3 tx bytes, 4 rx packets, 5 tx packets)
    lab-counters | awk -v port="$1" -v column="$2" '$1 == port { print $column }'
}

at_least() { # value least
    (($1 >= $2)) || ! echo "$1, not $2 or more"
}

less_than() { # value bound
    (($1 < $2)) || ! echo "$1, not below $2"
}

device_counter() { # guest name
    lab-device-counters "$1" | awk -v name="$2" '$1 == name { print $2 }'
}

device_is() { # guest state
    lab-in-guest "$1" ibv_devinfo -d rxe0 | tee "$shared/device.$1"
    grep -q "state:.*$2" "$shared/device.$1"
}

# Runs one side in guest 0 and the other in guest 1 when the first says that it is there. Both must succeed.
between() { # pattern server-command... -- client-command...
    local pattern=$1 server_command=() server status=0
    shift
    while [[ $1 != -- ]]; do
        server_command+=("$1")
        shift
    done
    shift
    : >"$shared/server"
    "${bounded[@]}" lab-in-guest 0 stdbuf -oL "${server_command[@]}" >"$shared/server" 2>&1 </dev/null &
    server=$!
    await_output "$shared/server" "$pattern" "$server"
    "${bounded[@]}" lab-in-guest 1 "$@" </dev/null || status=1
    wait "$server" || status=1
    ((status == 0)) || cat "$shared/server"
    return "$status"
}

check_agent() {
    local status=0
    lab-in-guest 1 sh -c 'cat; echo err >&2; exit 7' >"$shared/out" 2>"$shared/err" <<<"some input" || status=$?
    check "a command in a guest has its exit status" test "$status" -eq 7
    check "it gets its input and gives its output" grep -qx "some input" "$shared/out"
    check "its errors stay apart" grep -qx err "$shared/err"
    check "it has the caller's folder and environment" \
        test "$(cd /usr/share && GREETING='a b' lab-in-guest 1 sh -c 'echo "$PWD $GREETING"' </dev/null)" = "/usr/share a b"
    check "a megabyte passes unchanged both ways" \
        test "$(seq 200000 | lab-in-guest 2 cat | cksum)" = "$(seq 200000 | cksum)"
    lab-in-guest 2 /nonexistent/command 2>/dev/null </dev/null
    check "a missing command has status 127" test $? -eq 127
    lab-in-guest 2 sh -c 'kill -KILL $$' 2>/dev/null </dev/null
    check "a killed command has status 137" test $? -eq 137
    lab-in-guest 2 sh -c 'echo $$ >"$0"; exec sleep 1000' "$shared/sleeper" </dev/null &
    local caller=$!
    await_output "$shared/sleeper" . "$caller"
    kill "$caller"
    wait "$caller" 2>/dev/null
    check "a command ends when its caller goes away" \
        lab-in-guest 2 sh -c 'for i in $(seq 50); do kill -0 "$0" 2>/dev/null || exit 0; sleep 0.1; done; exit 1' \
        "$(cat "$shared/sleeper")"
    check "what a guest writes in the shared folder the others read" \
        test "$(lab-in-guest 3 sh -c 'echo shared >"$0"; cat "$0"' "$shared/said")$(cat "$shared/said")" = sharedshared
    check "this machine's files cannot be changed from a guest" \
        test "$(lab-in-guest 3 sh -c 'echo x >"$0"; cat "$0"' "$work/changed") $(ls "$work/changed" 2>&1 | wc -w)" != "x 1"
}

check_devices() {
    local guest
    for guest in 0 1 2 3; do
        check "g$guest has an active device" device_is "$guest" PORT_ACTIVE
    done
    check "its packets carry 4096 bytes" grep -q "active_mtu:.*4096" "$shared/device.3"
    check "memory may be locked without limit" test "$(lab-in-guest 1 bash -c 'ulimit -l')" = unlimited
}

# The fabric must have carried what the programs say they sent: 100 messages of 4096 bytes each way.
check_unicast() {
    local port device
    port=$(counter p1 3)
    device=$(device_counter 1 rcvd_pkts)
    # -c: the receiver compares every byte.
    check "RC: ping-pong between two guests" \
        between "local address" ibv_rc_pingpong -d rxe0 -g 1 -n 100 -c -- ibv_rc_pingpong -d rxe0 -g 1 -n 100 -c g0
    check "the port of the fabric counted it" at_least $(($(counter p1 3) - port)) 409600
    check "so did the device" at_least $(($(device_counter 1 rcvd_pkts) - device)) 100
    check "UD: ping-pong between two guests" \
        between "local address" ibv_ud_pingpong -d rxe0 -g 1 -n 100 -- ibv_ud_pingpong -d rxe0 -g 1 -n 100 g0
    check "rdma_cm and RDMA READ: rping between two guests" \
        between rdma_listen rping -s -a 10.78.0.1 -C 10 -V -d -- rping -c -a 10.78.0.1 -C 10 -V
}

multicast_passes() {
    between joined mckey -m 239.1.2.3 -c 1 -C 20 -S 1000 -- mckey -m 239.1.2.3 -s -c 1 -C 20 -S 1000
}

# Nothing reaches the receiver, which waits for ever; unicast goes on.
check_loss() {
    local packets bytes receiver
    lab-loss 0 1000 multicast
    : >"$shared/receiver"
    "${bounded[@]}" lab-in-guest 0 stdbuf -oL mckey -m 239.1.2.4 -c 1 -C 5 -S 1000 >"$shared/receiver" 2>&1 </dev/null &
    receiver=$!
    await_output "$shared/receiver" joined "$receiver"
    lab-in-guest 1 mckey -m 239.1.2.4 -s -c 1 -C 5 -S 1000 >/dev/null 2>&1 </dev/null
    read -r packets bytes < <(lab-loss-count 0)
    check "loss: multicast to a guest is dropped and counted" test "$packets" -eq 5
    check "loss: its bytes are counted" at_least "$bytes" 5000
    check "loss: the receiver is still waiting" kill -0 "$receiver"
    kill "$receiver"
    wait "$receiver" 2>/dev/null
    check "loss: unicast still passes" \
        between "local address" ibv_rc_pingpong -d rxe0 -g 1 -n 5 -c -- ibv_rc_pingpong -d rxe0 -g 1 -n 5 -c g0
    lab-loss 0 0
}

check_multicast() {
    local before guest
    before=$(counter p0 3)
    check "UD multicast with rdma_cm joins passes" multicast_passes
    check "the port counted it" at_least $(($(counter p0 3) - before)) 20000
    check "each message crossed it once" less_than $(($(counter p0 3) - before)) 40000
    check_loss
    check "UD multicast passes again without loss" multicast_passes
}

check_limits() {
    check "a megabyte can be registered" registers 1048576
    check "with 64 KiB to lock it cannot" registers_not 64 1048576
}

registers() { # bytes
    local server
    : >"$shared/registered"
    "${bounded[@]}" lab-in-guest 2 stdbuf -oL ibv_rc_pingpong -d rxe0 -g 1 -s "$1" >"$shared/registered" 2>&1 </dev/null &
    server=$!
    await_output "$shared/registered" "local address" "$server"
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    cat "$shared/registered"
    # It waits for a partner with all that it needs.
    grep -q "local address" "$shared/registered"
}

registers_not() { # KiB bytes
    "${bounded[@]}" lab-in-guest 2 lab-memlock "$1" ibv_rc_pingpong -d rxe0 -g 1 -s "$2" \
        >"$shared/registered" 2>&1 </dev/null
    cat "$shared/registered"
    grep -q "Couldn't register MR" "$shared/registered"
}

same_output() { # program ranks...
    cmp "$work/$1.native" "$shared/$1.out" || ! tail -n 5 "$shared/$1.err"
}

check_mpi() {
    local before status=0
    before=$(counter p1 2)
    check "stock MPI spans the guests" \
        test "$("${bounded[@]}" lab-mpirun -n 4 "$work/lab_sum" 2>"$shared/checked")" = "ranks 4 sum 6 hosts 4"
    check "none of it went over the fabric" less_than $(($(counter p1 2) - before)) 5000
    # castoff over UDP on the fabric: any rank that received a wrong byte fails the program.
    read -r -a arguments <<<"$CASTOFF_LAB_MPIRUN_ARGS"
    env $(compgen -e CASTOFF_LAB_ | sed 's/^/-u /') CASTOFF_TRANSPORT=udp CASTOFF_UDP_INTERFACE=eth0 \
        CASTOFF_PROBE=20s CASTOFF_BCAST=yes \
        CASTOFF_REPORT="$shared/report.json" "${bounded[@]}" "$top/build/castoff" mpirun "${arguments[@]}" -n 4 \
        "$top/build/tests/mpi/bcast_sizes" >"$shared/bcast_sizes.out" 2>"$shared/bcast_sizes.err" </dev/null || status=$?
    check "castoff runs a program of 4 ranks across the guests" test "$status" -eq 0
    check "its output is that of native MPI" same_output bcast_sizes
    check "the calls were taken, over UDP on the fabric" \
        grep -q 'udp: eth0 10.78.0.1' "$shared/report.json"
    check "the fabric carried it" at_least $(($(counter p1 2) - before)) 1000000
}

check_trouble() {
    local caller status
    lab-in-guest 2 ip link set eth0 down
    check "a port that is down says so" device_is 2 PORT_DOWN
    lab-in-guest 2 rdma link del rxe0
    check "a device can be removed" test "$(lab-in-guest 2 sh -c 'ls /sys/class/infiniband | wc -l')" = 0
    lab-in-guest 3 sh -c 'echo runs; exec sleep 1000' </dev/null >"$shared/caller" 2>/dev/null &
    caller=$!
    await_output "$shared/caller" runs "$caller"
    lab-kill-guest 3
    status=0
    wait "$caller" || status=$?
    check "a command in a guest that is killed ends with 255" test "$status" -eq 255
    lab-in-guest 3 true </dev/null 2>/dev/null
    check "a killed guest does not answer" test $? -eq 255
    check "the other guests do" lab-in-guest 1 true
    lab-link 0 down
    check "a link that is cut carries nothing" test "$(lab-in-guest 1 sh -c 'ping -c 1 -W 2 g0 >/dev/null 2>&1; echo $?')" != 0
    lab-link 0 up
}

check_verbs() {
    check_agent
    check_devices
    check_unicast
    check_multicast
    check_limits
    check_mpi
    check_trouble
}

check_poor() {
    check "without a device there is none" \
        test "$(lab-in-guest 0 sh -c 'ls /sys/class/infiniband 2>/dev/null | wc -l')" = 0
    check "the limit of locked memory is the chosen one" test "$(lab-in-guest 0 bash -c 'ulimit -l')" = 64
    check "the console can be read" grep -q "lab: guest ready" <(lab-console 0)
}

is_ended() { # idle-seconds cpu-seconds command...: as one that hangs
    lab-bounded "$@" </dev/null
    test $? -eq 124
}

# Works for several times as long as it may wait, in a guest whose processor two others use, too; it says nothing meanwhile.
slow_job_ends() {
    local burners=() status=0 turn
    for turn in 1 2; do
        sh -c 'while :; do :; done' &
        burners+=($!)
    done
    # shellcheck disable=SC2016
    lab-bounded 3 1000 lab-in-guest 0 python3 -c 'import time
while time.process_time() < 15: pass' </dev/null || status=$?
    kill "${burners[@]}"
    wait "${burners[@]}" 2>/dev/null
    return "$status"
}

check_bounds() {
    check "a command that waits in a guest is ended" is_ended 3 1000 lab-in-guest 0 sleep 100000
    check "one that spins there is ended" is_ended 1000 10 lab-in-guest 1 sh -c 'while :; do :; done'
    check "nothing of it is left" lab-in-guest 1 sh -c '! pgrep -f "while :; do" | grep -vx $$'
    check "a job of MPI that never ends is ended" \
        is_ended 1000 60 lab-mpirun -n 2 "$top/build/tests/mpi/trouble_survivors" 20000 "$shared"
    check "a job that is slow and moves is not ended" slow_job_ends
    check "a status comes through" test "$(lab-bounded 3 1000 lab-in-guest 1 sh -c 'exit 7' </dev/null; echo $?)" = 7
}

# As long as this lab may do nothing: the other one's guests are not seen from here.
await_file() {
    until [[ -e $1 ]]; do
        read -r -t 0.1 <> <(:)
    done
    return 0
}

check_side_by_side() { # own-name other-name
    : >"$work/up.$1"
    check "$1: the other lab is up meanwhile" await_file "$work/up.$2"
    check "$1: verbs pass" \
        between "local address" ibv_ud_pingpong -d rxe0 -g 1 -n 10 -- ibv_ud_pingpong -d rxe0 -g 1 -n 10 g0
    : >"$work/done.$1"
    check "$1: both were up to the end" await_file "$work/done.$2"
}

"check_$case_name" "${@:4}"
exit 0
