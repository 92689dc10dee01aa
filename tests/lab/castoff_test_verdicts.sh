# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff info --check where something is wrong: every fault at the first host, one in the middle and the last one has the
# line that names it, its direction and its cure, and no other line. Sourced by castoff_test_inside.sh, with
# castoff_test_network.sh.

# An nftables rule in a host, or between its ports at the switch.
rule() { # host hook rule
    local where=(lab-in-host "$1") family=ip
    [[ $1 != switch ]] || where=(nsenter --target 1 --net) family=bridge
    "${where[@]}" nft -f - <<RULES
table $family verdicts {
    chain one {
        type filter hook $2 priority 0
        $3
    }
}
RULES
}

end_rule() { # host
    local where=(lab-in-host "$1") family=ip
    [[ $1 != switch ]] || where=(nsenter --target 1 --net) family=bridge
    "${where[@]}" nft delete table "$family" verdicts
}

# The check of all three hosts ends with status 1, says why multicast does not pass, and has these lines of advice alone.
verdict() { # what sum advice...
    local what=$1 sum=$2 status advice=("${@:3}")
    check_network --seconds 0.5 h0 h1 h2
    if (($(grep -c '^to change ' "$shared/network.out") != ${#advice[@]})); then
        fail "$what" "not ${#advice[@]} lines of advice" network
        return
    fi
    network_says "$what" 1 "^multicast  *does not pass: $sum\$" "${advice[@]/#/^to change  *}"
}

# Multicast passes, and the check ends with status 1 and names who is unlike the others, by these lines of advice alone.
unlike() { # what advice...
    local what=$1 status advice=("${@:2}")
    # shellcheck disable=SC2086
    check_network --seconds 0.5 ${hosts//,/ }
    if (($(grep -c '^to change ' "$shared/network.out") != ${#advice[@]})); then
        fail "$what" "not ${#advice[@]} lines of advice" network
        return
    fi
    network_says "$what" 1 "^multicast  *passes between all 8 hosts\$" "${advice[@]/#/^to change  *}"
}

# The rate of a host's link, in (the switch sends to it) or out.
link_rate() { # host in|out rate
    local where=(lab-in-host "$1") device=eth0
    [[ $2 == out ]] || where=(nsenter --target 1 --net) device=p$1
    "${where[@]}" tc qdisc change dev "$device" root tbf rate "$3" burst 64k latency 100ms
}

case_unlike() {
    local host status lost='is lost to [1-5]\.[0-9] %, between others to 0\.[0-4] %: its cable'
    local slow='comes at (9|1[0-2])\.[0-9] Mbit/s, between others at (1[5-9]|2[0-9])[0-9]\.[0-9]'
    check_network --seconds 0.5 h0 h1 h2 h3 h4 h5 h6 h7
    network_says "all hosts are alike" 0 '^multicast  *passes between all 8 hosts$' '^to change  *nothing$'
    for host in 0 3 7; do
        link_rate $host in 10mbit
        unlike "what comes to h$host is slow" "h$host: what comes to it $slow, and no broadcast to it is faster: its link"
        link_rate $host out 10mbit
        unlike "h$host is slow both ways" "h$host: what comes to it $slow" "h$host: what it sends $slow"
        link_rate $host in 200mbit
        unlike "what h$host sends is slow" "h$host: what it sends $slow, and no broadcast of it is faster: its link"
        link_rate $host out 200mbit
        lab-loss $host 30
        unlike "what comes to h$host is lost now and then" "h$host: what comes to it $lost"
        lab-loss $host 0
        rule switch prerouting "iifname p$host ip protocol udp numgen random mod 1000 < 30 drop"
        unlike "what h$host sends is lost now and then" "h$host: what it sends $lost"
        lab-loss 5 30
        unlike "and another host loses what comes to it" "h$host: what it sends $lost" "h5: what comes to it $lost"
        lab-loss 5 0
        end_rule switch
    done
    rule switch forward 'iifname p1 oifname p2 ip protocol udp numgen random mod 1000 < 50 drop'
    unlike "one way between two loses" 'h1 to h2: what is sent there is lost to [3-7]\.[0-9] %, between others to 0\.[0-4] %: a link between the two'
    end_rule switch
    check_nothing_left "nothing is left"
}

case_verdicts() {
    local host status
    for host in 0 1 2; do
        rule $host output 'meta l4proto udp drop'
        verdict "h$host lets no UDP out" "no UDP datagram of h$host is heard" "h$host: it may send no UDP datagram \(.*rules for output: nft .* output "
        end_rule $host
        rule $host output 'ip daddr 224.0.0.0/4 drop'
        verdict "h$host lets no multicast out" "no multicast of h$host is heard" "h$host: it may send no multicast \(.* output ip daddr 239"
        end_rule $host
        rule $host input 'meta l4proto udp drop'
        verdict "h$host lets no UDP in" "h$host hears no UDP datagram" "h$host: UDP datagrams come to it and are dropped there, .* input udp"
        end_rule $host
        rule $host input 'ip daddr 224.0.0.0/4 drop'
        verdict "h$host lets no multicast in" "h$host hears no multicast" "h$host: multicast datagrams come to it and are dropped there, .* input ip daddr 239"
        end_rule $host
        rule switch forward "oifname p$host ip daddr 224.0.0.0/4 drop"
        verdict "the switch keeps multicast from h$host" "h$host hears no multicast" "h$host: no multicast comes to it that comes to other hosts: IGMP .* querier"
        end_rule switch
        rule switch forward "iifname p$host ip daddr 224.0.0.0/4 drop"
        verdict "the switch takes no multicast from h$host" "no multicast of h$host is heard" "h$host: no multicast that leaves it comes to any other host"
        end_rule switch
    done
    rule 1 input 'ip daddr 10.77.0.0/24 meta l4proto udp drop'
    verdict "h1 lets no unicast in" "h1 hears no unicast UDP datagram" 'h1: unicast UDP datagrams come to it and are dropped there'
    end_rule 1
    rule 2 input 'ip saddr 10.77.0.1 meta l4proto udp drop'
    verdict "one way between two" "h2 hears no UDP datagram of h0" 'h0 to h2: UDP datagrams come to h2 and are dropped there'
    end_rule 2
    rule switch forward 'iifname p0 oifname p2 ip protocol udp drop'
    verdict "one way between two, at the switch" "h2 hears no UDP datagram of h0" 'h0 to h2: no UDP datagram arrives, though h0 is heard by others and h2 hears others'
    end_rule switch
    rule 0 output 'ip daddr 10.77.0.3 meta l4proto udp drop'
    verdict "one way between two, refused" "h2 hears no unicast UDP datagram of h0" 'h0 to h2: h0 may not send there'
    end_rule 0
    rule switch forward 'ip daddr 224.0.0.0/4 drop'
    verdict "a network without multicast" "no host hears a multicast of another" 'firewalls of the hosts' 'the network: IGMP snooping'
    end_rule switch
    check_sizes
    check_reverse_path
    check_names
    check_nothing_left "nothing is left"
}

check_sizes() {
    local host status
    rule switch forward 'oifname p1 meta length > 1400 ip protocol udp drop'
    verdict "a tunnel to h1" "h1 hears no full packet" 'into h1: packets of 1500 bytes are lost, those of 1400 come, .*CASTOFF_UDP_MTU=1400'
    end_rule switch
    lab-in-host 1 ip link set eth0 mtu 9000
    check_network --seconds 0.5 h0 h1 h2
    network_says "interfaces of another MTU" 0 '^multicast  *passes between all 3 hosts$' '^to change  *h0 has an MTU of 1500 at eth0, h1 one of 9000'
    for host in 0 1 2; do
        lab-in-host "$host" ip link set eth0 mtu 9000
    done
    check_network --seconds 0.5 h0 h1 h2
    network_says "an MTU that the switch does not carry" 1 '^multicast  *could not be tried: ' '^to change  *h1: packets of 9000 bytes, the MTU of the way to it, are lost'
    for host in 0 1 2; do
        lab-in-host "$host" ip link set eth0 mtu 1500
    done
}

# Strict: multicast comes in by one interface, and the way back would be another.
check_reverse_path() {
    local status
    lab-in-host 1 sysctl -qw net.ipv4.conf.eth0.rp_filter=1
    check_network --seconds 0.5 h0 h1 h2
    network_says "a strict reverse path that does no harm" 0 '^multicast  *passes between all 3 hosts$' '^to change  *nothing$'
    lab-in-host 1 sh -c 'ip link add ways0 type veth peer name ways1 && ip link set ways0 up && ip link set ways1 up &&
        ip rule add fwmark 7 lookup 99 pref 50 &&
        sysctl -qw net.ipv4.conf.eth0.src_valid_mark=1 && ip route add 10.77.0.0/24 dev ways0 table 99'
    rule 1 prerouting 'ip daddr 224.0.0.0/4 meta mark set 7'
    verdict "a reverse path that is another" "h1 hears no multicast" 'h1: rp_filter dropped what came, .*net.ipv4.conf.eth0.rp_filter=2'
    lab-in-host 1 sh -c 'ip route replace 10.77.0.0/24 dev eth0 table 99 && ip route add 10.77.0.3/32 dev ways0 table 99'
    verdict "a reverse path to one host that is another" "h1 hears no multicast of h2" 'h2 to h1: rp_filter of h1 dropped what came'
    end_rule 1
    lab-in-host 1 sh -c 'ip link del ways0 && ip rule del pref 50 && sysctl -qw net.ipv4.conf.eth0.rp_filter=0'
}

# As in containers that hide most of what the kernel says of itself.
case_containers() {
    local status
    lab-in-host 1 sh -c 'mount -t tmpfs none /sys && mount -t tmpfs none /proc/sys'
    check_network --seconds 0.5 h0 h1 h2
    network_says "a host without /sys and /proc/sys" 0 '^multicast  *passes between all 3 hosts$' '^host  *h1: eth0, MTU 1500,' '^to change  *nothing$'
    check_network --seconds 0.5 h0 h1 1
    network_says "it is named twice" 2 "h1 is started twice, as one host under two names"
    lab-in-host 1 umount /sys /proc/sys
    check_nothing_left "nothing is left"
}

check_names() {
    local status
    check_network --seconds 0.5 h0 h1,h0 h1
    network_says "hosts that are named twice" 0 '^multicast  *passes between all 2 hosts$'
    check_network -- h0 -oProxyCommand=x
    network_says "a name that is an option" 2 "is no name of a host"
    check_network --seconds 0.5 h0 h1 10.77.0.1
    network_says "a name and an address of one host" 2 "3 hosts are named and 2 have answered|is started twice"
    check_network h0 'h1 h2'
    network_says "a name with a blank" 2 "is no name of a host"
    check_network h0 fe80::1
    network_says "an address of IPv6" 2 "looks like an IPv6 address"
}
