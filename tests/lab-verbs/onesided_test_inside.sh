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
    cases=(refusals switch asleep slow loss forged hop_killed member_killed stopped coordinator_killed two_groups nic \
        mpi mpi_loss mpi_refusals mpi_threads mpi_hop_killed mpi_coordinator_killed mpi_member_killed)
# shellcheck source=tests/lab-verbs/onesided_rig.sh
. "$top/tests/lab-verbs/onesided_rig.sh"
# shellcheck source=tests/lab-verbs/onesided_mpi_cases.sh
. "$top/tests/lab-verbs/onesided_mpi_cases.sh"

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

# Nothing is said while the sender writes, for longer than anybody waits: what comes is a sign of life, too.
case_slow() {
    local patience=8
    start_coordinator
    as_switch
    begin_slowly 20 1 2 3
    check "a transfer that takes longer than the patience ends well" wait "$sender"
    check "every byte is there at each of them" received file 1 2 3
    end_daemons
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
    await is_at_least malformed 2000 >/dev/null
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

# For longer than a lease, which is how anybody else finds out, and then on. Each time the rules have gone meanwhile.
case_stopped() {
    local before
    start_coordinator
    as_switch
    begin_slowly 8 1 2 3
    kill -STOP "${hops[0]}"
    check "the hop is stopped: its lease ends" await grep -q "the hop is silent: its lease has ended" "$shared/daemons"
    kill -CONT "${hops[0]}"
    check "it goes on: the copy ends well" wait "$sender"
    check "every byte is there at each of them" received file 1 2 3
    : >"$shared/daemons"
    begin_slowly 8 1 2 3
    kill -STOP "$coordinator"
    check "the coordinator is stopped: the hop goes" await grep -q "silent: the lease has ended" "$shared/daemons"
    kill -CONT "$coordinator"
    check "it goes on: the copy ends well again" wait "$sender"
    check "every byte is there again at each of them" received file 1 2 3
    : >"$shared/daemons"
    before=$(counter group_packets)
    begin_slowly 4 1 2 3
    lab-in-guest 2 pkill -STOP castoff
    check "a receiver is stopped: all has been written" \
        await is_at_least group_packets $((before + 1025))
    lab-in-guest 2 pkill -CONT castoff
    check "it goes on: the copy ends well once more" wait "$sender"
    check "every byte is there once more at each of them" received file 1 2 3
    check "no rule is left" settles rules_now 0
    end_daemons
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
    "${bounded[@]}" lab-in-guest 0 "$castoff" onesided-copy --coordinator "$place" --secret "$secret" --group second \
        --name other --patience "$patience" --to 1 "$shared/file" >"$shared/said.second.0" 2>&1
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

head -c 32 /dev/urandom >"$secret"
chmod 600 "$secret"
for case_name in "${cases[@]}"; do
    : >"$shared/daemons"
    began=$SECONDS
    "case_$case_name"
    echo "($case_name: $((SECONDS - began)) s)"
done
