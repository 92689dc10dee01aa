#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks of castoff_test_inside.sh, which sources this, beside a stranger on the network who sends junk, and what others
# sent, again or damaged.
# shellcheck disable=SC2034,SC2154 # variables of either

# Port of the group that a job on host h1 listens to; nothing while there is none.
multicast_port() {
    local address
    address=$(lab-in-host 1 awk '$2 ~ /EF:/ { print $2; exit }' /proc/net/udp)
    [[ -z $address ]] || echo $((16#${address#*:}))
}

multicast_address() {
    local address
    address=$(lab-in-host 1 awk '$2 ~ /EF:/ { print $2; exit }' /proc/net/udp)
    [[ -n $address ]] || return 0
    printf '%d.%d.%d.%d' "0x${address:6:2}" "0x${address:4:2}" "0x${address:2:2}" "0x${address:0:2}"
}

# A run of four ranks while host h4, which has none, sends at full rate: what repeats others' datagrams listens before
# the job starts, what makes them up begins when the job's sockets are open, and the job's broadcasts begin after it.
run_attacked() { # inject-arguments... (GROUP, PORT and UNICAST stand for the job's); sets status and sent
    local job attacker="" arguments group begun=$shared/attack_begun
    status=0 sent=0
    rm -f "$begun"
    : >"$shared/inject"
    if [[ $1 == mirror ]]; then
        lab-inject 4 "$@" >"$shared/inject" &
        attacker=$!
        await_text ready "$shared/inject"
    fi
    launch run 4 "bcast_rotating $begun" &
    job=$!
    if [[ -z $attacker ]] && await_ranks 4 && group=$(multicast_address) && [[ -n $group ]]; then
        arguments=("${@//GROUP/$group}")
        arguments=("${arguments[@]//UNICAST/$((16#0$(unicast_port 1)))}")
        lab-inject 4 "${arguments[@]//PORT/$(multicast_port)}" >"$shared/inject" &
        attacker=$!
        await_text ready "$shared/inject"
    fi
    : >"$begun"
    wait "$job" || status=$?
    if [[ -n $attacker ]]; then
        kill -TERM "$attacker" && wait "$attacker"
    fi
    sent=$(grep -oE '^[0-9]+' "$shared/inject")
    sent=${sent:-0}
}

await_text() { # text file
    local deadline=$((SECONDS + 200))
    until grep -q "$1" "$2"; do
        ((SECONDS < deadline)) || return 1
        read -r -t 0.02 <> <(:)
    done
}

# On a busy machine a job may be over before what repeats its datagrams has come to that: then there was no attack, and the
# next one is. One that floods all hosts of it at full rate may keep them from moving for a while, and it is true that they say so.
check_attack() { # what condition inject-arguments...
    local what=$1 condition=$2 status sent tries bearable=""
    shift 2
    [[ $1 != send ]] || bearable=' warn: no progress in MPI_[A-Za-z]+ for [0-9]+ s: '
    for ((tries = 0; tries < 12; tries++)); do
        run_attacked "$@"
        ((status == 0)) || break
        ((sent < 100)) || ! report_says run "$condition" 2>/dev/null || break
    done
    if ((sent < 100)); then
        fail "$what" "the attacker sent $sent datagrams"
    else
        judge "$what" run "$status" 4 bcast_rotating "$multicast_used and $condition"
    fi
}

case_hostile() {
    local dropped="counters['dropped_malformed'] + counters['dropped_not_authentic'] + counters['dropped_foreign']"
    # Each by what alone drops it: what is asked at the start, and the end of a block, are control messages to the group.
    local replays_seen="counters['data_chunks_duplicate'] + counters['data_chunks_stale'] > 0 and counters['dropped_replayed'] > 0"
    # It is built at its first use.
    lab-inject 4 send --to 10.77.0.1:9 --count 1 >/dev/null
    check_attack "junk" "$dropped > 0" send --to GROUP:PORT --from 10.77.0.1:PORT
    check_attack "junk of a member's size" "$dropped > 0" send --to GROUP:PORT --from 10.77.0.2:PORT --bytes 1472
    check_attack "junk for a rank's own port" "$dropped > 0" send --to 10.77.0.2:UNICAST --from 10.77.0.1:PORT --bytes 40
    check_attack "replayed datagrams" "$replays_seen" mirror --as replay
    check_attack "datagrams cut short" "$dropped > 0" mirror --as truncate
    check_attack "datagrams with a flipped bit" "$dropped > 0" mirror --as flip
    check_unreachable
}
