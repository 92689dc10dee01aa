#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The commands that a laboratory with guests offers, one per name under which this file is linked
# into the lab's bin directory: lab-in-guest, lab-agent, lab-mpirun, lab-memlock, lab-counters,
# lab-device-counters, lab-loss, lab-loss-count, lab-link, lab-kill-guest, lab-console, lab-bounded.
# README.md says what each does. They are for the lab's command; lab-memlock is for the guests.

# shellcheck disable=SC2154
set -u

lab_directory=$(cd -- "$(dirname -- "$0")/.." && pwd) || exit 1

refuse() {
    echo "${0##*/}: $1" >&2
    exit 2
}

guest_index() { # 3 or g3
    # shellcheck disable=SC1091
    . "$lab_directory/state" || exit 1
    [[ ${1-} =~ ^g?([0-9])$ ]] || refuse "'${1-}' is not a guest such as g1 or 1"
    index=$((10#${BASH_REMATCH[1]}))
    ((index < lab_guests)) || refuse "no guest '$1' in this lab of $lab_guests"
}

call_guest() { # command...
    exec "$lab_directory/bin/guest_call" "10.79.0.$((index + 1))" 7000 "$@"
}

in_guest() {
    guest_index "${1-}"
    shift
    (($# > 0)) || refuse "usage: lab-in-guest GUEST COMMAND..."
    call_guest "$@"
}

# What mpirun calls in place of ssh. As behind ssh, nothing of the caller's environment arrives but
# what a login there would set: a launcher that forgets to pass a variable on is found out.
agent() {
    guest_index "${1-}"
    shift
    local name
    for name in $(compgen -e); do
        case $name in
            HOME | USER | PATH) ;;
            *) unset "$name" ;;
        esac
    done
    export HOME="${HOME:-/root}" USER="${USER:-root}" SHELL=/bin/sh TMPDIR="$lab_directory/tmp"
    call_guest sh -c "$*"
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

# Root may lock any amount as long as it has the capability, so that goes as well.
limit_memlock() { # KiB command...
    [[ ${1-} =~ ^[0-9]{1,9}$ ]] && (($# > 1)) || refuse "usage: lab-memlock KIB COMMAND..."
    exec prlimit --memlock="$(($1 * 1024)):$(($1 * 1024))" \
        setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock -- "${@:2}"
}

print_counters() {
    awk '$1 ~ /^p[0-9]+:$/ { sub(":", "", $1); print $1, $2, $10, $3, $11, $5, $13 }' /proc/net/dev
}

print_device_counters() {
    guest_index "${1-}"
    # shellcheck disable=SC2016
    call_guest sh -c 'cd /sys/class/infiniband/rxe0/ports/1/hw_counters && for f in *; do read -r n <$f; echo "$f $n"; done'
}

set_loss() {
    guest_index "${1-}"
    [[ ${2-} =~ ^[0-9]{1,3}$|^1000$ && ${3-all} =~ ^(all|multicast|connections)$ ]] ||
        refuse "usage: lab-loss GUEST PERMILLE [all|multicast|connections]"
    local permille=$((10#$2)) which="" kind="" chance=""
    case ${3-all} in
    multicast) which="ip daddr 224.0.0.0/4" ;;
    connections) kind="@th,64,8 < 0x20" ;; # the opcode, first in what follows UDP: of a reliable connection
    esac
    # nft refuses a comparison that is always true.
    ((permille == 1000)) || chance="numgen random mod 1000 < $permille"
    {
        echo "flush chain bridge castoff_lab to$index"
        ((permille == 0)) || echo "add rule bridge castoff_lab to$index $which udp dport 4791 $kind" \
            "$chance counter name lost$index drop"
    } | nft -f -
}

print_loss() {
    guest_index "${1-}"
    nft list counter bridge castoff_lab "lost$index" | awk '$1 == "packets" { print $2, $4 }'
}

set_link() {
    guest_index "${1-}"
    [[ ${2-} == up || ${2-} == down ]] || refuse "usage: lab-link GUEST up|down"
    ip link set "p$index" "$2"
}

# As if its power went: the others hear nothing more of it.
kill_guest() {
    guest_index "${1-}"
    kill -KILL "${lab_guest_pids[index]}"
    while kill -0 "${lab_guest_pids[index]}" 2>/dev/null &&
        [[ $(awk '{ print $3 }' "/proc/${lab_guest_pids[index]}/stat" 2>/dev/null) != Z ]]; do
        read -r -t 0.02 <> <(:)
    done
}

# Ends a command that hangs. What its ranks do in the guests shows here as the time of the guests' processes: an idle one
# takes 0.03 % of a core, and one that works a third of it though both cores have two others to run.
bound() { # idle-seconds cpu-seconds command...
    (($# > 2)) || refuse "usage: lab-bounded IDLE-SECONDS CPU-SECONDS COMMAND..."
    # shellcheck disable=SC1091
    . "$lab_directory/state" || exit 1
    local share IFS=,
    printf -v share '0.%02d' $((lab_guests * 5))
    exec python3 -S "$(dirname -- "$(readlink -f -- "$0")")/../bounded.py" \
        --with "${lab_guest_pids[*]}" --share "$share" "$@"
}

print_console() {
    guest_index "${1-}"
    tr -d '\r' <"$lab_directory/console/g$index"
}

case ${0##*/} in
    lab-in-guest) in_guest "$@" ;;
    lab-agent) agent "$@" ;;
    lab-mpirun) run_mpi "$@" ;;
    lab-memlock) limit_memlock "$@" ;;
    lab-counters) print_counters ;;
    lab-device-counters) print_device_counters "$@" ;;
    lab-loss) set_loss "$@" ;;
    lab-loss-count) print_loss "$@" ;;
    lab-link) set_link "$@" ;;
    lab-kill-guest) kill_guest "$@" ;;
    lab-console) print_console "$@" ;;
    lab-bounded) bound "$@" ;;
    *) refuse "not one of the lab's commands" ;;
esac
