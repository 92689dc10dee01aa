#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The hop of one-sided multicast on four pairs of interfaces in a network of their own: frames a second that it takes and
# sends, on one core, in turn with plain forwarding by the same program and with the kernel's bridge. A line for each mode
# and size: the median, by copies a second, of five runs.
#
#   bench/micro/hop_speed.sh BUILD [SECONDS]
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
program=$(cd "${1:-$top/build}" && pwd)/bench/micro/hop_speed
export HOP_SPEED=$program HOP_SECONDS=${2:-1}
own=(unshare --net)
((EUID == 0)) || own=(unshare --user --map-root-user --net)
exec "${own[@]}" bash -c '
    set -u
    PATH=$PATH:/usr/sbin:/sbin
    for i in 0 1 2 3; do
        ip link add "h$i" type veth peer name "p$i" || exit 1
        for name in "h$i" "p$i"; do
            echo 1 2>/dev/null >"/proc/sys/net/ipv6/conf/$name/disable_ipv6"
            ip link set "$name" mtu 4500 up || exit 1
        done
    done
    for n in {1..200}; do
        (($(ip -o link | grep -c "state UP") == 8)) && break
        sleep 0.05
    done
    run() { # mode payload
        if [ "$1" = bridge ]; then
            ip link add b0 mtu 4500 type bridge mcast_snooping 0 && ip link set b0 up || return 1
            for i in 0 1 2 3; do ip link set "p$i" master b0 || return 1; done
            for n in {1..200}; do
                (($(bridge link | grep -c "state forwarding") == 4)) && break
                sleep 0.05
            done
        fi
        "$HOP_SPEED" "$1" "$2" "$HOP_SECONDS"
        local status=$?
        [ "$1" != bridge ] || ip link del b0
        return "$status"
    }
    echo "# mode   payload  frames/s  out/s      MB/s out  ns a frame, ns a frame out: processor time of"
    for payload in 64 1024 4096; do
        for repeat in 1 2 3 4 5; do
            for mode in group nic forward bridge; do
                run "$mode" "$payload" || exit 1
            done
        done | sort -k 1,1 -k 4,4n | awk "NR % 5 == 3" | sort -k 4,4nr
    done'
