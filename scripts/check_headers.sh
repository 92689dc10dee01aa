#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every header compiles alone, so that nobody must know what to include before it, and its guard says where it is: where
# the file's name begins with its folder's, that word may stand once. Installed headers have names of their own. Tables of rows, which say so in
# their comment, are no headers. Feature macros are the including file's business: a header cannot set them in time.
# Called by scripts/check_style.sh in the top folder with the headers of src and tools.
set -u

mpi_flags=$(mpicc --showme:compile 2>/dev/null)
status=0
# What stands between CASTOFF_ and _H, of a path without its ending.
guard_of() {
    tr 'a-z/' 'A-Z_' <<<"$1"
}

for header in "$@"; do
    grep -qi 'no include *guard on purpose' <(head -n 8 "$header" | tr '\n' ' ' | sed 's|//||g; s/  */ /g') && continue
    guard=$(sed -n 's/^#ifndef CASTOFF_\(.*\)_H$/\1/p' "$header" | head -n 1)
    path=${header#src/}
    path=${path%.h}
    once=$(sed -E 's#(^|/)([a-z0-9]+)/\2(_|$)#\1\2\3#' <<<"$path")
    case ${path##*/} in
    castoff_*) ;;
    *)
        if [ "$guard" != "$(guard_of "$path")" ] && [ "$guard" != "$(guard_of "$once")" ]; then
            echo "$header: the guard is CASTOFF_$(guard_of "$once")_H"
            status=1
        fi
        ;;
    esac
    flags=""
    case $header in
    src/pmpi/* | src/mpi_below/* | src/record/*) flags=$mpi_flags ;;
    esac
    # shellcheck disable=SC2086 # a list of flags
    if ! ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Isrc -I. $flags -fsyntax-only -x c - <<<"#include \"${header#src/}\"
#include \"${header#src/}\""; then
        echo "$header does not compile alone, or not twice"
        status=1
    fi
done
exit "$status"
