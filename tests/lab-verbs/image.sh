#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# image.sh DIRECTORY: sees to it that DIRECTORY/current holds what a guest boots from: Debian's
# ordinary kernel (the cloud kernel has no InfiniBand) and an archive of busybox and of the modules
# that Soft-RoCE, the network and the shared files need, in loading order (base.cpio).
# The package is fetched with apt-get, which checks its signature; what lies in the directory is
# checked against its sums each time, and made anew when it does not fit. Nothing is fetched when it
# fits: remove the directory to get a newer kernel. Several may call this at once.
# Status 0; 77 with the reason where the kernel cannot be had; 125 when the archive cannot be made.
# Called by lab.sh.

set -u

# Soft-RoCE takes its checksum from the kernel's table of algorithms, by name and so unseen by depmod.
modules=(virtio_pci virtio_net 9p 9pnet_virtio overlay crc32_pclmul crc32_generic
    ib_uverbs rdma_ucm rdma_rxe)

give_up() { # status reason
    echo "lab-verbs: $2" >&2
    exit "$1"
}

# A changed list of modules makes another archive.
fits() { # directory
    [[ -r $1/kernel && -r $1/SHA256SUMS && $(cat "$1/modules" 2>/dev/null) == "${modules[*]}" ]] &&
        (cd "$1" && sha256sum --quiet --status -c SHA256SUMS)
}

kernel_package() {
    apt-cache depends linux-image-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }'
}

fetch_kernel() { # directory
    local package
    package=$(kernel_package)
    if [[ -z $package ]]; then
        apt-get -q update >"$1/apt.log" 2>&1
        package=$(kernel_package)
    fi
    [[ -n $package ]] || give_up 77 "skipped: apt-get knows no linux-image-amd64 to boot"
    echo "lab-verbs: fetching $package" >&2
    # An old list names a version that its server has not any more.
    (cd "$1" && { apt-get -q download "$package" || { apt-get -q update && apt-get -q download "$(kernel_package)"; }; }) \
        >"$1/apt.log" 2>&1 ||
        give_up 77 "skipped: $package cannot be fetched ($(grep '^E:' "$1/apt.log" | head -n 1))"
    dpkg-deb --extract "$1"/linux-image-*.deb "$1/package" || give_up 125 "the package of the kernel is damaged"
    rm "$1"/linux-image-*.deb
}

number_at() { # file offset bytes
    od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# An emulated guest unpacks the kernel for half of the time that it boots; qemu also starts one that
# is unpacked already. Where it lies in the file: Documentation/x86/boot.rst of the kernel.
unpack_kernel() { # packed unpacked
    local start bytes
    start=$((($(number_at "$1" 0x1f1 1) + 1) * 512 + $(number_at "$1" 0x248 4)))
    bytes=$(number_at "$1" 0x24c 4)
    tail -c "+$((start + 1))" "$1" | head -c "$bytes" | xz -dc --single-stream >"$2" 2>/dev/null
    # Packed in another way, or no xz here: it boots as it is.
    [[ $(head -c 4 "$2") == $'\x7fELF' ]] || cp "$1" "$2"
}

# Prints the modules and what they need, each after what it needs itself.
loading_order() { # modules.dep names...
    awk -v wanted="${*:2}" -F ': *' '
        function visit(path,   parts, count, i) {
            if (path in seen) return
            seen[path] = 1
            count = split(needs[path], parts, " ")
            for (i = count; i > 0; i--) visit(parts[i])
            print path
        }
        { needs[$1] = $2; name = $1; sub(".*/", "", name); sub("\\.ko.*", "", name); gsub("-", "_", name); path_of[name] = $1 }
        END {
            count = split(wanted, names, " ")
            for (i = 1; i <= count; i++) {
                if (!(names[i] in path_of)) { print "no module " names[i] > "/dev/stderr"; exit 1 }
                visit(path_of[names[i]])
            }
        }' "$1"
}

pack_base() { # directory
    local tree=$1/tree library path
    library=$(echo "$1"/package/lib/modules/*)
    depmod -b "$1/package" "${library##*/}" || give_up 125 "depmod failed"
    mkdir -p "$tree/bin" "$tree/modules" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/host" "$tree/layer" "$tree/root"
    cp "$(command -v busybox)" "$tree/bin/busybox" || give_up 125 "no busybox"
    loading_order "$library/modules.dep" "${modules[@]}" >"$1/order" || give_up 125 "the kernel lacks a module"
    while read -r path; do
        cp "$library/$path" "$tree/modules/" && echo "${path##*/}"
    done <"$1/order" >"$tree/modules/order"
    (cd "$tree" && find . | cpio --quiet -o -H newc) >"$1/base.cpio" || give_up 125 "cpio failed"
}

directory=$1
mkdir -p "$directory" || exit 125
exec {lock}>"$directory/lock"
flock "$lock" || exit 125
! fits "$directory/current" || exit 0
new=$(mktemp -d "$directory/new.XXXXXX") || exit 125
trap 'rm -rf "$new"' EXIT
trap 'exit 143' TERM INT HUP
fetch_kernel "$new"
pack_base "$new"
mkdir "$new/image"
unpack_kernel "$new"/package/boot/vmlinuz-* "$new/image/kernel" && mv "$new/base.cpio" "$new/image/" || exit 125
basename "$new"/package/lib/modules/* >"$new/image/version"
echo "${modules[*]}" >"$new/image/modules"
(cd "$new/image" && sha256sum kernel base.cpio version >SHA256SUMS) || exit 125
rm -rf "$directory/current"
mv "$new/image" "$directory/current"
