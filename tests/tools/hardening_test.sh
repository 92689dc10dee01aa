#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What is installed is hardened: the command, which is the daemons too, and the libraries. Whatever a program of this
# compiler lacks by default is asked for by the Makefile, so a bare one, built here, must fail each of the same checks.
. "$(dirname "$0")/check.sh"

prefix=$work/prefix
run make -s -C "$top" install PREFIX="$prefix"
ok "install: status 0" status_is 0

binds_now() { readelf -dW "$1" | grep -q 'FLAGS.*NOW'; }
has_relro() { readelf -lW "$1" | grep -q GNU_RELRO; }
has_plain_stack() { readelf -lW "$1" | grep -q 'GNU_STACK.* RW '; }
has_no_writable_code() { ! readelf -dW "$1" | grep -q TEXTREL && ! readelf -lW "$1" | grep -q 'LOAD.* RWE '; }
is_anywhere() { readelf -hW "$1" | grep -q 'Type: *DYN'; }
imports() { readelf --dyn-syms -W "$1" | grep -q " UND $2"; }
has_canaries() { imports "$1" __stack_chk_fail; }
is_fortified() { imports "$1" '__[a-z]*_chk@'; } # __stack_chk_fail ends otherwise
# The compiler's, on whatever may be jumped to.
has_landing_pads() { [ "$(objdump -d "$1" | grep -cE "$pad")" -gt "$2" ]; }
none() { ! "$@"; }

pad=""
case $(uname -m) in
x86_64) pad='endbr64' ;;
aarch64) pad='paciasp|bti|hint.*#0x(19|22)' ;;
esac

cat >"$work/bare.c" <<'END'
#include <stdio.h>
#include <string.h>
int main(int count, char **words) { char line[80]; strcpy(line, words[count - 1]); return puts(line); }
END
${CC:-cc} -O2 -U_FORTIFY_SOURCE -fno-stack-protector -fno-pie -no-pie -Wl,-z,lazy,-z,norelro,-z,execstack \
    -o "$work/bare" "$work/bare.c" 2>/dev/null || exit 1
for check in binds_now has_relro has_plain_stack is_anywhere has_canaries is_fortified; do
    ok "a bare program does not pass $check" none $check "$work/bare"
done

for file in "$prefix/bin/castoff" "$prefix"/lib/castoff/*.so; do
    for check in binds_now has_relro has_plain_stack has_no_writable_code is_anywhere has_canaries; do
        ok "${file##*/}: $check" $check "$file"
    done
    # Of the C library's functions with a room to check, those for stacks and tags call none.
    case ${file##*/} in
    libcastoff-stack.so | libcastoff-gmac.so) ;;
    *) ok "${file##*/}: is_fortified" is_fortified "$file" ;;
    esac
    if [ -n "$pad" ]; then
        # Those of the static C library's start files alone are fewer.
        ok "${file##*/}: has_landing_pads" has_landing_pads "$file" 4
    else
        skip "${file##*/}: has_landing_pads" "not known for this processor"
    fi
done
ok "castoff is a position-independent executable" grep -q PIE <<END
$(readelf -dW "$prefix/bin/castoff")
END
finish
