#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The UDP transport alone in the laboratory without shaping: one sender, seven receiving hosts. Prints the line
# `rate_mb_s N`, the payload rate that the slowest receiver leaves the sender, which figure M10 compares the protocol with. WORDS go to
# udp_speed on every host.
#
#   bench/micro/udp_rate.sh BUILD [HOSTS] [MIB] [WORDS]
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
program=$(cd "${1:-$top/build}" && pwd)/bench/micro/udp_speed
hosts=${2:-8}
mib=${3:-512}
export UDP_RATE_WORDS=${4:-} UDP_RATE_PROGRAM=$program UDP_RATE_HOSTS=$hosts UDP_RATE_MIB=$mib
"$top/tests/lab/lab.sh" --hosts "$hosts" --rate none -- bash -c '
    for ((i = 1; i < UDP_RATE_HOSTS; i++)); do
        # shellcheck disable=SC2086 # words, or none
        lab-in-host "$i" timeout 60 "$UDP_RATE_PROGRAM" receive eth0 $UDP_RATE_WORDS >"$CASTOFF_LAB_SHARED/receiver.$i" &
    done
    timeout 60 "$UDP_RATE_PROGRAM" send eth0 "$((UDP_RATE_HOSTS - 1))" "$UDP_RATE_MIB" $UDP_RATE_WORDS
    wait
    cat "$CASTOFF_LAB_SHARED"/receiver.*' | tee /dev/stderr | awk '/^sender: .* GB\/s/ { print "rate_mb_s", $2 * 1000 }'
