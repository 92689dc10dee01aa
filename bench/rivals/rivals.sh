#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Reliable multicast by other means: sends 32 MiB to 7 hosts of the laboratory with udpcast, uftp and NORM at several
# settings each, checks every byte, and prints for each
#   rate rival setting whole_s transfer_s ok|WRONG
# where whole includes the rival's start-up, transfer is that less the same with a file of one byte. Needs root and the
# Debian packages udpcast, uftp, libnorm-dev and g++.
#   bench/rivals/rivals.sh [RATE...]        200mbit and none by default
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-rivals.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
PATH=$PATH:/usr/sbin:/sbin
for tool in udp-sender uftp uftpd g++; do
    command -v "$tool" >/dev/null || {
        echo "rivals: skipped: $tool is missing; root must install udpcast, uftp, libnorm-dev and g++" >&2
        exit 77
    }
done
g++ -std=c++17 -O2 -Wall -Wextra -o "$work/norm_file" "$here/norm_file.cpp" -lnorm || exit 77
head -c 33554432 /dev/urandom >"$work/large"
head -c 1 /dev/urandom >"$work/small"

# Settings worth trying, of those tried: rates just under the link's, and as fast as it goes.
settings_for() { # rate
    if [[ $1 == none ]]; then
        echo "udpcast max" "udpcast 2000000" "uftp max" "uftp 1000000" "uftp 500000" "norm 500000" "norm 1000000"
    else
        local kbit=${1%mbit}000
        echo "udpcast max" "udpcast $((kbit * 95 / 100))" "uftp $((kbit * 92 / 100))" "uftp $((kbit * 95 / 100))" \
            "norm $((kbit * 90 / 100))" "norm $((kbit * 93 / 100))"
    fi
}

one_rate() { # rate
    local words rival setting small large
    read -r -a words <<<"$(settings_for "$1")"
    for ((i = 0; i < ${#words[@]}; i += 2)); do
        rival=${words[i]} setting=${words[i + 1]}
        small=$("$here/../../tests/lab/lab.sh" --hosts 8 --rate "$1" -- \
            "$here/inside.sh" "$rival" "$setting" "$work/small" "$work/norm_file") || return
        large=$("$here/../../tests/lab/lab.sh" --hosts 8 --rate "$1" -- \
            "$here/inside.sh" "$rival" "$setting" "$work/large" "$work/norm_file") || return
        awk -v rate="$1" -v small="$small" -v large="$large" 'BEGIN {
            split(small, s); split(large, l)
            printf "%s %s %s %.3f %.3f %s\n", rate, l[1], l[2], l[4], l[4] - s[4], s[5] == "ok" ? l[5] : s[5]
        }'
    done
}

echo "# rate rival setting whole_s transfer_s check"
for rate in "${@:-200mbit}"; do
    one_rate "$rate"
done
[[ $# -gt 0 ]] || one_rate none
