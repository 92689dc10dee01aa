# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The switches of a laboratory: bridges, links to the hosts, links between switches, shaping, static
# routes of the fat tree, and snooping with its querier. Part of raise.sh, which runs in the network
# namespace of the switches; uses its host_pids, try and fail.
#
# Fat tree: every leaf has a link to every spine. A host's unicast frames take the spine (index mod
# spines), by static entries on every switch, as routing tables of a real fabric do; everything that
# is flooded or multicast passes spine 0 alone. So there is no loop though no spanning tree runs.

host_leaf() { # host-index: its leaf, contiguous blocks
    echo $(($1 * leaves / LAB_HOSTS))
}

host_address() {
    printf '02:ca:00:00:00:%02x' $(($1 + 1))
}

shape() { # device rate
    [[ $2 == none ]] ||
        try tc qdisc add dev "$1" root tbf rate "$2" burst 64k latency "${LAB_QUEUE}ms"
}

# One querier for the whole fabric, with an address: switches do not take the port towards a querier
# without one for a router port. It floods for one response interval after it is switched on, so the
# short intervals come first, in a step of their own.
add_switch() { # name snoops is-querier
    try ip link add name "$1" type bridge mcast_snooping "$2"
    if (($3 == 1)); then
        try ip link set "$1" type bridge mcast_query_response_interval 50 \
            mcast_query_interval 1000 mcast_startup_query_interval 100 mcast_query_use_ifaddr 1
        try ip link set "$1" type bridge mcast_querier 1
        try ip addr add 10.77.0.254/24 dev "$1"
    fi
    try ip link set "$1" up
}

# Interfaces are listed in the order in which they were made.
add_decoy() { # host-index
    try nsenter --target "${host_pids[$1]}" --net ip -batch - <<'BATCH'
link add name decoy0 type veth peer name decoy1
addr add 172.17.0.1/16 dev decoy0
link set decoy0 up
link set decoy1 up
BATCH
}

connect_host() { # host-index switch
    local segment=""
    ((LAB_DECOY == 0)) || add_decoy "$1"
    ((LAB_SEGMENT == 0)) || segment="gso_max_segs 1"
    try ip -batch - <<BATCH
link add name p$1 type veth peer name eth0 address $(host_address "$1") netns ${host_pids[$1]}
link set p$1 master $2
link set p$1 $segment up
BATCH
    shape "p$1" "$LAB_RATE"
    echo "p$1 h$1" >>"$LAB_DIR/ports"
}

connect_leaf() { # leaf spine
    local down="l$1s$2" up="s$2l$1"
    try ip -batch - <<BATCH
link add name $down type veth peer name $up
link set $down master leaf$1
link set $up master spine$2
link set $down up
link set $up up
BATCH
    shape "$down" "$LAB_UPLINK_RATE"
    shape "$up" "$LAB_UPLINK_RATE"
    try bridge link set dev "$down" learning off
    try bridge link set dev "$up" learning off
    if (($2 > 0)); then
        try bridge link set dev "$down" flood off mcast_flood off bcast_flood off
        try bridge link set dev "$up" flood off mcast_flood off bcast_flood off
    fi
    echo "$down $up" >>"$LAB_DIR/ports"
}

route_fat_tree() {
    local host leaf spine home
    for ((host = 0; host < LAB_HOSTS; host++)); do
        home=$(host_leaf "$host")
        for ((spine = 0; spine < LAB_SPINES; spine++)); do
            echo "fdb add $(host_address "$host") dev s${spine}l$home master static"
        done
        for ((leaf = 0; leaf < leaves; leaf++)); do
            ((leaf == home)) ||
                echo "fdb add $(host_address "$host") dev l${leaf}s$((host % LAB_SPINES)) master static"
        done
    done | bridge -batch - || fail "static routes of the fat tree"
}

raise_switches() {
    local i j
    leaves=$LAB_LEAVES
    try ip link set lo up
    [[ ! -w /proc/sys/net/ipv6/conf/default/disable_ipv6 ]] ||
        echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
    if [[ $LAB_TOPOLOGY == flat ]]; then
        leaves=1
        add_switch leaf0 "$LAB_SNOOPING" "$LAB_SNOOPING"
    else
        for ((i = 0; i < leaves; i++)); do
            add_switch "leaf$i" "$LAB_SNOOPING" 0
        done
        for ((i = 0; i < LAB_SPINES; i++)); do
            add_switch "spine$i" $((i == 0 ? LAB_SNOOPING : 0)) $((i == 0 ? LAB_SNOOPING : 0))
            for ((j = 0; j < leaves; j++)); do
                connect_leaf "$j" "$i"
            done
        done
    fi
    for ((i = 0; i < LAB_HOSTS; i++)); do
        connect_host "$i" "leaf$(host_leaf "$i")"
    done
    [[ $LAB_TOPOLOGY == flat ]] || route_fat_tree
}

port_counter() { # device: packets and bytes that left the switch here
    awk -v device="$1:" '$1 == device { print $11, $10 }' /proc/net/dev
}

# True when a datagram for a group without members, sent by a host, stays off another port of its
# switch. The same host then sends one that every switch floods (224.0.0.0/24); links keep order, so
# once the flooded one is through, the big one before it was held back for good.
holds_back_strangers() { # sender-index other-port
    local before_packets before_bytes packets bytes tries=0
    read -r before_packets before_bytes < <(port_counter "$2")
    # shellcheck disable=SC2016
    nsenter --target "${host_pids[$1]}" --net bash -c \
        'printf "%01000d" 0 >/dev/udp/239.77.77.77/9 && printf x >/dev/udp/224.0.0.77/9' || return 1
    packets=$before_packets
    while ((packets == before_packets)); do
        ((tries++ < 100)) || return 1
        pause 0.01
        read -r packets bytes < <(port_counter "$2")
    done
    ((bytes - before_bytes < 1000))
}

pause() { # seconds; a read that nothing answers costs no process of its own
    read -r -t "$1" <> <(:)
}

leaf_is_ready() { # leaf
    local host first=-1
    if [[ $LAB_TOPOLOGY == fat-tree ]]; then
        bridge -d mdb show dev "leaf$1" | grep -q "router ports on leaf$1:.*l$1s0" || return 1
    fi
    for ((host = 0; host < LAB_HOSTS; host++)); do
        (($(host_leaf "$host") == $1)) || continue
        if ((first >= 0)); then
            holds_back_strangers "$first" "p$host"
            return
        fi
        first=$host
    done
    return 0
}

await() { # what-for command...
    local what=$1 deadline=$((SECONDS + 300))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || fail "the querier did not become effective on $what"
        pause 0.05
    done
}

# A lab that began before its switches had stopped flooding would show traffic that snooping is
# about to stop.
await_queriers() {
    local leaf
    for ((leaf = 0; leaf < leaves; leaf++)); do
        await "leaf$leaf" leaf_is_ready "$leaf"
    done
    [[ $LAB_TOPOLOGY == flat ]] || await spine0 holds_back_strangers 0 s0l1
}
