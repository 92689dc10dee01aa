#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Keeper of one host of the laboratory: gives its fresh namespaces a host name and what a machine of
# its own would have for itself (/sys, /dev/shm, the directory for temporary files), reports that
# they are ready and then sleeps for as long as the host exists. Started by raise.sh, once a host.

set -u

give_up() {
    echo "$1" >"$LAB_DIR/ready"
    exit 1
}

# A fresh /sys shows this host's network; the control groups below the old one stay as they were.
mount_own_sys() {
    mkdir -p "$LAB_DIR/cgroup.$1"
    mount --rbind /sys "$LAB_DIR/cgroup.$1" && mount -t sysfs sysfs /sys || return 1
    [[ ! -d /sys/fs/cgroup ]] || mount --rbind "$LAB_DIR/cgroup.$1/fs/cgroup" /sys/fs/cgroup
    umount --lazy "$LAB_DIR/cgroup.$1" && rmdir "$LAB_DIR/cgroup.$1"
}

hostname "$1" || give_up "no host name"
mount_own_sys "$1" || give_up "no /sys"
mount -t tmpfs -o mode=1777 shm /dev/shm || give_up "no /dev/shm"
mount -t tmpfs -o mode=1777 tmp "$LAB_DIR/tmp" || give_up "no $LAB_DIR/tmp"
# The route to the multicast groups is enough for us; link-local IPv6 would only add chatter to
# the counters.
[[ ! -w /proc/sys/net/ipv6/conf/default/disable_ipv6 ]] ||
    echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
echo ready >"$LAB_DIR/ready"
# The name shows in ps outside which lab a keeper belongs to.
exec -a "${LAB_DIR##*/}-$1" sleep infinity
