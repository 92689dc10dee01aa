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
run make -s -C "$top" uninstall PREFIX="$prefix"
ok "uninstall leaves no file" [ -z "$(find "$prefix" ! -type d)" ]
finish
