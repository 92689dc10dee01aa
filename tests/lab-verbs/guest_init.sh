#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Process 1 of a guest: loads the modules, makes the machine's root (read-only, over 9p) writable
# with a layer in memory, brings up both network interfaces and the Soft-RoCE device, and starts the
# agent that runs commands in that root. raise.sh adds it to the archive that the guest boots from
# and passes lab.NAME=VALUE on the kernel's command line. What goes wrong is said on the console.

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev

parameter() { # name
    sed -n "s/.*lab\\.$1=\\([^ ]*\\).*/\\1/p" /proc/cmdline
}

fail() {
    echo "lab: guest failed: $1"
    poweroff -f
}

try() {
    "$@" || fail "'$*' failed"
}

load_modules() {
    while read -r module; do
        try insmod "/modules/$module"
    done </modules/order
}

mount_root() {
    try mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host
    try mount -t tmpfs layer /layer
    try mkdir /layer/upper /layer/work
    try mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /root
    try mount -t proc proc /root/proc
    try mount -t sysfs sys /root/sys
    try mount -t devtmpfs dev /root/dev
    try mkdir -p /root/dev/shm /root/dev/pts
    try mount -t tmpfs -o mode=1777 shm /root/dev/shm
    try mount -t devpts pts /root/dev/pts
    try mount -t tmpfs run /root/run
    try mount -t tmpfs -o mode=1777 tmp "/root$directory/tmp"
    # Without a cache: what one guest writes the others and the machine see.
    try mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none shared "/root$directory/shared"
}

# eth0 is the fabric, eth1 the way for commands and stock MPI. Link-local IPv6 would only add chatter
# to the counters; Soft-RoCE has its addresses from IPv4.
bring_up_network() {
    [ ! -e /proc/sys/net/ipv6/conf/all/disable_ipv6 ] || {
        echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
        echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
    }
    try ip link set lo up
    try ip addr add "10.78.0.$((index + 1))/24" dev eth0
    try ip addr add "10.79.0.$((index + 1))/24" dev eth1
    try ip link set eth0 mtu "$(parameter mtu)" up
    try ip link set eth1 up
    try ip route add 224.0.0.0/4 dev eth0
    hostname "g$index"
}

add_device() {
    try chroot /root /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin rdma link add rxe0 type rxe netdev eth0
}

# Root may lock any amount in memory, whatever its limit is, as long as it has the capability.
start_agent() {
    local limit
    limit=$(parameter memlock)
    ulimit -c 0
    if [ "$limit" = unlimited ]; then
        ulimit -l unlimited
        set --
    else
        set -- "$directory/bin/lab-memlock" "$limit"
    fi
    chroot /root "$@" "$directory/bin/guest_agent" "10.79.0.$((index + 1))" 7000
    fail "the agent ended"
}

if [ -n "$(parameter probe)" ]; then
    echo "lab: guest ready"
    poweroff -f
fi
index=$(parameter index)
directory=$(parameter directory)
# A guest that has nothing to do here any more keeps quiet; its console is for its own words.
echo 1 >/proc/sys/kernel/printk
load_modules
mount_root
bring_up_network
[ "$(parameter device)" = none ] || add_device
start_agent
