#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The datapath kernel and the matcher's lane need nothing but a processor, on x86-64 and on RV64: no libc, and no
# function that a compiler would like to call. Both architectures come to the same results. Says how many instructions
# they take; that is a figure (M19), not a test.
. "$(dirname "$0")/check.sh"

rv64=riscv64-linux-gnu
flags="-std=gnu17 -O2 -I$top/src -fPIC -fvisibility=hidden -Wall -Wextra $warnings_fail -ffreestanding -nostdlib -r"

# Whether a freestanding object of the file leaves no name open.
is_free() { # architecture's prefix, file
    # shellcheck disable=SC2086 # a list of words
    "$1gcc" $flags -o "$work/object.o" "$2" && "$1nm" -u "$work/object.o" >"$work/open" || return 2
    if [ -s "$work/open" ]; then
        echo "$2 needs" $(cat "$work/open") >"$work/err"
        return 1
    fi
}
is_not_free() { ! is_free "$@" && [ -s "$work/open" ]; }

cat >"$work/dependent.c" <<'C'
void copy(char *to, const char *from, unsigned long count);
void copy(char *to, const char *from, unsigned long count)
{
    __builtin_memcpy(to, from, count);
}
C
for prefix in "" $rv64-; do
    if ! command -v ${prefix}gcc >/dev/null; then
        skip "what they need, RV64" "no ${prefix}gcc"
        continue
    fi
    ok "what needs a function is found out, ${prefix:-x86-64}" is_not_free "$prefix" "$work/dependent.c"
    for file in src/mcast/receive/datapath.c src/matching/match_lane.c; do
        ok "$file needs nothing, ${prefix:-x86-64}" is_free "$prefix" "$top/$file"
    done
done

if ! command -v $rv64-gcc >/dev/null || ! command -v qemu-riscv64 >/dev/null; then
    skip "the same results on RV64" "no $rv64-gcc or no qemu-riscv64"
    finish
fi
make -s -C "$top" BUILD="$build" kernel-programs || exit 1
here=$build/bench/kernel/x86-64/kernel_count
there=$build/bench/kernel/rv64/kernel_count
"$here" >"$work/cases" || exit 1
for case in $(cut -f 1 "$work/cases"); do
    for count in 32 3072; do
        run "$here" "$case" $count
        ok "$case, $count: right" status_is 0
        cp "$work/out" "$work/first"
        run qemu-riscv64 "$there" "$case" $count
        ok "$case, $count: the same on RV64" cmp "$work/first" "$work/out"
    done
done
run "$here" staged 64
ok "another number, another result" [ "$(cat "$work/first")" != "$(cat "$work/out")" ]
run "$here" staged 33
ok "no number of batches: refused" status_is 2
if command -v valgrind >/dev/null; then
    timeout 2000 bash "$top/bench/kernel/count.sh" "$build" staged placed match-lane >"$work/out" 2>"$work/err"
    status=$?
    ok "counted" status_is 0
    cat "$work/out"
    ok "a number for each" [ "$(grep -cE '^(staged|placed|match-lane) +[0-9]+\.[0-9] +[0-9]+\.[0-9] ' "$work/out")" -eq 3 ]
else
    skip "counted" "no valgrind"
fi
finish
