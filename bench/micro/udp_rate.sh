#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The UDP transport alone in the laboratory without shaping: one sender, seven receiving hosts. Prints the line
# `rate_mb_s N`, the payload rate of the slowest receiver, which figure M10 compares the protocol with.
#
#   bench/micro/udp_rate.sh BUILD [HOSTS] [MIB]
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
program=$(cd "${1:-$top/build}" && pwd)/bench/micro/udp_speed
hosts=${2:-8}
mib=${3:-512}
export UDP_RATE_PROGRAM=$program UDP_RATE_HOSTS=$hosts UDP_RATE_MIB=$mib
"$top/tests/lab/lab.sh" --hosts "$hosts" --rate none -- bash -c '
    for ((i = 1; i < UDP_RATE_HOSTS; i++)); do
        lab-in-host "$i" timeout 60 "$UDP_RATE_PROGRAM" receive eth0 >/dev/null &
    done
    timeout 60 "$UDP_RATE_PROGRAM" send eth0 "$((UDP_RATE_HOSTS - 1))" "$UDP_RATE_MIB"
    wait' | tee /dev/stderr | awk '/MB\/s|GB\/s/ { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^MB\/s/) r = $i; if ($(i + 1) ~ /^GB\/s/) r = $i * 1000 } }
    END { if (r != "") print "rate_mb_s", r }'
