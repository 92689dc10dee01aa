# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What tests share that fetch parts of another Debian: counts and the closing line, commands that a signal ends at once, the
# mirror that this machine's apt uses, and a Debian 13 in the folder $root. Who sources it has `clean_up` of its own, which
# ends $child and removes what is left, and logs in $work.

passed=0 failed=0 skipped=0 child=""
trap 'exit 130' INT TERM HUP

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

skip() { # what, why
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

# In the background and waited for, so that a signal ends this script at once.
waited() { # command...
    "$@" </dev/null &
    child=$!
    wait "$child"
    local status=$?
    child=""
    return $status
}

quietly() { # log, command...
    local log=$1
    shift
    waited "$@" >"$log" 2>&1
}

last_words() { # of a log
    grep -vE '^ *$' "$1" | tail -n 1
}

# What debootstrap has mounted, where it was stopped.
unmount_below() { # folder
    local mounted
    while read -r mounted; do
        umount "$mounted" || return
    done < <(awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r)
}

mirror() {
    apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        awk '$2 == "main" && $1 !~ /security/ { print $1; exit }'
}

# apart COMMAND...: with mounts and processes of its own, which end with it, however that comes.
apart() {
    waited unshare --mount --pid --fork --kill-child=KILL "$@"
}

# Not by chroot alone: in a folder that is no root of mounts the kernel makes no name spaces, as the laboratory wants them.
inside() { # command..., in the Debian in $root
    # shellcheck disable=SC2016 # for the shell that it starts
    apart sh -c 'mount --bind "$0" "$0" && cd "$0" && mount -t proc proc proc && mount --rbind /sys sys &&
        mount -t tmpfs tmpfs dev/shm && mount -t tmpfs tmpfs tmp && mkdir -p dev/pts && mount -t devpts -o ptmxmode=0666 devpts dev/pts &&
        pivot_root . mnt && umount -l /mnt && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "$@"' \
        "$root" "$@"
}

# A Debian 13 in $root, unless it is there, and with these packages besides make and gcc. Says why not.
debian_13() { # package...
    local from
    if [ ! -e "$root/castoff-is-ready" ]; then
        command -v debootstrap >/dev/null || { echo "there is no debootstrap"; return 1; }
        from=$(mirror)
        [ -n "$from" ] || { echo "this machine's apt knows no mirror"; return 1; }
        apart debootstrap --variant=minbase --include=make,gcc,ca-certificates trixie "$root" "$from" >"$work/bootstrap.log" 2>&1 ||
            { echo "debootstrap: $(last_words "$work/bootstrap.log")"; return 1; }
        cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null
        apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' >"$root/etc/apt/apt.conf.d/90host"
        touch "$root/castoff-is-ready"
    fi
    # shellcheck disable=SC2016 # for the shell that it starts
    inside dpkg -s "$@" >/dev/null 2>&1 || inside env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get -q update && apt-get -q -y install --no-install-recommends "$@"' sh "$@" >"$work/packages.log" 2>&1 ||
        { echo "its packages: $(last_words "$work/packages.log")"; return 1; }
}

# What git knows and what is new, in place of what was copied before; what was built there stays.
copy_tree() { # folder
    mkdir -p "$1" && find "$1" -mindepth 1 -maxdepth 1 ! -name build ! -name 'build-*' -exec rm -rf {} + &&
        git ls-files -co --exclude-standard -z | tar -c --null --ignore-failed-read --no-recursion -T - | tar -x -C "$1"
}

# Names of packages, those of mk/deps.mk in place of its variables.
packages_of() { # '$(DEPS_BUILD) g++'
    printf 'include mk/deps.mk\nsay:\n\t@echo %s\n' "$1" | make -s -f - say
}
