#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What packagers and people with libraries in places of their own give make, in the environment or as its arguments, stands
# in the commands: CPPFLAGS and CFLAGS wherever something is compiled, LDFLAGS wherever something is linked. And whatever is
# written by these comes into its place in one step: a make that is killed leaves nothing that the next one takes for made.
. "$(dirname "$0")/check.sh"

# Nothing is built: for another folder make says all commands.
commands() { # goals [variable=value...], in the environment when $in says env
    goals=$1
    shift
    if [ "$in" = env ]; then set -- env "$@" make; else set -- make "$@"; fi
    # shellcheck disable=SC2086 # a list of words
    "$@" -s -n -C "$top" --no-print-directory V=1 BUILD="$work/build" $goals >"$work/printed" 2>"$work/err" &&
        sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' "$work/printed" >"$work/commands"
}
compiled() { grep -E '^(gcc|mpicc) .* -c [^ ]+\.c ' "$work/commands"; }
linked() { grep -E '^(gcc|mpicc) ' "$work/commands" | grep -vE ' -c [^ ]+\.c '; }
written() { grep -E '^(gcc|mpicc) |[^ ]*ar rcs ' "$work/commands"; }
each_in_one_step() {
    written | awk '
        { for (i = 1; i < NF && $i != "-o" && $i != "rcs"; i++) { } }
        { sub(/ [|][|] [{] rm .*/, "") } # what is left of a compiler that failed
        $(i + 1) !~ /.[.]new[.][$][$]$/ || $(NF - 1) != $(i + 1) || $(NF - 1) != $NF ".new.$$" || $(NF - 3) != "mv" { bad = 1 }
        END { exit bad || NR < 100 }'
}
in_all_of() { # word function
    "$2" >"$work/some"
    [ -s "$work/some" ] && ! grep -vqF -e " $1 " "$work/some"
}

for in in env arguments; do
    # All programs of a kind have the same commands.
    goals="all bench-programs bench-micro examples"
    [ $in = env ] && goals="$goals unit"
    ok "$in: make -n" commands "$goals" CC=gcc MPICC=mpicc CPPFLAGS=-DASKED_CPP CFLAGS='-O2 -DASKED_C' LDFLAGS=-L/asked
    ok "$in: CPPFLAGS" in_all_of -DASKED_CPP compiled
    ok "$in: CFLAGS" in_all_of -DASKED_C compiled
    ok "$in: LDFLAGS" in_all_of -L/asked linked
    ok "$in: into their places in one step" each_in_one_step
done

# The C library warns of _FORTIFY_SOURCE without optimisation.
fortified() { compiled | grep -q -e '-D_FORTIFY_SOURCE=[23] '; }
not_fortified() { compiled | grep -qv -e '-D_FORTIFY_SOURCE=[23] '; }
object=$work/build/obj/src/mcast/wire/wire_describe.o
for flags in -O2 -Os -Og -Ofast '-O0 -O1' '-g -O3 -march=native'; do
    commands "$object" CC=gcc CFLAGS="$flags"
    ok "CFLAGS='$flags': fortified" fortified
done
for flags in -O0 '-O2 -O0' -g; do
    commands "$object" CC=gcc CFLAGS="$flags"
    ok "CFLAGS='$flags': not fortified" not_fortified
done

# With several processes link-time optimisation has a makefile of its own in TMPDIR.
optimized_by() { grep -q -e " -flto=$1 " "$work/commands" && ! grep -e ' -flto=' "$work/commands" | grep -qv -e " -flto=$1 "; }
in=env
for name in "it's" 'a$b' 'a;b'; do
    commands "$object" CC=gcc TMPDIR="/tmp/$name"
    ok "TMPDIR='/tmp/$name': one process" optimized_by 1
done
commands "$object" CC=gcc TMPDIR='/tmp/a b-c_d.e'
ok "TMPDIR with a blank: several" optimized_by auto

# Which of two of the same name a program gets, or whether it links, is the linker's affair.
run make -s -C "$top" "build/tests/unit/libshared.a"
ok "what unit tests share: built" status_is 0
nm -g --defined-only "$top/build/tests/unit/libshared.a" | awk 'NF == 3 && $2 != "W" { print $3 }' | sort >"$work/names"
ok "it has names" [ -s "$work/names" ]
ok "none twice" [ -z "$(uniq -d "$work/names")" ]
finish
