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
ok "the modulefile knows where" grep -qx "set prefix {$prefix}" "$prefix"/share/castoff/modulefiles/castoff/[0-9]*
for library in group offload; do
    ok "pkg-config's file of castoff-$library knows where" grep -qx "prefix=$prefix" "$prefix/lib/pkgconfig/castoff-$library.pc"
    command -v pkg-config >/dev/null || { skip "a program for castoff-$library" "no pkg-config"; continue; }
    printf '#include <castoff_%s.h>\nint main(void)\n{\n    return castoff_%s_why() == 0;\n}\n' $library $library >"$work/$library.c"
    # shellcheck disable=SC2046 # words
    run ${CC:-cc} -o "$work/$library" "$work/$library.c" \
        $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs castoff-$library)
    ok "a program for castoff-$library is compiled" status_is 0
    run "$work/$library"
    ok "and finds the library" status_is 0
done
ok "what scripts of the laboratory source is not executable" [ ! -x "$prefix/share/castoff/lab/switches.sh" ]
run make -s -C "$top" uninstall PREFIX="$prefix"
ok "uninstall leaves no file" [ -z "$(find "$prefix" ! -type d)" ]
run make -s -C "$top" install PREFIX=/proc/nowhere
ok "where nothing can be installed: status 2" status_is 2
ok "where nothing can be installed: what to do, before anything is tried" \
    [ "$(grep -c '^install: ' "$work/err")" -eq 0 -a "$(grep -c '^make install: .*/proc/nowhere.*PREFIX=FOLDER' "$work/err")" -eq 1 ]
run make -s -C "$top" -n install prefix=/opt/here DESTDIR=/stage
ok "prefix= and DESTDIR=" out_has "'/stage/opt/here/bin'\$"

stage="$work/a stage's é"
mkdir -p "$work/a" "$work/other place"
run make -s -C "$top" install PREFIX=/opt/here DESTDIR="$stage"
ok "DESTDIR with blanks, a quote and a letter beyond ASCII: status 0" status_is 0
run "$stage/opt/here/bin/castoff" --version
ok "the command is there" status_is 0
run make -s -C "$top" uninstall PREFIX=/opt/here DESTDIR="$stage"
ok "uninstall leaves no file there" [ -z "$(find "$stage" ! -type d)" ]
ok "and takes nothing whose name that one begins with" [ -d "$work/a" ]
run make -s -C "$top" uninstall PREFIX="$work/other place"
ok "uninstall from a PREFIX with a blank takes nothing else" [ -d "$work/other place" ]

# What shells and sed have other uses for.
odd="$work/a+b~c's&d|e(é);\\f"
run make -s -C "$top" install PREFIX="$odd"
ok "a PREFIX of odd letters: status 0" status_is 0
run "$odd/bin/castoff" --version
ok "the command is there" status_is 0
ok "the modulefile knows where" grep -qxF "set prefix {$odd}" "$odd"/share/castoff/modulefiles/castoff/[0-9]*
ok "and pkg-config" grep -qxF "prefix=$odd" "$odd/lib/pkgconfig/castoff-group.pc"
run make -s -C "$top" uninstall PREFIX="$odd"
ok "uninstall leaves no file there" [ -z "$(find "$odd" ! -type d)" ]

for prefix in "$work/a prefix" "$work/a:prefix"; do
    run make -s -C "$top" install PREFIX="$prefix"
    ok "a PREFIX from which nothing can be preloaded is refused: status" [ "$status" -ne 0 ]
    ok "and why" err_has 'nothing can be preloaded from there'
    ok "and nothing is installed" [ ! -e "$prefix" ]
done
finish
