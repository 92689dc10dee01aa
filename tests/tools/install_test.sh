#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# make install and uninstall: what is installed works from there, without this tree's library and programs, holds no
# tests, and goes again.
. "$(dirname "$0")/check.sh"

prefix=$work/prefix
run make -s -C "$top" install PREFIX="$prefix"
ok "install: status 0" status_is 0
run "$prefix/bin/castoff" run -n -- true
ok "the library is found beside the command" out_has "^LD_PRELOAD=$prefix/lib/castoff/libcastoff.so true\$"
run "$prefix/share/castoff/lab/lab.sh" --help
ok "the laboratory has its script" out_has '^usage: '
ok "and no tests" [ -z "$(find "$prefix" -name '*_test*')" ]
if command -v mpirun >/dev/null; then
    run "$prefix/bin/castoff" bench -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls bcast
    ok "bench finds its program" out_has '^ *8 .* ok '
else
    skip "bench" "no mpirun"
fi
ok "completion, man pages and settings" [ -s "$prefix/share/bash-completion/completions/castoff" -a -s "$prefix/share/man/man7/castoff.7" \
    -a -s "$prefix/share/castoff/env.example" ]
ok "the modulefile knows where" grep -qx "set prefix $prefix" "$prefix"/share/castoff/modulefiles/castoff/[0-9]*
ok "pkg-config's file knows where" grep -qx "prefix=$prefix" "$prefix/lib/pkgconfig/castoff-group.pc"
if command -v pkg-config >/dev/null; then
    printf '#include <castoff_group.h>\nint main(void)\n{\n    return castoff_group_why() == 0;\n}\n' >"$work/group.c"
    # shellcheck disable=SC2046 # words
    run ${CC:-cc} -o "$work/group" "$work/group.c" $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs castoff-group)
    ok "a program for groups is compiled" status_is 0
    run "$work/group"
    ok "and finds the library" status_is 0
else
    skip "a program for groups" "no pkg-config"
fi
run make -s -C "$top" uninstall PREFIX="$prefix"
ok "uninstall leaves no file" [ -z "$(find "$prefix" ! -type d)" ]
run make -s -C "$top" -n install prefix=/opt/here DESTDIR=/stage
ok "prefix= and DESTDIR=" out_has '/stage/opt/here/bin$'
finish
