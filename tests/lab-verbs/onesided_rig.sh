# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the cases of onesided_test_inside.sh are made of: coordinator and hops raised and ended, their counters, files
# copied, checks. Sourced with the top of the project in $top, beside four guests.

castoff=$top/build/castoff
shared=$CASTOFF_LAB_SHARED
place=10.79.0.254
secret=$shared/secret
mib=${CASTOFF_TEST_ONESIDED_MIB:-128}
# Packets on their way to a guest: the whole file. One that waits for its turn of a core is not a loss.
queue=$((mib * 256 + 1000))
room=$((mib * 4 < 512 ? mib * 4 : 512)) # MiB of a hop's port, for the same
case_name=""
patience=60 # of senders and receivers, in seconds
coordinator=""
hops=()
receivers=()
ports=p0,p1,p2,p3 # of a hop in switch mode

# shellcheck source=tests/lab-verbs/waits.sh
. "$top/tests/lab-verbs/waits.sh"

check() { # what command...
    local what="$case_name: $1"
    shift
    if "$@" >"$shared/checked" 2>&1; then
        echo "PASS $what"
    else
        echo "FAIL $what"
        tail -n 12 "$shared/checked" "$shared/daemons" | cut -c 1-300 | sed 's/^/    /'
    fi
}

pause() { # seconds
    read -r -t "$1" <> <(:)
}

not() {
    ! "$@"
}

start_coordinator() {
    "$castoff" coordinator --listen "$place" --secret "$secret" --lease 3 2>>"$shared/daemons" &
    coordinator=$!
    await status
}

status() {
    "$castoff" coordinator status --coordinator "$place" --secret "$secret" >"$shared/status" 2>&1
}

# Of the coordinator's status: the sum of a counter over all hops.
counter() { # name
    status
    awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) sum += $(i + 1) } END { print sum + 0 }' "$shared/status"
}

is() { # counter value
    local value
    value=$(counter "$1")
    ((value == $2)) || { echo "$1 is $value, not $2"; return 1; }
}

is_at_least() { # counter value
    local value
    value=$(counter "$1")
    ((value >= $2)) || { echo "$1 is $value, less than $2"; return 1; }
}

# Reports come once a second.
settles() { # counter value
    await is "$@" >/dev/null || is "$@"
}

start_hop() { # options...
    "$castoff" hop --coordinator "$place" --secret "$secret" --room "$room" "$@" 2>>"$shared/daemons" &
    hops+=($!)
}

await_hops() { # how many
    await is_at_least hops "$1" >/dev/null
}

end_hops() {
    local hop
    for hop in "${hops[@]}"; do
        kill "$hop" 2>/dev/null
        wait "$hop" 2>/dev/null
    done
    hops=()
}

end_daemons() {
    end_hops
    kill "$coordinator" 2>/dev/null
    wait "$coordinator" 2>/dev/null
}

# The hop is the switch: the taps belong to no bridge.
as_switch() { # options of the hop...
    local i
    for i in 0 1 2 3; do
        ip link set "p$i" nomaster
        ip link set "p$i" txqueuelen "$queue"
    done
    start_hop --name fabric --switch "$ports" "$@"
    await_hops 1
}

# A hop between each receiver and the bridge, which floods what is for a group.
as_nics() {
    local i
    ip link set p0 master fabric
    for i in 1 2 3; do
        ip link set "p$i" nomaster
        ip link set "p$i" txqueuelen "$queue"
        ip link add "w$i" mtu 4500 type veth peer name "n$i" mtu 4500
        ip link set "w$i" master fabric up
        ip link set "n$i" up
        start_hop --name "nic$i" --nic "n$i,p$i" --serves "10.78.0.$((i + 1))"
    done
    await_hops 3
}

make_file() { # MiB
    head -c $(($1 << 20)) /dev/urandom >"$shared/file"
}

receive() { # group guest...
    local group=$1 guest
    shift
    for guest in "$@"; do
        rm -f "$shared/said.$group.$guest"
        "${bounded[@]}" lab-in-guest "$guest" "$castoff" onesided-copy --coordinator "$place" --secret "$secret" \
            --group "$group" --name "g$guest" --patience "$patience" --receive "/tmp/out.$group" >"$shared/said.$group.$guest" 2>&1 &
        receivers[guest]=$!
    done
}

send() { # group receivers options...
    local group=$1 count=$2
    shift 2
    "${bounded[@]}" lab-in-guest 0 "$castoff" onesided-copy --coordinator "$place" --secret "$secret" --group "$group" \
        --name g0 --patience "$patience" --to "$count" "$@" "$shared/file" >"$shared/said.$group.0" 2>&1
}

received() { # group guest...
    local group=$1 guest
    shift
    for guest in "$@"; do
        wait "${receivers[guest]}" && lab-in-guest "$guest" cmp "/tmp/out.$group" "$shared/file" ||
            { echo "g$guest: $(cat "$shared/said.$group.$guest")"; return 1; }
    done
}

said() { # group guest pattern
    cat "$shared/said.$1.$2"
    grep -q -- "$3" "$shared/said.$1.$2"
}

# How many chunks the sender has written, those that it wrote again with them: a machine that is busy loses some.
written() {
    sed -n 's/.*(\([0-9]*\) chunks written.*/\1/p' "$shared/said.file.0"
}

is_between() { # counter least most
    local value
    value=$(counter "$1")
    ((value >= $2 && value <= $3)) || { echo "$1 is $value, not from $2 to $3"; return 1; }
}

# Each packet of the sender's is counted once for each time that it was written, at most, and every packet of the file
# once at least: so often as there are chunks, if nothing was lost, no more and no less. A packet has 4096 bytes, a chunk
# 16 of them; before the file goes a head of one packet, which may be written again like the rest.
expect_packets() { # counter times MiB
    local again=$(($(written) - $3 * 16))
    check "$1: $2 for each packet that the sender wrote ($again chunks again)" \
        await is_between "$1" $(($2 * ($3 * 256 + 1))) $(($2 * ($(written) * 16 + 1 + (again > 0 ? 4 : 0))))
}

copies_to_three() { # MiB
    make_file "$1"
    receive file 1 2 3
    check "$1 MiB to three receivers" send file 3
    check "every byte is there at each of them" received file 1 2 3
}

# What was counted, a line each, for those who read along and for bench/figures/M26.sh.
say_counts() { # bytes of the sender's port
    echo "$case_name sender $(sed 's/^[^:]*: //' "$shared/said.file.0" | paste -sd ' ')"
    for guest in 1 2 3; do
        echo "$case_name receiver $(sed 's/^[^:]*: //' "$shared/said.file.$guest" | paste -sd ' ')"
    done
    echo "$case_name counts group_packets $(counter group_packets) copies $(counter copies) overruns $(counter overruns)" \
        "rules_now $(counter rules_now) port_bytes $1 file_bytes $((mib << 20)) chunks_written $(written)"
}

# Slowly, so that something happens in the middle of it.
begin_slowly() { # MiB receivers...
    make_file "$1"
    shift
    receive file "$@"
    send file $# --rate 1000000 &
    sender=$!
    await grep -q "group file: open" "$shared/daemons"
    pause 1.5
}

# How often the receivers have been given a processor since they began.
switches() {
    local guest
    for guest in 1 2 3; do
        lab-in-guest "$guest" sh -c "awk '/^Name:/ { mine = \$2 == \"castoff\" } mine && /ctxt_switches/ { print \$2 }' \\
            /proc/[0-9]*/status"
    done | paste -sd ' '
}

# Of the status's lines on this group: the word behind a word.
of_group() { # group word
    awk -v group="$1" -v name="$2" '
        $1 == "group" { mine = $2 == group }
        $1 == "group" && mine || $1 == "sender" && mine || $1 == "rule" && $4 == group {
            for (i = 1; i < NF; i++) if ($i == name) print $(i + 1)
        }' "$shared/status" | head -n 1
}
