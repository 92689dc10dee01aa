#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The version: castoff --version has number, commit, families and compiler; the number is that of the file VERSION, and so is a
# tag of the commit; the tarball of make dist has all that is committed, knows its commit without git, and builds.
. "$(dirname "$0")/check.sh"

cd "$top" || exit 2
number=$(sed -n 1p VERSION)
words=$(make -s version)
run "$castoff" --version
ok "--version: the number of VERSION first" out_has "^castoff $(echo "$number" | sed 's/[.]/[.]/g')\(+[0-9]*\)\?\$"
ok "--version: the commit" out_has "^commit  *\(not known\|[0-9a-f]\{7,\}\(-dirty\)\? of 20[0-9-]*\)\$"
ok "--version: families" out_has '^serves  *Open MPI 4[.]1.*; built with Open MPI'
# What the library accepts (src/mpi_below) is what the table of the command says (tools/launch/families.c).
grep -oh '"Open MPI v[0-9.]*"' src/mpi_below/*.c | tr -d '"' | sort -u >"$work/families"
ok "families that the library accepts" [ -s "$work/families" ]
while read -r family; do
    ok "--version: $family" out_has "^serves .*$(echo "$family" | sed 's/ v/ /; s/[.]/[.]/g')"
done <"$work/families"
ok "--version: the compiler" out_has '^compiler  *\(gcc\|clang\) [0-9][0-9.]* for '
cp "$work/out" "$work/version"
run "$castoff" -V
ok "-V: the same" cmp "$work/version" "$work/out"

if [ -e .git ] && git rev-parse -q --verify HEAD >"$work/head" 2>/dev/null; then
    git tag --points-at HEAD --list 'v[0-9]*' >"$work/out"
    ok "a tag of this commit is VERSION's number" sh -c "! grep -qvx 'v$number' '$work/out'"
    run make -s dist BUILD="$work/dist"
    ok "dist: status 0" status_is 0
    tar -xzf "$work/dist"/castoff-*.tar.gz -C "$work" 2>"$work/err"
    unpacked=$(find "$work" -maxdepth 1 -name 'castoff-[0-9]*')
    (cd "$unpacked" && find . ! -type d | sed 's|^\./||' | sort) >"$work/out"
    git ls-tree -r --name-only HEAD | sort | diff - "$work/out" >"$work/err"
    ok "dist: all files of the commit" err_is_empty
    # Below another project's repository nobody asks that one.
    git init -q "$work" && git -C "$work" -c user.name=t -c user.email=t@t commit -q --allow-empty -m t
    run make -s -C "$unpacked" version
    ok "dist: the commit without git" out_has "^$number[+0-9]* $(cut -c 1-7 "$work/head")[0-9a-f]* 20[0-9-]*\$"
    run make -s -C "$unpacked" build/libcastoff-stack.so
    ok "dist: a library builds" [ -s "$unpacked/build/libcastoff-stack.so" ]
    ok "dist: make says no word of git" err_is_empty
else
    skip "make dist" "this is no git repository"
    case $words in
    *" "*) ok "a tarball knows its commit" true ;;
    *) ok "without git there is the number" [ "$words" = "$number" ] ;;
    esac
fi
finish
