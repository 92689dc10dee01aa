#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The checks of onesided_test.sh that run in a laboratory, as its command beside four guests: g0 sends, g1 to g3 receive,
# coordinator and hop run on this machine in the lab's network. Arguments: the top of the project, then cases. Prints PASS
# or FAIL and what was checked, and with each failure what coordinator and hop have said.

set -u

top=$1
shift
cases=("$@")
((${#cases[@]} > 0)) ||
    cases=(refusals switch asleep loss forged hop_killed member_killed coordinator_killed two_groups nic)
castoff=$top/build/castoff
shared=$CASTOFF_LAB_SHARED
place=10.79.0.254
secret=$shared/secret
mib=${CASTOFF_TEST_ONESIDED_MIB:-128}
# Packets on their way to a guest: the whole file. One that waits for its turn of a core is not a loss.
queue=$((mib * 256 + 1000))
room=$((mib * 4 < 512 ? mib * 4 : 512)) # MiB of a hop's port, for the same
case_name=""
coordinator=""
hops=()

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

await() { # seconds command...
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        pause 0.1
    done
}

start_coordinator() {
    "$castoff" coordinator --listen "$place" --secret "$secret" --lease 3 2>>"$shared/daemons" &
    coordinator=$!
    await 30 status
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
    await 20 is "$@" >/dev/null || is "$@"
}

start_hop() { # options...
    "$castoff" hop --coordinator "$place" --secret "$secret" --room "$room" "$@" 2>>"$shared/daemons" &
    hops+=($!)
}

await_hops() { # how many
    await 30 is_at_least hops "$1" >/dev/null
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

ports=p0,p1,p2,p3

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
        timeout 200 lab-in-guest "$guest" "$castoff" onesided-copy --coordinator "$place" --secret "$secret" \
            --group "$group" --name "g$guest" --patience 60 --receive "/tmp/out.$group" >"$shared/said.$group.$guest" 2>&1 &
        receivers[guest]=$!
    done
}

send() { # group receivers options...
    local group=$1 count=$2
    shift 2
    timeout 200 lab-in-guest 0 "$castoff" onesided-copy --coordinator "$place" --secret "$secret" --group "$group" \
        --name g0 --patience 60 --to "$count" "$@" "$shared/file" >"$shared/said.$group.0" 2>&1
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
        await 20 is_between "$1" $(($2 * ($3 * 256 + 1))) $(($2 * ($(written) * 16 + 1 + (again > 0 ? 4 : 0))))
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

case_switch() {
    start_coordinator
    as_switch
    local before after
    before=$(lab-counters | awk '$1 == "p0" { print $2 }')
    copies_to_three "$mib"
    after=$(lab-counters | awk '$1 == "p0" { print $2 }')
    expect_packets group_packets 1 "$mib"
    expect_packets copies 3 "$mib"
    # 74 bytes of headers and checksum on 4096; ARP and the like are not worth a percent.
    check "the sender's port carried what it wrote once" test $(((after - before) * 100)) -le $((($(written) << 16) * 103))
    check "no rule is left" settles rules_now 0
    check "no group is left" is groups 0
    say_counts $((after - before))
    check "castoff coordinator says who served" grep -q "^hop fabric at .* mode switch" "$shared/status"
    end_daemons
}

case_nic() {
    start_coordinator
    as_nics
    local before after
    before=$(lab-counters | awk '$1 == "p0" { print $2 }')
    copies_to_three "$mib"
    after=$(lab-counters | awk '$1 == "p0" { print $2 }')
    expect_packets copies 3 "$mib"
    check "no rule is left" settles rules_now 0
    say_counts $((after - before))
    end_daemons
}

case_loss() {
    start_coordinator
    as_switch --loss 0.002 --seed 7
    copies_to_three 8
    check "copies were lost" is_at_least lost_on_purpose 1
    check "chunks were written again" said file 0 "([0-9]* chunks written, [1-9][0-9]* of them again"
    check "no rule is left" settles rules_now 0
    end_daemons
}

# Slowly, so that something happens in the middle of it.
begin_slowly() { # MiB receivers...
    make_file "$1"
    shift
    receive file "$@"
    send file $# --rate 1000000 &
    sender=$!
    await 60 grep -q "group file: open" "$shared/daemons"
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

# A process that sleeps all the time runs no instruction.
case_asleep() {
    start_coordinator
    as_switch
    begin_slowly 20 1 2 3
    local before after copies
    before=$(switches)
    copies=$(counter copies)
    pause 3
    after=$(switches)
    check "meanwhile packets have come" is_at_least copies $((copies + 300))
    copies=$(($(counter copies) - copies))
    check "the receivers slept while they were written" test "$before" = "$after"
    check "there are three of them" test "$(wc -w <<<"$after")" -eq 6
    check "and the copy has gone on" kill -0 "$sender"
    echo "asleep counts copies $copies switches_before ${before// /,} switches_after ${after// /,}"
    check "the copy ends well" wait "$sender"
    check "every byte is there at each of them" received file 1 2 3
    end_daemons
}

# Of the status's lines on this group: the word behind a word.
of_group() { # group word
    awk -v group="$1" -v name="$2" '
        $1 == "group" { mine = $2 == group }
        $1 == "group" && mine || $1 == "sender" && mine || $1 == "rule" && $4 == group {
            for (i = 1; i < NF; i++) if ($i == name) print $(i + 1)
        }' "$shared/status" | head -n 1
}

# Somebody beside the guests, at a port of the hop's, sends what he likes to the group while it is written.
case_forged() {
    ip link add x0 mtu 4500 type veth peer name x1 mtu 4500
    ip link set x0 up
    ip link set x1 up
    ports=p0,p1,p2,p3,x0
    start_coordinator
    as_switch
    begin_slowly 16 1 2 3
    status
    check "forged frames are sent to the group while it is written" "$top/build/tests/lab-verbs/forge_frames" x1 \
        "$(of_group file address)" "$(of_group file qpn)" 10.78.0.1 20000 7
    await 20 is_at_least malformed 2000 >/dev/null
    local verdict
    for verdict in damaged foreign opcode sequence; do
        check "$verdict: kept out and counted" test "$(of_group file "$verdict")" -gt 1000
    done
    check "malformed: kept out and counted" is_at_least malformed 2000
    check "the copy ends well" wait "$sender"
    check "every byte is there at each of them" received file 1 2 3
    check "no rule is left" settles rules_now 0
    check "the hop is the same one, and lives" kill -0 "${hops[0]}"
    end_daemons
    ports=p0,p1,p2,p3
    ip link del x0
}

case_hop_killed() {
    start_coordinator
    as_switch
    begin_slowly 8 1 2 3
    kill -KILL "${hops[0]}"
    wait "${hops[0]}" 2>/dev/null
    hops=()
    pause 1
    as_switch
    check "the hop was killed and came back: the copy ends well" wait "$sender"
    check "every byte is there at each of them" received file 1 2 3
    check "chunks were written again" said file 0 "([0-9]* chunks written, [1-9][0-9]* of them again"
    check "no rule is left" settles rules_now 0
    end_daemons
}

case_member_killed() {
    start_coordinator
    as_switch
    begin_slowly 8 1 2 3
    kill "${receivers[3]}" # lab-in-guest ends what it has started
    check "a member is killed: the copy says so" not wait "$sender"
    check "with its name" said file 0 "1 members were lost (g3); the others have everything"
    check "the others have every byte" received file 1 2
    check "no rule is left" settles rules_now 0
    wait "${receivers[3]}" 2>/dev/null
    end_daemons
}

not() {
    ! "$@"
}

case_coordinator_killed() {
    start_coordinator
    as_switch
    begin_slowly 8 1 2
    kill -KILL "$coordinator"
    wait "$coordinator" 2>/dev/null
    check "the coordinator is killed: the sender ends" not wait "$sender"
    check "and says why" said file 0 "coordinator 10.79.0.254:4793: "
    check "so do the receivers" not wait "${receivers[1]}"
    wait "${receivers[2]}" 2>/dev/null
    start_coordinator
    await_hops 1
    check "another one finds a hop without rules" settles rules_now 0
    copies_to_three 2
    end_daemons
}

case_two_groups() {
    start_coordinator
    as_switch
    make_file 4
    receive first 1 2
    receive second 3
    send first 2 &
    sender=$!
    timeout 200 lab-in-guest 0 "$castoff" onesided-copy --coordinator "$place" --secret "$secret" --group second \
        --name other --patience 60 --to 1 "$shared/file" >"$shared/said.second.0" 2>&1
    check "two groups at once: the second one's sender" test $? -eq 0
    check "two groups at once: the first one's sender" wait "$sender"
    check "the first one's receivers" received first 1 2
    check "the second one's receiver" received second 3
    check "no rule is left" settles rules_now 0
    end_daemons
}

case_refusals() {
    start_coordinator
    make_file 1
    check "no hop: refused" not send file 1
    check "no hop: it says so" said file 0 "group file.head: no hop is connected"
    as_switch --rules 1 --actions 2
    head -c 32 /dev/urandom >"$shared/other" && chmod 600 "$shared/other"
    check "another secret: refused" not send file 1 --secret "$shared/other"
    check "another secret: it says so" said file 0 "the other end has another secret"
    check "nobody comes: refused in time" not send file 1 --patience 2
    check "nobody comes: it says so" said file 0 "0 of 1 members have joined in time"
    receive file 1 2 3
    check "a full table: refused" not send file 3
    check "a full table: it says so" said file 0 "hop fabric: the table is full: 0 of 1 rules, 0 of 2 actions, and 3 more"
    wait "${receivers[1]}" "${receivers[2]}" "${receivers[3]}"
    check "a full table: the receivers hear it, too" said file 2 "the table is full"
    end_daemons
}

receivers=()
head -c 32 /dev/urandom >"$secret"
chmod 600 "$secret"
for case_name in "${cases[@]}"; do
    : >"$shared/daemons"
    began=$SECONDS
    "case_$case_name"
    echo "($case_name: $((SECONDS - began)) s)"
done
