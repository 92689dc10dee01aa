#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A folder whose path has a blank or a colon: what cannot work there says so at once, in one line, and nothing else.
. "$(dirname "$0")/check.sh"

said_once() { [ "$(grep -c "$1" "$work/err")" -eq 1 ] && [ "$(grep -c . "$work/err")" -eq 1 ]; }

for name in 'a folder' a:folder; do
    mkdir "$work/$name"
    cp -r "$top/Makefile" "$top/mk" "$work/$name"
    case $name in *:*) fault=colon ;; *) fault=blank ;; esac
    for goal in demo test bench-all; do
        run make -C "$work/$name" --no-print-directory $goal
        ok "$name: make $goal: status 2" status_is 2
        ok "$name: make $goal: said" said_once "has a $fault, and nothing can be preloaded from there: move it.  Stop"
        ok "$name: make $goal: nothing is done" [ ! -s "$work/out" ]
    done
    run make -C "$work/$name" --no-print-directory clean
    ok "$name: make clean: works" status_is 0
    ok "$name: make clean: said" said_once "has a $fault, .* or use castoff from where make install puts it"
done
mkdir "$work/folder"
cp -r "$top/Makefile" "$top/mk" "$work/folder"
run make -C "$work/folder" --no-print-directory clean
ok "a folder without either: nothing is said" err_is_empty
finish
