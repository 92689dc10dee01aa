#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The same sources make the same libraries and the same command, byte by byte, in folders of other names, and also where two
# makes build in one folder at once: both end well, and neither leaves anything of its own there.
#
#   same_bytes_test.sh [--in FOLDER]    in a folder that stays
set -u

cd "$(dirname "$0")/../.." || exit 2
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/castoff-bytes.XXXXXX") || exit 1
place=$work
[ "${1:-}" != --in ] || { mkdir -p "${2:?}" && place=$(cd "$2" && pwd) || exit 1; }
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
# Nothing of the calling make.
unset MAKEFLAGS MAKELEVEL MFLAGS SAN BUILD
passed=0 failed=0
targets=(lib tools modules build/libcastoff-group.so build/libcastoff-offload.so build/bench/coll build/bench/reach)
files=(libcastoff.so castoff libcastoff-verbs.so libcastoff-record.so libcastoff-stack.so libcastoff-group.so
    libcastoff-offload.so bench/coll bench/reach)

ok() { # what command...
    local what=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        tail -n 20 "$work/out"
    fi
}

copy() { # folder
    mkdir -p "$1"
    tar -cf - --exclude=./build --exclude='./build-*' --exclude=./.git . | tar -xf - -C "$1"
}

build() { # folder log
    make -s -j "$jobs" -C "$1" "${targets[@]}" >"$2" 2>&1 || { tail -n 20 "$2"; return 1; }
}

nothing_half_made() {
    [ -z "$(find "$place/one/build" -name '*.new*' -print -quit)" ]
}

copy "$place/one"
copy "$place/another/that-is-deeper"
build "$place/one" "$work/first" &
first=$!
build "$place/one" "$work/second" &
second=$!
ok "two makes at once: the first ends well" wait "$first"
ok "two makes at once: the second ends well" wait "$second"
ok "nothing half made is left" nothing_half_made
ok "another folder" build "$place/another/that-is-deeper" "$work/third"
for file in "${files[@]}"; do
    ok "$file: the same bytes" cmp "$place/one/build/$file" "$place/another/that-is-deeper/build/$file"
done
echo
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
