#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every header compiles alone, so that nobody must know what to include before it. Tables of rows, which say so in
# their comment, are no headers. Feature macros are the including file's business: a header cannot set them in time.
# Called by scripts/check_style.sh in the top folder with the headers of src and tools.
set -u

mpi_flags=$(mpicc --showme:compile 2>/dev/null)
status=0
for header in "$@"; do
    grep -qi 'no include *guard on purpose' <(head -n 8 "$header" | tr '\n' ' ' | sed 's|//||g; s/  */ /g') && continue
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
