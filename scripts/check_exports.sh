#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The preloaded library shows the program only MPI's names and those of src/pmpi/life/sanitizers.c and src/mpi_below/pmix.c,
# and brings nothing but the C library along: anything else could clash with what the program itself uses. Arguments: the
# library. Status 77 while it is not built. Called by scripts/check_style.sh.
set -u

library=$1
status=0
[ -e "$library" ] || exit 77
names=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' | grep -vE '^(P?MPIX?_[A-Z]|PMIx_Init$|__asan_default_options$)' | sort -u)
if [ -n "$names" ]; then
    echo "$library exports more than MPI's names:" $names
    status=1
fi
libraries=$(LC_ALL=C readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libdl|libpthread|libm|librt)\.so\.[0-9]+$|^ld-linux')
if [ -n "$libraries" ]; then
    echo "$library needs more than the C library:" $libraries
    status=1
fi
exit "$status"
