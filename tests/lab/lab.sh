#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Raises a laboratory of N hosts on this machine, runs one command on host h0 and takes everything
# down again: when the command ends or fails, when raising fails half-way, and when this script is
# interrupted or killed. The whole lab lives in private namespaces (process ids, mounts, network)
# that hang on one child of this script, so the kernel itself removes it with that child; the
# machine's own network, /etc, /run/netns and /dev/shm are never touched.
# Called by people, tests and `castoff bench --lab`; raise.sh is the part that runs inside.

set -u

usage() {
    cat <<'USAGE'
usage: tests/lab/lab.sh --hosts N [options] -- COMMAND [ARGUMENT...]
  --hosts N            hosts h0 ... h(N-1), 1 to 200
  --rate RATE          rate of every link in both directions, as tc writes it (200mbit), or none
  --topology KIND      flat (one switch, the default) or fat-tree
  --leaves L           leaf switches of the fat tree (2)
  --spines S           spine switches of the fat tree (1)
  --uplink-rate RATE   rate of the links between switches (as --rate)
  --queue MS           what a switch port holds, as time at its rate (100): small buffers overrun
  --snooping           switches snoop IGMP and have a querier: only members receive multicast
  --segment            no superpackets on the links to the hosts: each datagram is its own frame
  --loss PERMILLE      drop that many UDP datagrams of 1000 on arrival at each host (sets --segment)
  --decoy              each host has an interface before eth0 that leads nowhere and has the same
                       address everywhere, as software for containers makes them
  --ranks-per-host K   slots that mpirun gets on each host (1)
  --prefix NAME        first part of the lab's name (castoff-lab)
COMMAND runs on h0; tests/lab/README.md lists the helper commands it finds there.
exit status: the command's; 2 wrong usage; 77 no lab possible here; 125 raising failed;
             128 + signal when interrupted
USAGE
}

need_rate() { # name value
    [[ $2 == none || $2 =~ ^[0-9]*[1-9][0-9]*(k|m|g)?bit$ ]] && return
    refuse "$1 needs a rate such as 200mbit, or none, not '$2'"
}

parse_options() {
    while (($# > 0)); do
        case $1 in
            --snooping) LAB_SNOOPING=1 && shift && continue ;;
            --segment) LAB_SEGMENT=1 && shift && continue ;;
            --decoy) LAB_DECOY=1 && shift && continue ;;
            --help | -h) usage && exit 0 ;;
            --) shift && break ;;
            --hosts | --rate | --topology | --leaves | --spines | --uplink-rate | --queue | --loss | \
                --ranks-per-host | --prefix) (($# >= 2)) || refuse "$1 needs a value" ;;
            *) refuse "unknown option '$1'; is '--' missing before the command?" ;;
        esac
        case $1 in
            --hosts) LAB_HOSTS=$2 ;;
            --rate) LAB_RATE=$2 ;;
            --topology) LAB_TOPOLOGY=$2 ;;
            --leaves) LAB_LEAVES=$2 ;;
            --spines) LAB_SPINES=$2 ;;
            --uplink-rate) LAB_UPLINK_RATE=$2 ;;
            --queue) LAB_QUEUE=$2 ;;
            --loss) LAB_LOSS=$2 ;;
            --ranks-per-host) LAB_RANKS_PER_HOST=$2 ;;
            --prefix) prefix=$2 ;;
        esac
        shift 2
    done
    command=("$@")
}

check_options() {
    [[ -n $LAB_HOSTS ]] || refuse "--hosts is missing"
    need_number --hosts "$LAB_HOSTS" 1 200
    need_number --loss "$LAB_LOSS" 0 1000
    need_number --queue "$LAB_QUEUE" 1 1000
    need_number --ranks-per-host "$LAB_RANKS_PER_HOST" 1 1000
    need_number --leaves "$LAB_LEAVES" 2 64
    need_number --spines "$LAB_SPINES" 1 16
    need_rate --rate "$LAB_RATE"
    : "${LAB_UPLINK_RATE:=$LAB_RATE}"
    need_rate --uplink-rate "$LAB_UPLINK_RATE"
    [[ $LAB_TOPOLOGY == flat || $LAB_TOPOLOGY == fat-tree ]] ||
        refuse "--topology is flat or fat-tree, not '$LAB_TOPOLOGY'"
    [[ $LAB_TOPOLOGY == flat ]] || ((10#$LAB_LEAVES <= 10#$LAB_HOSTS)) ||
        refuse "a fat tree needs at least one host on each of its $LAB_LEAVES leaves"
    check_command
    # Numbers with leading zeros would be taken for octal ones later.
    LAB_HOSTS=$((10#$LAB_HOSTS)) LAB_LOSS=$((10#$LAB_LOSS)) LAB_LEAVES=$((10#$LAB_LEAVES))
    LAB_SPINES=$((10#$LAB_SPINES)) LAB_RANKS_PER_HOST=$((10#$LAB_RANKS_PER_HOST))
    # A lost superpacket would be dozens of datagrams lost at once.
    ((LAB_LOSS == 0)) || LAB_SEGMENT=1
}

check_machine() {
    local tool missing=()
    for tool in ip bridge tc nft unshare nsenter setpriv flock; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || missing+=("$tool")
    done
    local packages="root must install the packages iproute2, nftables and util-linux"
    ((${#missing[@]} == 0)) || skip "${missing[*]} missing: $packages"
    ((EUID == 0)) || skip "the lab needs root (run it as root; $packages)"
    unshare --mount --net --pid --ipc --uts --fork true 2>/dev/null ||
        skip "this machine does not let root make namespaces (a container without privileges?)"
    # Read and write: the probe may not leave the namespace it runs in.
    unshare --net sh -c 'ip link add name b0 type bridge && ip link add name v0 type veth peer name v1 &&
        tc qdisc add dev v0 root tbf rate 1mbit burst 64k latency 100ms && nft add table ip t' \
        >/dev/null 2>&1 ||
        skip "this kernel lacks one of bridge, veth, tbf, nftables, or root may not use it"
}

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 125
# shellcheck source=tests/lab/lab_outer.sh
. "$here/lab_outer.sh"
LAB_HOSTS="" LAB_RATE=200mbit LAB_UPLINK_RATE="" LAB_TOPOLOGY=flat LAB_LEAVES=2 LAB_SPINES=1
LAB_SNOOPING=0 LAB_SEGMENT=0 LAB_LOSS=0 LAB_QUEUE=100 LAB_DECOY=0 LAB_RANKS_PER_HOST=1
prefix=castoff-lab command=()

parse_options "$@"
check_options
check_machine
export PATH=$PATH:/usr/sbin:/sbin
export LAB_HOSTS LAB_RATE LAB_UPLINK_RATE LAB_TOPOLOGY LAB_LEAVES LAB_SPINES
export LAB_SNOOPING LAB_SEGMENT LAB_LOSS LAB_QUEUE LAB_DECOY LAB_RANKS_PER_HOST
keep_lab
