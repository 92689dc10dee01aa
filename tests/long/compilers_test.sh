#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff builds without a warning with the compilers of Debian 12 and 13: here, with gcc and clang, and, as root, in a
# Debian 13 of its own (GCC 14, clang 19), which debootstrap makes from the mirror that this machine's apt uses. What is
# made is taken away again. Only a build that fails is a failure: what cannot be had is skipped and says why.
#
#   compilers_test.sh [--keep]    leaves the Debian 13 and says where
set -u

cd "$(dirname "$0")/../.." || exit 2
. tests/debian.sh
keep=""
[ "${1:-}" = --keep ] && keep=yes
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/castoff-compilers.XXXXXX") || exit 1
root=$work/debian13

clean_up() {
    trap '' INT TERM HUP # timeout sends a second one, which would end this, too
    [ -z "$child" ] || kill "$child" 2>/dev/null
    unmount_below "$root" || return
    if [ -n "$keep" ]; then
        echo "kept: $work"
    else
        rm -rf --one-file-system "$work"
    fi
}
trap clean_up EXIT

# with COMPILER WHERE COMMAND...: builds there with the compiler, warnings as errors.
with() {
    local what="$1 $2" log=$work/$1.${2// /-}.log compiler=$1
    shift 2
    if quietly "$log" "$@" CC="$compiler" CI=true all bench-programs bench-micro && ! grep -qi 'warning:' "$log"; then
        passed=$((passed + 1))
        echo "$what: builds ($("$@" -s --eval 'say-compiler:; @$(CC) --version | head -n 1' CC="$compiler" say-compiler 2>/dev/null))"
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        grep -iE -m 20 'warning:|error:|\*\*\*' "$log" || tail -n 20 "$log"
    fi
}

for compiler in gcc clang; do
    if command -v "$compiler" >/dev/null; then
        with "$compiler" "of this machine" make -s -j "$jobs" BUILD="$work/$compiler"
        rm -rf "${work:?}/$compiler"
    else
        skip "$compiler of this machine" "is not there"
    fi
done

tree() { # into the new system: what git knows and what is new, and nothing that was built
    mkdir "$root/castoff" && git ls-files -co --exclude-standard -z |
        tar -c --null --ignore-failed-read --no-recursion -T - | tar -x -C "$root/castoff"
}

[ "$(id -u)" -eq 0 ] || { skip "Debian 13" "needs root"; finish; }
command -v debootstrap >/dev/null || { skip "Debian 13" "there is no debootstrap"; finish; }
from=$(mirror)
[ -n "$from" ] || { skip "Debian 13" "this machine's apt knows no mirror"; finish; }
quietly "$work/bootstrap.log" debootstrap --variant=minbase --include=make,gcc,clang-19,ca-certificates trixie "$root" "$from" ||
    { skip "Debian 13" "debootstrap: $(last_words "$work/bootstrap.log")"; finish; }
needed=$(printf 'include mk/deps.mk\nsay:\n\t@echo $(DEPS_BUILD) libcmocka-dev\n' | make -s -f - say)
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null
apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' >"$root/etc/apt/apt.conf.d/90host"
# shellcheck disable=SC2086 # a list of words
quietly "$work/packages.log" chroot "$root" env DEBIAN_FRONTEND=noninteractive \
    sh -c 'apt-get -q update && apt-get -q -y install --no-install-recommends "$@"' sh $needed ||
    { skip "Debian 13" "its packages: $(last_words "$work/packages.log")"; finish; }
tree || { skip "Debian 13" "no room for the sources"; finish; }
for compiler in gcc clang-19; do
    with "$compiler" "of Debian 13" chroot "$root" env LC_ALL=C make -s -C /castoff -j "$jobs" BUILD="build-$compiler"
done
finish
