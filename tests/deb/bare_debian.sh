#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Debian packages of `make deb`, installed on a bare Debian 12 and 13 that debootstrap makes in a folder, from the mirror
# that this machine's apt uses: apt finds what they depend on, the command says what it is, calls of MPI programs are taken under
# Open MPI and MPICH of that Debian, programs for the group and offload libraries are compiled, and with the packages all files
# go. What is made is taken away again. Root and network; what cannot be had is skipped and says why. Called by
# `make test-deb`.
#
#   bare_debian.sh FOLDER-WITH-DEBS [bookworm|trixie]...
set -u

. "$(dirname "$0")/../debian.sh"

packages=$(readlink -f -- "${1:?}") || exit 2
shift
[ $# -gt 0 ] || set -- bookworm trixie
work=$(mktemp -d "${TMPDIR:-/var/tmp}/castoff-deb.XXXXXX") || exit 1

clean_up() {
    trap '' INT TERM HUP # timeout sends a second one, which would end this, too
    [ -z "$child" ] || kill "$child" 2>/dev/null
    unmount_below "$work" && rm -rf --one-file-system "$work"
}
trap clean_up EXIT

ok() { # what, command...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok: $what"
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        tail -n 12 "$work/log" | sed 's/^/    /'
    fi
}

# With processes, mounts and shared memory of its own, which end with the command.
inside() { # command...
    # shellcheck disable=SC2016 # the words are the inner shell's
    quietly "$work/log" unshare --mount --pid --ipc --fork --kill-child sh -c '
        root=$1 && shift
        mount -t proc proc "$root/proc" && mount -t tmpfs -o size=512m shm "$root/dev/shm" || exit 1
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
            OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"' sh "$root" "$@"
}

says() { # pattern
    grep -q -e "$1" "$work/log"
}

installs() { # packages, or files in there, as a shell's word
    inside sh -c "apt-get -q -y --no-install-recommends install $*"
}

runs_program() { # command...
    inside env CASTOFF_REPORT=- CASTOFF_BCAST=yes CASTOFF_ALLGATHER=yes "$@" && says '^castoff report: 2 ranks on 1 node, served'
}

runs_mpich() {
    cp "$(dirname "$0")/../../bench/demo_app.c" "$root/root/" && inside mpicc.mpich -o /root/demo_app /root/demo_app.c &&
        runs_program mpiexec.mpich -n 2 castoff run /root/demo_app
}

compiles_program() { # group or offload
    cat >"$root/root/$1.c" <<END
#include <castoff_$1.h>
int main(void)
{
    return castoff_$1_why() == 0;
}
END
    # shellcheck disable=SC2016 # the words are the inner shell's
    inside sh -c 'cd /root && gcc -o "$0" "$0.c" $(pkg-config --cflags --libs "castoff-$0") && "./$0"' "$1"
}

leaves_nothing() {
    inside dpkg --purge libcastoff-dev castoff || return 1
    find "$root/usr" "$root/etc" "$root/var/lib" -name '*castoff*' ! -path '*/apt/*' >"$work/log"
    [ ! -s "$work/log" ]
}

try_release() {
    root=$work/$release
    quietly "$work/log" debootstrap --variant=minbase "$release" "$root" "$from" ||
        { skip "$release" "debootstrap: $(last_words "$work/log")"; return; }
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null
    apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' >"$root/etc/apt/apt.conf.d/90host"
    mkdir "$root/packages" && cp "$packages"/*.deb "$root/packages/" || { skip "$release" "no packages (make deb)"; return; }
    inside apt-get -q update || { skip "$release" "apt-get update: $(last_words "$work/log")"; return; }
    # What is not castoff's first: without the network that is no failure of castoff.
    installs openmpi-bin libopenmpi-dev mpich libmpich-dev gcc libc6-dev pkg-config libibverbs-dev ||
        { skip "$release" "its packages: $(last_words "$work/log")"; return; }
    ok "$release: castoff installs" installs '/packages/castoff_*.deb'
    ok "$release: castoff --version" eval 'inside castoff --version && says "^castoff [0-9]" && says "^commit  *[0-9a-f]\{7\}" &&
        says "^serves .*Open MPI .*MPICH" && says "^compiler  *gcc"'
    ok "$release: castoff info" eval 'inside castoff info && says "^shm *usable" && says "^MPI here *Open MPI"'
    ok "$release: a program of Open MPI" runs_program castoff mpirun --oversubscribe -n 2 /usr/lib/castoff/bench/demo_app
    ok "$release: a program of MPICH" runs_mpich
    ok "$release: man pages, completion, modulefile, settings" eval 'inside bash -c "gzip -dc /usr/share/man/man1/castoff.1.gz |
        grep -q SYNOPSIS && . /usr/share/bash-completion/completions/castoff 2>&1 && ls /usr/share/castoff/modulefiles/castoff \
        /usr/share/castoff/env.example"'
    ok "$release: libcastoff-dev installs" installs '/packages/libcastoff-dev_*.deb'
    ok "$release: a program for groups" compiles_program group
    ok "$release: a program for proxies" compiles_program offload
    ok "$release: nothing is left" leaves_nothing
    rm -rf --one-file-system "$root"
}

[ "$(id -u)" -eq 0 ] || { skip "bare Debians" "needs root"; finish; }
command -v debootstrap >/dev/null || { skip "bare Debians" "there is no debootstrap"; finish; }
from=$(mirror)
[ -n "$from" ] || { skip "bare Debians" "this machine's apt knows no mirror"; finish; }
for release in "$@"; do
    try_release
done
finish
