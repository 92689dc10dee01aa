#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The inside of a laboratory: process 1 of its process-id namespace, root of its private mounts and
# owner of the network namespace in which the switches live. Raises switches and hosts, runs the
# command on h0 and ends; the kernel then ends every process and removes every link of the lab.
# Each host is a keeper process with its own network, host name, mounts and System V memory.
# Started by lab.sh only, which hands the options over in LAB_* variables.

set -u

here=$(dirname -- "$0")
# shellcheck source=tests/lab/switches.sh
. "$here/switches.sh"
# shellcheck source=tests/lab/lab_inner.sh
. "$here/lab_inner.sh"

host_pids=()

make_private_mounts() {
    try mount -t tmpfs -o mode=755 lab "$LAB_DIR"
    try mount -t proc proc /proc
    try mkdir "$LAB_DIR/bin" "$LAB_DIR/tmp" "$LAB_DIR/shared"
    try chmod 1777 "$LAB_DIR/tmp" "$LAB_DIR/shared"
    local i
    {
        echo "127.0.0.1 localhost"
        for ((i = 0; i < LAB_HOSTS; i++)); do
            echo "10.77.0.$((i + 1)) h$i"
        done
    } >"$LAB_DIR/hosts"
    try mount --bind "$LAB_DIR/hosts" /etc/hosts
}

# The keepers report through a fifo when their namespaces exist; only then can a link be moved in.
start_hosts() {
    local i line
    try mkfifo "$LAB_DIR/ready"
    exec 3<>"$LAB_DIR/ready"
    for ((i = 0; i < LAB_HOSTS; i++)); do
        unshare --net --uts --ipc --mount "$here/host.sh" "h$i" </dev/null &
        host_pids[i]=$!
    done
    for ((i = 0; i < LAB_HOSTS; i++)); do
        read -r -t 30 line <&3 || fail "host keepers did not start"
        [[ $line == ready ]] || fail "host keeper: $line"
    done
    exec 3>&-
    rm -f "$LAB_DIR/ready"
}

# What the kernel has once for all namespaces is too small for the hosts of a large lab.
is_large() {
    ((LAB_HOSTS > 22))
}

# The table of neighbours holds 1024 that come and go, and what finds no place in it is refused with ENOBUFS; those that
# are there for good do not count.
known_neighbours() { # host-index
    local i
    is_large || return 0
    for ((i = 0; i < LAB_HOSTS; i++)); do
        ((i == $1)) || echo "neigh add 10.77.0.$((i + 1)) lladdr $(host_address "$i") dev eth0 nud permanent"
    done
}

configure_host() { # host-index
    local segment=""
    ((LAB_SEGMENT == 0)) || segment="gso_max_segs 1"
    try nsenter --target "${host_pids[$1]}" --net ip -batch - <<BATCH
link set lo up
addr add 10.77.0.$(($1 + 1))/24 dev eth0
link set eth0 $segment up
route add 224.0.0.0/4 dev eth0
$(known_neighbours "$1")
BATCH
    ! is_large || try nsenter --target "${host_pids[$1]}" --net python3 "$here/own_queue.py" receiver eth0
    if [[ $LAB_RATE != none ]]; then
        try nsenter --target "${host_pids[$1]}" --net tc qdisc add dev eth0 root \
            tbf rate "$LAB_RATE" burst 64k latency 100ms
    fi
    try nsenter --target "${host_pids[$1]}" --net nft -f - <<'RULES'
table ip castoff_lab {
    counter lost { }
    chain arrive { type filter hook prerouting priority -300; }
    chain multicast { type filter hook prerouting priority -301; }
}
RULES
}

install_commands() {
    local name i
    for name in in-host agent mpirun mpiexec counters loss loss-count multicast link kill-host inject; do
        try ln -s "$here/host_commands.sh" "$LAB_DIR/bin/lab-$name"
    done
    {
        echo "lab_hosts=$LAB_HOSTS"
        echo "lab_ranks_per_host=$LAB_RANKS_PER_HOST"
        echo "lab_host_pids=(${host_pids[*]})"
        printf 'lab_source=%q\n' "$here"
    } >"$LAB_DIR/state"
}

describe_lab() {
    local i names="" slots=""
    for ((i = 0; i < LAB_HOSTS; i++)); do
        names+="${names:+ }h$i"
        slots+="${slots:+,}h$i:$LAB_RANKS_PER_HOST"
    done
    # One rank a host needs no shared-memory transport; naming it would only start it.
    local transports=tcp,self
    ((LAB_RANKS_PER_HOST == 1)) || transports=vader,tcp,self
    export PATH=$LAB_DIR/bin:$PATH TMPDIR=$LAB_DIR/tmp
    export CASTOFF_LAB_HOSTS=$names CASTOFF_LAB_DIR=$LAB_DIR CASTOFF_LAB_SHARED=$LAB_DIR/shared
    export CASTOFF_LAB_RATE=$LAB_RATE CASTOFF_LAB_TOPOLOGY=$LAB_TOPOLOGY
    export CASTOFF_LAB_MPIEXEC=$LAB_DIR/bin/lab-mpiexec
    export CASTOFF_LAB_MPIRUN=$LAB_DIR/bin/lab-mpirun CASTOFF_LAB_COUNTERS=$LAB_DIR/bin/lab-counters
    export CASTOFF_LAB_MPIRUN_ARGS="--allow-run-as-root --host $slots --bind-to none\
 --mca plm_rsh_agent $LAB_DIR/bin/lab-agent --mca pml ob1 --mca btl $transports\
 --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1"
}

trap interrupt TERM HUP INT
announce_inner_pid
make_private_mounts
start_hosts
raise_switches
for ((host = 0; host < LAB_HOSTS; host++)); do
    configure_host "$host"
done
# shellcheck disable=SC2046
! is_large || try python3 "$here/own_queue.py" sender $(seq -f 'p%.0f' 0 $((LAB_HOSTS - 1)))
install_commands
describe_lab
for ((host = 0; LAB_LOSS > 0 && host < LAB_HOSTS; host++)); do
    try "$LAB_DIR/bin/lab-loss" "$host" "$LAB_LOSS"
done
((LAB_SNOOPING == 0 || LAB_HOSTS == 1)) || await_queriers
run_command "$LAB_DIR/bin/lab-in-host" 0 "$@"
