#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The inside of a laboratory with guests: process 1 of its process-id namespace, root of its private
# mounts and owner of the network in which the two switches live. Joins a tap device for each of the
# two interfaces of each guest to them, boots the guests, runs the command and ends; the kernel then
# ends every process, guests included, and removes every link of the lab.
# Started by lab.sh only, which hands the options over in LAB_* variables.

set -u

here=$(dirname -- "$0")
# shellcheck source=tests/lab/lab_inner.sh
. "$here/../lab/lab_inner.sh"
# shellcheck source=tests/lab-verbs/pack_init.sh
. "$here/pack_init.sh"

guest_pids=()

# The guests see this mount namespace: /etc/hosts and the directory of the lab are theirs, too.
make_private_mounts() {
    try mount -t tmpfs -o mode=755 lab "$LAB_DIR"
    try mount -t proc proc /proc
    try mkdir "$LAB_DIR/bin" "$LAB_DIR/tmp" "$LAB_DIR/shared" "$LAB_DIR/console"
    try chmod 1777 "$LAB_DIR/tmp" "$LAB_DIR/shared"
    local i
    {
        echo "127.0.0.1 localhost"
        for ((i = 0; i < LAB_GUESTS; i++)); do
            echo "10.78.0.$((i + 1)) g$i"
            echo "10.79.0.$((i + 1)) g$i-control"
        done
        echo "10.79.0.254 lab"
    } >"$LAB_DIR/hosts"
    try mount --bind "$LAB_DIR/hosts" /etc/hosts
    try hostname lab
}

# The fabric carries what is tested, the control switch what the lab itself and stock MPI say, so
# that the counters of the fabric show nothing else.
raise_switches() {
    local i
    [[ ! -w /proc/sys/net/ipv6/conf/default/disable_ipv6 ]] || echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
    try ip link set lo up
    try ip link add name fabric mtu "$LAB_MTU" type bridge mcast_snooping 0
    try ip link add name control type bridge mcast_snooping 0
    for ((i = 0; i < LAB_GUESTS; i++)); do
        try ip tuntap add "p$i" mode tap
        try ip tuntap add "c$i" mode tap
        try ip -batch - <<BATCH
link set p$i mtu $LAB_MTU master fabric up
link set c$i master control up
BATCH
    done
    try ip -batch - <<BATCH
link set fabric up
addr add 10.79.0.254/24 dev control
link set control up
BATCH
    {
        echo "table bridge castoff_lab {"
        for ((i = 0; i < LAB_GUESTS; i++)); do
            echo "counter lost$i { }"
            echo "chain to$i { }"
        done
        echo "chain pass { type filter hook forward priority 0;"
        for ((i = 0; i < LAB_GUESTS; i++)); do
            echo "oifname p$i jump to$i"
        done
        echo "}"
        echo "}"
    } | nft -f - || fail "nftables rules of the fabric"
}

# The guests' agents start with one of them.
install_commands() {
    local name
    for name in in-guest agent mpirun memlock counters device-counters loss loss-count link kill-guest console bounded; do
        try ln -s "$here/guest_commands.sh" "$LAB_DIR/bin/lab-$name"
    done
}

build_programs() {
    "${CC:-cc}" -std=gnu17 -O2 -o "$LAB_DIR/bin/guest_agent" "$here/guest_agent.c" &&
        "${CC:-cc}" -std=gnu17 -O2 -o "$LAB_DIR/bin/guest_call" "$here/guest_call.c" ||
        fail "the agent cannot be built"
    cat "$LAB_IMAGE/base.cpio" <(cd "$here" && pack_init) >"$LAB_DIR/boot.cpio" || fail "the boot archive"
}

# multidevs: what is mounted on this machine has inode numbers of its own. The readable tree is the
# whole machine's; the writable one is the lab's shared directory.
# no_timer_check: on a busy machine an emulated timer may be late, and the kernel would give up.
start_guest() { # index
    local mac
    printf -v mac '%02x' $(($1 + 1))
    exec -a "${LAB_DIR##*/}-g$1" qemu-system-x86_64 -accel "$LAB_ACCEL" -cpu max -m "$LAB_MEMORY" -smp 1 \
        -nodefaults -display none -no-reboot -serial "file:$LAB_DIR/console/g$1" \
        -netdev "tap,id=fabric,ifname=p$1,script=no,downscript=no" \
        -device "virtio-net-pci,netdev=fabric,mac=02:ca:01:00:00:$mac,host_mtu=$LAB_MTU,addr=4" \
        -netdev "tap,id=control,ifname=c$1,script=no,downscript=no" \
        -device "virtio-net-pci,netdev=control,mac=02:ca:02:00:00:$mac,addr=5" \
        -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
        -virtfs "local,path=$LAB_DIR/shared,mount_tag=shared,security_model=none,multidevs=remap" \
        -kernel "$LAB_IMAGE/kernel" -initrd "$LAB_DIR/boot.cpio" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check lab.index=$1 lab.directory=$LAB_DIR lab.mtu=$LAB_MTU \
lab.memlock=$LAB_MEMLOCK lab.device=$LAB_DEVICE" </dev/null >"$LAB_DIR/console/qemu$1" 2>&1
}

start_guests() {
    local i
    for ((i = 0; i < LAB_GUESTS; i++)); do
        start_guest "$i" &
        guest_pids[i]=$!
    done
    {
        echo "lab_guests=$LAB_GUESTS"
        echo "lab_guest_pids=(${guest_pids[*]})"
    } >"$LAB_DIR/state"
}

show_console() { # index
    tail -n 15 "$LAB_DIR/console/qemu$1" "$LAB_DIR/console/g$1" 2>/dev/null | tr -d '\r' >&2
}

# Patience is for a guest that does nothing, or works for that long without being up.
await_guests() {
    local i watch
    "$LAB_DIR/bin/lab-bounded" "$LAB_PATIENCE" $((LAB_PATIENCE * LAB_GUESTS)) sleep infinity 2>/dev/null &
    watch=$!
    for ((i = 0; i < LAB_GUESTS; i++)); do
        until grep -qs "lab: guest ready" "$LAB_DIR/console/g$i"; do
            if ! kill -0 "${guest_pids[i]}" 2>/dev/null; then
                show_console "$i"
                fail "guest g$i ended while it booted"
            fi
            if ! kill -0 "$watch" 2>/dev/null; then
                show_console "$i"
                fail "guest g$i did not boot: it has done nothing for $LAB_PATIENCE s, or worked for longer"
            fi
            read -r -t 0.1 <> <(:)
        done
    done
    kill "$watch"
    wait "$watch" 2>/dev/null
}

describe_lab() {
    local i names="" slots=""
    for ((i = 0; i < LAB_GUESTS; i++)); do
        names+="${names:+ }g$i"
        slots+="${slots:+,}g$i:$LAB_RANKS_PER_GUEST"
    done
    local transports=tcp,self
    ((LAB_RANKS_PER_GUEST == 1)) || transports=vader,tcp,self
    export PATH=$LAB_DIR/bin:$PATH TMPDIR=$LAB_DIR/tmp
    export CASTOFF_LAB_GUESTS=$names CASTOFF_LAB_DIR=$LAB_DIR CASTOFF_LAB_SHARED=$LAB_DIR/shared
    export CASTOFF_LAB_ACCEL=$LAB_ACCEL
    export CASTOFF_LAB_MPIRUN_ARGS="--allow-run-as-root --host $slots --bind-to none\
 --mca plm_rsh_agent $LAB_DIR/bin/lab-agent --mca pml ob1 --mca btl $transports\
 --mca btl_tcp_if_include 10.79.0.0/24 --mca oob_tcp_if_include 10.79.0.0/24 --mca mpi_yield_when_idle 1"
}

trap interrupt TERM HUP INT
announce_inner_pid
make_private_mounts
raise_switches
install_commands
build_programs
start_guests
await_guests
describe_lab
for ((guest = 0; LAB_LOSS > 0 && guest < LAB_GUESTS; guest++)); do
    try "$LAB_DIR/bin/lab-loss" "$guest" "$LAB_LOSS"
done
run_command "$@"
