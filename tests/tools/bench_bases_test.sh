#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What castoff is held against by bare sockets (bench/micro): that the base of figure M10 has buffers.
. "$(dirname "$0")/check.sh"

make -s -C "$top" bench-micro >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
udp_speed=$build/bench/micro/udp_speed

landed() { # condition on the share of what each receiver had put where it goes
    awk "/^receiver .* landed/ { n += \$5 $1 } END { exit n != 2 }" "$work/out"
}
run "$udp_speed" here lo 2 16
ok "sockets alone: status 0" status_is 0
ok "sockets alone: everything arrives" [ "$(grep -c ' 0.0 % lost' "$work/out")" -eq 2 ]
ok "sockets alone: put where it goes" landed '> 0'
ok "sockets alone: processor time of each" [ "$(grep -cE '^used (sender|receiver) [0-9]+ [0-9.]+ [0-9.]+$' "$work/out")" -eq 3 ]
run "$udp_speed" here lo 2 16 untouched
ok "untouched: status 0" status_is 0
ok "untouched: nothing is put anywhere" landed '== 0'
run "$udp_speed" here lo 2 16 unknown
ok "another word: status 2" status_is 2

finish
