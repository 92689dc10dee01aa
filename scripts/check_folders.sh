#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A folder is one idea and has at most 25 .c files; no two files of src and tools have one name, nor two structs, enums or
# unions that more than one file may see (those begin with co_). Called by scripts/check_style.sh in the top folder with
# all files.
set -u

most=25
# tests/mpi has a program a file.
known() {
    case $1 in
    tests/mpi) echo 1000 ;;
    *) echo "$most" ;;
    esac
}
# What a transport's contract leaves open, and each transport has as its own.
opaque='co_(loan|region)'

status=0
while read -r count folder; do
    if [ "$count" -gt "$(known "$folder")" ]; then
        echo "$folder: $count .c files, at most $(known "$folder")"
        status=1
    fi
done < <(printf '%s\n' "$@" | grep '\.c$' | sed 's|/[^/]*$||' | sort | uniq -c)

mapfile -t code < <(printf '%s\n' "$@" | grep -E '^(src|tools)/.*\.[ch]$')
while read -r name; do
    printf '%s\n' "${code[@]}" | grep "/$name\$"
    echo "  two files have one name"
    status=1
done < <(printf '%s\n' "${code[@]}" | sed 's|.*/||' | sort | uniq -d)

# file:line:tag of each that is defined
tags=$(grep -nHoE '^(typedef )?(struct|enum|union) co_[a-z0-9_]+ *\{' "${code[@]}" /dev/null |
    sed -E 's/:(typedef )?(struct|enum|union) (co_[a-z0-9_]+) *\{/:\3/')
while read -r tag; do
    grep -E ":$tag\$" <<<"$tags"
    echo "  two structs or enums have one name"
    status=1
done < <(sed 's/.*://' <<<"$tags" | grep . | grep -vxE "$opaque" | sort | uniq -d)
exit "$status"
