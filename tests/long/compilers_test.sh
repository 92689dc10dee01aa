#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff builds without a warning with the compilers of Debian 12 and 13: here, with gcc and clang, and, as root, in a
# Debian 13 of its own (GCC 13 and 14, clang 19), which debootstrap makes from the mirror that this machine's apt uses; what
# clang 19 builds passes the unit tests there. With clang the libraries and the command are also linked as CFLAGS="-O2 -g -flto"
# asks for it. What is made is taken away again. What cannot be had is skipped and says why.
#
#   compilers_test.sh [--root FOLDER] [COMPILER...]
#
# --root: the Debian 13 is there, or is made there, and stays. Compilers: these alone, of gcc, clang, clang-lto, gcc-13, gcc-14,
# clang-19.
set -u

cd "$(dirname "$0")/../.." || exit 2
. tests/debian.sh
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/castoff-compilers.XXXXXX") || exit 1
root=$work/debian13
[ "${1:-}" != --root ] || { root=${2:?} && shift 2; }
chosen=("$@")

clean_up() {
    trap '' INT TERM HUP # timeout sends a second one, which would end this, too
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

# Makes a target of the programs of tests/unit, which are built there and not run.
# shellcheck disable=SC2016 # variables of make
unit_programs=(--eval '.SECONDEXPANSION:' --eval 'unit-programs: $$(UNIT_PROGS)')

targets=(unit-programs all examples bench-programs bench-micro)

# with COMPILER WHERE COMMAND...: builds there with the compiler, warnings as errors. The command is one that a signal ends.
with() {
    local what="$1 $2" log=$work/$1.${2// /-}.log compiler=$1
    shift 2
    if "$@" "${unit_programs[@]}" CC="$compiler" CI=true "${targets[@]}" >"$log" 2>&1 &&
        ! grep -qi 'warning:' "$log"; then
        passed=$((passed + 1))
        echo "$what: builds ($("$@" -s --eval 'say-compiler:; @$(CC) --version | head -n 1' CC="$compiler" say-compiler 2>/dev/null))"
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        grep -iE -m 20 'warning:|error:|\*\*\*' "$log" || tail -n 20 "$log"
    fi
}

is_chosen() {
    [ ${#chosen[@]} -eq 0 ] || [[ " ${chosen[*]} " == *" $1 "* ]]
}

for compiler in gcc clang; do
    is_chosen "$compiler" || continue
    if command -v "$compiler" >/dev/null; then
        with "$compiler" "of this machine" waited make -s -j "$jobs" BUILD="$work/$compiler"
        rm -rf "${work:?}/$compiler"
    else
        skip "$compiler of this machine" "is not there"
    fi
done
if is_chosen clang-lto && command -v clang >/dev/null; then
    targets=(all)
    with clang "of this machine, -flto" waited make -s -j "$jobs" BUILD="$work/clang-lto" CFLAGS="-O2 -g -flto"
    targets=(unit-programs all examples bench-programs bench-micro)
fi

is_chosen gcc-13 || is_chosen gcc-14 || is_chosen clang-19 || finish
[ "$(id -u)" -eq 0 ] || { skip "Debian 13" "needs root"; finish; }
# shellcheck disable=SC2046,SC2016 # a list of words; variables of make
debian_13 $(packages_of '$(DEPS_BUILD) $(DEPS_FAST) gcc-13 clang-19 libcmocka-dev python3 procps iproute2') >"$work/why" ||
    { skip "Debian 13" "$(last_words "$work/why")"; finish; }
copy_tree "$root/compilers" || { skip "Debian 13" "no room for the sources"; finish; }
for compiler in gcc-13 gcc-14 clang-19; do
    ! is_chosen "$compiler" || with "$compiler" "of Debian 13" inside make -s -C /compilers -j "$jobs" BUILD="build-$compiler"
done
is_chosen clang-19 || finish
echo "== unit tests, built by clang-19"
inside make -s -C /compilers -j "$jobs" BUILD=build-clang-19 CC=clang-19 CI=true unit >"$work/unit.log" 2>&1
status=$?
line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/unit.log" | tail -n 1)
grep -A 20 'FAILED' "$work/unit.log" || [ "$status" -eq 0 ] || tail -n 20 "$work/unit.log"
read -r one _ two _ three _ <<<"${line//,/}"
passed=$((passed + ${one:-0})) failed=$((failed + ${two:-1})) skipped=$((skipped + ${three:-0}))
finish
