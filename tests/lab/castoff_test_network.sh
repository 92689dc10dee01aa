# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff info --check across the hosts of a laboratory: what it says, and its status, where multicast passes, where some is
# lost, where a host hears none, where it stops during the check, and where a host does not answer. Sourced by
# castoff_test_inside.sh.

# Its output is $shared/network.out; sets status.
check_network() { # option... host...
    local words
    words=$(sed 's/--host [^ ]* //' <<<"${lab_arguments[*]}")
    status=0
    "${bounded[@]}" "$castoff" info --check --mpirun-options "$words" "$@" \
        >"$shared/network.out" 2>"$shared/network.err" </dev/null || status=$?
    return "$status"
}

network_says() { # what status pattern...
    local what=$1 expected=$2 pattern
    shift 2
    ((status == expected)) || { fail "$what" "status $status" network; return; }
    for pattern in "$@"; do
        grep -qE "$pattern" "$shared/network.out" "$shared/network.err" || { fail "$what" "nothing says $pattern" network; return; }
    done
    pass "$what"
}

# Bytes that the port to host h1 has let through.
bytes_to_h1() {
    lab-counters | awk '$1 == "p1" { print $3 }'
}

# A check during which something changes, when the job has moved bytes: `command HOST argument` for all hosts but h0.
check_amid() { # seconds command argument
    local background before host is_over=""
    check_network --seconds "$1" h0 h1 h2 h3 &
    background=$!
    before=$(bytes_to_h1)
    until (($(bytes_to_h1) > before + 30000000)); do
        kill -0 "$background" 2>/dev/null || { is_over=yes && break; }
        read -r -t 0.05 <> <(:)
    done
    for host in 1 2 3; do
        "$2" "$host" "$3"
    done
    status=0
    wait "$background" || status=$?
    [[ -z $is_over ]] || status=200 # over before anything changed
}

# As much as the links carry in seconds: ten rounds of 1 MiB are minutes here.
case_slow_network() {
    local status
    check_network --seconds 1 h0 h1 h2
    network_says "info --check: slow links" 0 '^multicast  *passes between all 3 hosts$' \
        '^rate  *[1-9][0-9.]* Mbit/s for broadcasts of (16|32|64|128|256) KiB, by stock MPI [0-9.]* Mbit/s$'
    check_nothing_left "nothing is left"
}

case_network() {
    local status passes='^multicast  *passes between all 4 hosts$' host
    local lost='what comes to it is lost to [2-8]\.[0-9] %, between others to 0\.[0-4] %: its cable'
    check_network --seconds 1 h0 h1 h2 h3
    network_says "info --check: multicast passes" 0 "$passes" '^host  *h3: eth0, MTU 1500, ' \
        '^rate  *[1-9][0-9.]* Mbit/s for broadcasts of [1-9][0-9]* KiB, by stock MPI [0-9.]* Mbit/s$' '^loss  *[0-9.]* % '
    for host in 1 2 3; do
        lab-loss "$host" 50
    done
    check_network --seconds 1 h0 h1 h2 h3
    network_says "info --check: losses" 1 "$passes" '^loss  *[1-9][0-9.]* % ' "^to change  *h1: $lost" "^to change  *h2: $lost" "^to change  *h3: $lost"
    # Broadcasts become much slower, those of stock do not: and yet multicast is heard.
    check_amid 10 lab-loss 300
    network_says "info --check: losses that grow" 1 "$passes" '^loss  *[1-9][0-9.]* % ' "^to change  *h2: $lost"
    for host in 1 2 3; do
        lab-loss "$host" 0
    done

    check_amid 30 lab-multicast off
    network_says "info --check: multicast that stops" 1 '^multicast  *passed between all 4 hosts, and stopped' '^to change  *a switch that snoops forgets members'
    export CASTOFF_PROBE=5s
    lab-multicast 1 on
    lab-multicast 3 on
    check_network --seconds 1 h0 h1 h2 h3
    network_says "info --check: a host that hears none" 1 '^multicast  *does not pass: h2 hears no multicast$' \
        '^to change  *h2: multicast datagrams come to it and are dropped there'
    lab-multicast 2 on
    check_network --seconds 1 h0 h1 nobody
    network_says "info --check: a host that is none" 1 '^castoff info: the job over the hosts ended with status '
    check_network --seconds 1 h0
    network_says "info --check: one host" 2 '^castoff info: there is one host: '
    check_nothing_left "info --check: nothing is left"
}
