#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The commands that a laboratory offers inside itself, one per name under which this file is linked
# into the lab's bin directory: lab-in-host, lab-agent, lab-mpirun, lab-mpiexec, lab-counters, lab-loss,
# lab-loss-count, lab-multicast, lab-link, lab-kill-host, lab-inject. README.md says what each does.
# They work from every host of the lab; what they know of it stands in its state file.

# shellcheck disable=SC2154
set -u

lab_directory=$(cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
# shellcheck disable=SC1091
. "$lab_directory/state" || exit 1

refuse() {
    echo "${0##*/}: $1" >&2
    exit 2
}

host_index() { # 3 or h3
    [[ ${1-} =~ ^h?([0-9]{1,3})$ ]] || refuse "'${1-}' is not a host such as h1 or 1"
    index=$((10#${BASH_REMATCH[1]}))
    ((index < lab_hosts)) || refuse "no host '$1' in this lab of $lab_hosts"
    keeper=${lab_host_pids[index]}
}

# Entering a host's mounts leads to "/": the directory is looked up again from there. The command
# keeps the process number that it was started under, so signals reach it.
enter_host() { # command...
    # shellcheck disable=SC2016
    exec nsenter --target "$keeper" --mount --uts --ipc --net -- \
        sh -c 'cd -- "$1" 2>/dev/null || cd /; shift; exec "$@"' lab "$PWD" "$@"
}

in_host() {
    host_index "${1-}"
    shift
    (($# > 0)) || refuse "usage: lab-in-host HOST COMMAND..."
    enter_host "$@"
}

# What mpirun calls in place of ssh. As behind ssh, nothing of the caller's environment arrives but
# what a login there would set: a launcher that forgets to pass a variable on is found out.
agent() {
    host_index "${1-}"
    shift
    enter_host env --ignore-environment HOME="${HOME:-/root}" USER="${USER:-root}" PATH="$PATH" \
        SHELL=/bin/sh TMPDIR="$lab_directory/tmp" sh -c "$*"
}

# CASTOFF_LAB_* speak to the lab's command; in the job they would be unknown settings.
run_mpi() {
    local name arguments
    [[ -n ${CASTOFF_LAB_MPIRUN_ARGS-} ]] || refuse "CASTOFF_LAB_MPIRUN_ARGS is not set"
    read -r -a arguments <<<"$CASTOFF_LAB_MPIRUN_ARGS"
    for name in "${!CASTOFF_LAB_@}"; do
        unset "$name"
    done
    exec mpirun "${arguments[@]}" "$@"
}

# MPICH's launcher.
run_mpich() {
    local name i hosts=""
    for ((i = 0; i < lab_hosts; i++)); do
        hosts+="${hosts:+,}h$i:$lab_ranks_per_host"
    done
    for name in "${!CASTOFF_LAB_@}"; do
        unset "$name"
    done
    exec mpiexec.mpich -launcher rsh -launcher-exec "$lab_directory/bin/lab-agent" -iface eth0 -hosts "$hosts" "$@"
}

switch_statistics() {
    awk 'NR > 2 { sub(":", "", $1); print "I", $1, $2, $3, $5, $10, $11, $13 }' /proc/1/net/dev
    nsenter --target 1 --net tc -s qdisc show | parse_shapers ""
    local i
    for ((i = 0; i < lab_hosts; i++)); do
        nsenter --target "${lab_host_pids[i]}" --net tc -s qdisc show dev eth0 | parse_shapers "h$i"
    done
}

parse_shapers() { # name to print in place of the device's
    awk -v name="$1" '
        $1 == "qdisc" { shaper = $2 == "tbf"; for (i = 1; i < NF; i++) if ($i == "dev") device = $(i + 1) }
        $1 == "Sent" && shaper { gsub(",", ""); print "Q", name == "" ? device : name, $2, $4, $7 }'
}

# A shaper sees each segment of a superpacket with headers of its own, as the wire would; the
# interface sees one packet. So a shaped link is counted at its shapers, one for each direction.
print_counters() {
    switch_statistics | awk '
        $1 == "I" { in_bytes[$2] = $3; in_packets[$2] = $4; in_drops[$2] = $5
                    out_bytes[$2] = $6; out_packets[$2] = $7; out_drops[$2] = $8 }
        $1 == "Q" { shaped[$2] = 1; bytes[$2] = $3; packets[$2] = $4; drops[$2] = $5 }
        $1 != "I" && $1 != "Q" { port[++ports] = $1; peer[ports] = $2 }
        END {
            for (i = 1; i <= ports; i++) {
                p = port[i]; q = peer[i]
                print p, shaped[q] ? bytes[q] : in_bytes[p], shaped[p] ? bytes[p] : out_bytes[p],
                    shaped[q] ? packets[q] : in_packets[p], shaped[p] ? packets[p] : out_packets[p],
                    shaped[q] ? drops[q] : in_drops[p], shaped[p] ? drops[p] : out_drops[p]
            }
        }' - "$lab_directory/ports"
}

set_loss() {
    host_index "${1-}"
    [[ ${2-} =~ ^[0-9]{1,3}$|^1000$ && ${3-udp} =~ ^(udp|tcp)$ ]] || refuse "usage: lab-loss HOST PERMILLE [udp|tcp]"
    local permille=$((10#$2)) of=${3-udp} chance=""
    # nft refuses a comparison that is always true.
    ((permille == 1000)) || chance="numgen random mod 1000 < $permille"
    {
        echo 'flush chain ip castoff_lab arrive'
        ((permille == 0)) || echo "add rule ip castoff_lab arrive iifname eth0 meta l4proto $of" \
            "$chance counter name lost drop"
    } | nsenter --target "$keeper" --net nft -f - || exit 1
    # A lost superpacket would be dozens of datagrams lost at once.
    ((permille == 0)) || nsenter --target 1 --net ip link set "p$index" gso_max_segs 1
}

print_loss() {
    host_index "${1-}"
    nsenter --target "$keeper" --net nft list counter ip castoff_lab lost |
        awk '$1 == "packets" { print $2, $4 }'
}

# What a snooping switch does to a member that it has forgotten: unicast passes, multicast does not.
set_multicast() {
    host_index "${1-}"
    [[ ${2-} == on || ${2-} == off ]] || refuse "usage: lab-multicast HOST on|off"
    {
        echo 'flush chain ip castoff_lab multicast'
        [[ $2 == on ]] ||
            echo 'add rule ip castoff_lab multicast iifname eth0 ip daddr 224.0.0.0/4 drop'
    } | nsenter --target "$keeper" --net nft -f -
}

set_link() {
    host_index "${1-}"
    [[ ${2-} == up || ${2-} == down ]] || refuse "usage: lab-link HOST up|down"
    nsenter --target 1 --net ip link set "p$index" "$2" || exit 1
    [[ $2 == down ]] || await_link
}

# Both ends learn of the carrier a little later, and what is sent until then is lost.
await_link() {
    local deadline=$((SECONDS + 200))
    until nsenter --target 1 --net bridge link show dev "p$index" | grep -q 'state forwarding' &&
        nsenter --target "$keeper" --net ip link show dev eth0 | grep -q 'state UP'; do
        ((SECONDS < deadline)) || refuse "the link of h$index does not come up"
        read -r -t 0.02 <> <(:)
    done
    return 0
}

# All but the keeper: the host stays in the lab, as a machine that has just been started again.
kill_host() {
    host_index "${1-}"
    local own process found
    own=$(readlink "/proc/$keeper/ns/net")
    for process in /proc/[0-9]*; do
        found=$(readlink "$process/ns/net" 2>/dev/null) || continue
        if [[ $found == "$own" && ${process#/proc/} != "$keeper" ]]; then
            kill -KILL "${process#/proc/}" 2>/dev/null
        fi
    done
    return 0
}

inject() {
    host_index "${1-}"
    shift
    local program=$lab_directory/bin/inject
    if [[ ! -x $program ]]; then
        "${CC:-cc}" -std=gnu17 -O2 -o "$program.$$" "$lab_source/inject.c" || exit 1
        mv "$program.$$" "$program"
    fi
    enter_host "$program" "$@"
}

case ${0##*/} in
    lab-in-host) in_host "$@" ;;
    lab-agent) agent "$@" ;;
    lab-mpirun) run_mpi "$@" ;;
    lab-mpiexec) run_mpich "$@" ;;
    lab-counters) print_counters ;;
    lab-loss) set_loss "$@" ;;
    lab-loss-count) print_loss "$@" ;;
    lab-multicast) set_multicast "$@" ;;
    lab-link) set_link "$@" ;;
    lab-kill-host) kill_host "$@" ;;
    lab-inject) inject "$@" ;;
    *) refuse "not one of the lab's commands" ;;
esac
