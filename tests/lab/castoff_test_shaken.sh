#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks of castoff_test_inside.sh, which sources this, on what passes: firewalls that refuse for a moment, ICMP of
# strangers, a link that is pulled and put back, a route that goes and comes. A healthy job ends with the right bytes.
# shellcheck disable=SC2034,SC2154 # variables of either

pause() { # seconds
    read -r -t "$1" <> <(:)
}

# Rounds go on after what has happened to them, with the right bytes to the end.
endure() { # what disturbance...
    local job what=$1
    begin_rounds 50000 "$shared/stop" CASTOFF_DEADLINE_S=120 ${settings[@]+"${settings[@]}"}
    "${@:2}" || fail "$what" "nothing happened: ${*:2}"
    await_rounds 2 "$job"
    : >"$shared/stop"
    end_rounds "$what" 4 'no error'
}

# ICMP messages that a host has sent of what could not be delivered to it.
refusals_sent() { # host
    lab-in-host "$1" awk '$1 == "Icmp:" && !column { for (i = 2; i <= NF; i++) if ($i == "OutDestUnreachs") column = i; next }
        $1 == "Icmp:" { print $column }' /proc/net/snmp
}

# Multicast cannot be refused that way: it is lost, and what is said by unicast to get it back is refused.
reject_at() { # host seconds times
    local before i
    before=$(refusals_sent "$1")
    for ((i = 0; i < $3; i++)); do
        lab-in-host "$1" nft 'add table ip r; add chain ip r i { type filter hook input priority 0; };
            add rule ip r i udp dport > 0 reject with icmp type port-unreachable'
        pause "$2"
        lab-in-host "$1" nft delete table ip r
        await_rounds 1 "$job"
    done
    (($(refusals_sent "$1") > before))
}

unicast_port() { # host
    lab-in-host "$1" awk -v address="$(printf '%02X004D0A' $(($1 + 1)))" \
        'index($2, address ":") == 1 { print substr($2, 10); exit }' /proc/net/udp
}

# Tells the hosts 1 and 2 of each other that they cannot be reached.
slander() { # seconds forges(0|1) [code]
    local ports=("" $((16#$(unicast_port 1))) $((16#$(unicast_port 2)))) to about from strangers=()
    for to in 1 2; do
        about=$((3 - to))
        from=()
        (($2 == 0)) || from=(--from "10.77.0.$((about + 1)):0")
        lab-inject 4 unreachable --to "10.77.0.$((to + 1)):${ports[to]}" \
            --about "10.77.0.$((about + 1)):${ports[about]}" "${from[@]}" --code "${3:-3}" --seed "$to" >"$shared/slander.$to" &
        strangers+=($!)
    done
    pause "$1"
    kill -TERM "${strangers[@]}"
    wait "${strangers[@]}"
    (($(cat "$shared/slander.1" "$shared/slander.2" | awk '{ sum += $1 } END { print sum + 0 }') > 100))
}

# Host h4 is no member of the job.
check_unreachable() {
    local settings=()
    endure "a stranger says that ports are unreachable" slander 2 0
    endure "a stranger says so in the name of the hosts" slander 3 1
    endure "a firewall that rejects for 50 ms" reject_at 2 0.05 1
    endure "a firewall that rejects for 50 ms, five times" reject_at 2 0.05 5
    endure "a stranger says that source routes failed" slander 2 0 5
    settings=(CASTOFF_REPORT="$shared/run.json")
    endure "a stranger says that hosts are unreachable" slander 2 0 1
    if report_says run "counters['send_refused'] == 0" 2>"$shared/why"; then
        pass "a stranger says that hosts are unreachable: nothing is lost by it"
    else
        fail "a stranger says that hosts are unreachable: nothing is lost by it" "$(cat "$shared/why")"
    fi
    settings=(CASTOFF_PROGRESS=caller)
    endure "a stranger says that ports are unreachable, callers alone" slander 2 0
    endure "a firewall that rejects for 50 ms, callers alone" reject_at 2 0.05 3
    settings=(CASTOFF_PROGRESS=threads)
    endure "a firewall that rejects for 50 ms, threads" reject_at 2 0.05 3
}

pull_link() { # host seconds
    lab-link "$1" down
    pause "$2"
    lab-link "$1" up
}

lose_route() { # host seconds
    lab-in-host "$1" ip route del 10.77.0.0/24 dev eth0 || return
    pause "$2"
    lab-in-host "$1" ip route add 10.77.0.0/24 dev eth0 src "10.77.0.$(($1 + 1))"
}

# Away over a neighbour that forwards nothing, and back.
change_route() { # host seconds
    lab-in-host "$1" ip route add 10.77.0.3/32 via 10.77.0.1 dev eth0 || return
    pause "$2"
    lab-in-host "$1" ip route del 10.77.0.3/32 via 10.77.0.1 dev eth0
}

# Of datagrams alone: sends fail with EPERM.
refuse_output() { # host seconds
    lab-in-host "$1" nft 'add table ip r; add chain ip r o { type filter hook output priority 0; };
        add rule ip r o udp dport > 0 drop'
    pause "$2"
    lab-in-host "$1" nft delete table ip r
}

case_shaken() {
    local settings=()
    endure "a link is down for 2 s" pull_link 2 2
    endure "a host has no route for 1 s" lose_route 2 1
    endure "a route leads astray for 1 s" change_route 1 1
    endure "a firewall refuses what a host sends for 1 s" refuse_output 2 1
    settings=(CASTOFF_PROGRESS=caller)
    endure "a link is down for 2 s, callers alone" pull_link 2 2
    endure "a host has no route for 1 s, callers alone" lose_route 2 1
    check_nothing_left "nothing is left"
}
