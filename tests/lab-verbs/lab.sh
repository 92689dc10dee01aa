#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Raises a laboratory of N guests with Soft-RoCE on this machine, runs one command beside them and
# takes everything down again, whatever happens: as tests/lab/lab.sh, whose outer half this uses.
# Guests are virtual machines with Debian's kernel and this machine's files; raise.sh boots them.
# Called by people and tests.

set -u

usage() {
    cat <<'USAGE'
usage: tests/lab-verbs/lab.sh --guests N [options] -- COMMAND [ARGUMENT...]
  --guests N            guests g0 ... g(N-1), 1 to 8
  --mtu BYTES           largest packet of the fabric (4500, which carries RoCE's 4096)
  --memlock KIB         memory that a process in a guest may lock, or unlimited (the default)
  --memory MIB          memory of a guest (1024)
  --loss PERMILLE       drop that many RoCE packets of 1000 on their way to each guest
  --no-device           guests without an RDMA device
  --ranks-per-guest K   slots that mpirun gets in each guest (1)
  --accel KIND          kvm, tcg (emulation), or auto (the default: kvm where a guest boots with it)
  --patience SECONDS    how long guests may do nothing, or work, before they are up (180)
  --prefix NAME         first part of the lab's name (castoff-verbs)
COMMAND runs on this machine, in the lab's network; tests/lab-verbs/README.md lists the helper
commands it finds there. LAB_VERBS_CACHE names the folder for the kernel, by default
castoff/lab-verbs in $XDG_CACHE_HOME or ~/.cache; remove it to get a newer one.
exit status: the command's; 2 wrong usage; 77 no lab possible here; 125 raising failed;
             128 + signal when interrupted
USAGE
}

parse_options() {
    while (($# > 0)); do
        case $1 in
            --no-device) LAB_DEVICE=none && shift && continue ;;
            --help | -h) usage && exit 0 ;;
            --) shift && break ;;
            --guests | --mtu | --memlock | --memory | --loss | --ranks-per-guest | --accel | --patience | --prefix)
                (($# >= 2)) || refuse "$1 needs a value" ;;
            *) refuse "unknown option '$1'; is '--' missing before the command?" ;;
        esac
        case $1 in
            --guests) LAB_GUESTS=$2 ;;
            --mtu) LAB_MTU=$2 ;;
            --memlock) LAB_MEMLOCK=$2 ;;
            --memory) LAB_MEMORY=$2 ;;
            --loss) LAB_LOSS=$2 ;;
            --ranks-per-guest) LAB_RANKS_PER_GUEST=$2 ;;
            --accel) LAB_ACCEL=$2 ;;
            --patience) LAB_PATIENCE=$2 ;;
            --prefix) prefix=$2 ;;
        esac
        shift 2
    done
    command=("$@")
}

check_options() {
    [[ -n $LAB_GUESTS ]] || refuse "--guests is missing"
    need_number --guests "$LAB_GUESTS" 1 8
    need_number --mtu "$LAB_MTU" 1280 9000
    [[ $LAB_MEMLOCK == unlimited || $LAB_MEMLOCK =~ ^[0-9]{1,9}$ ]] ||
        refuse "--memlock needs a number of KiB, or unlimited, not '$LAB_MEMLOCK'"
    need_number --memory "$LAB_MEMORY" 256 8192
    need_number --loss "$LAB_LOSS" 0 1000
    need_number --ranks-per-guest "$LAB_RANKS_PER_GUEST" 1 64
    need_number --patience "$LAB_PATIENCE" 1 3600
    [[ $LAB_ACCEL =~ ^(auto|kvm|tcg)$ ]] || refuse "--accel is auto, kvm or tcg, not '$LAB_ACCEL'"
    check_command
    # Numbers with leading zeros would be taken for octal ones later.
    LAB_GUESTS=$((10#$LAB_GUESTS)) LAB_LOSS=$((10#$LAB_LOSS)) LAB_RANKS_PER_GUEST=$((10#$LAB_RANKS_PER_GUEST))
    LAB_PATIENCE=$((10#$LAB_PATIENCE))
}

check_machine() {
    local tool missing=()
    local packages="qemu-system-x86 busybox-static kmod cpio iproute2 nftables (make deps installs them) and gcc"
    [[ $(uname -m) == x86_64 ]] || skip "the guests are x86-64 and this machine is $(uname -m)"
    for tool in qemu-system-x86_64 python3 busybox depmod cpio ip bridge nft rdma unshare setpriv flock apt-get dpkg-deb "${CC:-cc}"; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || missing+=("$tool")
    done
    ((${#missing[@]} == 0)) || skip "${missing[*]} missing: root must install the packages $packages"
    ! ldd "$(command -v busybox)" >/dev/null 2>&1 || skip "busybox is not the static one: install busybox-static"
    ((EUID == 0)) || skip "the lab needs root"
    unshare --mount --net --pid --ipc --uts --fork true 2>/dev/null ||
        skip "this machine does not let root make namespaces (a container without privileges?)"
    # Read and write: the probe may not leave the namespace it runs in.
    unshare --net sh -c 'ip link add name b0 type bridge && ip tuntap add t0 mode tap &&
        ip link set t0 master b0 && nft add table bridge t' >/dev/null 2>&1 ||
        skip "this kernel lacks one of bridge, tap devices, nftables for bridges, or root may not use it"
    local free_mib
    free_mib=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
    ((free_mib > LAB_GUESTS * 400)) ||
        skip "$LAB_GUESTS guests need $((LAB_GUESTS * 400)) MiB of memory and $free_mib are free"
}

# Sets LAB_ACCEL. Where /dev/kvm opens, guests may still hang or fail in it (a virtual machine without
# nested virtualization): only a guest that boots proves it, once for each start of the machine.
choose_accelerator() {
    [[ $LAB_ACCEL == auto ]] || return 0
    local known=$cache/accel boot answer
    boot=$(cat /proc/sys/kernel/random/boot_id)
    if [[ $(cat "$known" 2>/dev/null) != "$boot "* ]]; then
        answer=tcg
        [[ ! -w /dev/kvm ]] || ! boots_with_kvm || answer=kvm
        echo "$boot $answer" >"$known.$$" && mv "$known.$$" "$known"
    fi
    read -r boot LAB_ACCEL <"$known"
}

boots_with_kvm() {
    cat "$cache/current/base.cpio" <(cd "$here" && pack_init) >"$cache/probe.$$" || return 1
    timeout -k 1 15 qemu-system-x86_64 -accel kvm -cpu max -m 512 -nodefaults -display none -no-reboot -serial stdio \
        -kernel "$cache/current/kernel" -initrd "$cache/probe.$$" \
        -append "console=ttyS0 quiet panic=-1 lab.probe=1" </dev/null 2>/dev/null | grep -q "lab: guest ready"
    local status=$?
    rm -f "$cache/probe.$$"
    return "$status"
}

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 125
# shellcheck source=tests/lab/lab_outer.sh
. "$here/../lab/lab_outer.sh"
# shellcheck source=tests/lab-verbs/pack_init.sh
. "$here/pack_init.sh"
LAB_GUESTS="" LAB_MTU=4500 LAB_MEMLOCK=unlimited LAB_MEMORY=1024 LAB_LOSS=0 LAB_DEVICE=rxe
LAB_RANKS_PER_GUEST=1 LAB_ACCEL=auto LAB_PATIENCE=180
prefix=castoff-verbs command=()

parse_options "$@"
check_options
check_machine
export PATH=$PATH:/usr/sbin:/sbin
cache=${LAB_VERBS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/castoff/lab-verbs}
"$here/image.sh" "$cache" || exit
choose_accelerator
export LAB_GUESTS LAB_MTU LAB_MEMLOCK LAB_MEMORY LAB_LOSS LAB_DEVICE LAB_RANKS_PER_GUEST LAB_ACCEL LAB_PATIENCE
export LAB_IMAGE=$cache/current
keep_lab
