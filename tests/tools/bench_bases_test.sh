#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What castoff is held against by bare sockets (bench/micro), and what stands beside figures as a control: that the base of
# figure M10 has buffers, the floor of M7 all its ways, the control of M5 traffic; and whose softirqs M49 counts.
. "$(dirname "$0")/check.sh"

make -s -C "$top" bench-micro >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
udp_speed=$build/bench/micro/udp_speed

landed() { # condition on the share of what each receiver had put where it goes
    awk "/^receiver .* landed/ { n += \$5 $1 } END { exit n != 2 }" "$work/out"
}
run "$udp_speed" here lo 2 16
ok "sockets alone: status 0" status_is 0
# A receiver that the machine does not run for 20 ms is sent more than it has room for.
ok "sockets alone: everything arrives, where nothing was forced" sh -c \
    'grep -q "window forced [1-9]" "$1" || [ "$(grep -c " 0.0 % lost" "$1")" -eq 2 ]' sh "$work/out"
ok "sockets alone: put where it goes" landed '> 0'
ok "sockets alone: processor time of each" [ "$(grep -cE '^used (sender|receiver) [0-9]+( [0-9.]+){5}$' "$work/out")" -eq 3 ]
run "$udp_speed" here lo 2 16 untouched
ok "untouched: status 0" status_is 0
ok "untouched: nothing is put anywhere" landed '== 0'
run "$udp_speed" here lo 2 16 unknown
ok "another word: status 2" status_is 2

run "$build/bench/micro/udp_floor" 0 8 sideways yield 8 1 1 127.0.0.1
ok "floor: a way that is none: status 2" status_is 2
run "$build/bench/micro/udp_floor" 0 8 bcast yield 8 0 1 127.0.0.1
ok "floor: no batch: status 2" status_is 2
if "$top/tests/lab/lab.sh" --hosts 1 -- true >/dev/null 2>&1; then
    run "$top/bench/micro/udp_floor.sh" "$build" 3 5 bcast:64:7 allgather:4:2
    ok "floor: every way of both calls" [ "$(grep -cE '^(bcast 64 7 bcast|allgather 4 2 (collect|direct)) (sleep|yield) [0-9]+\.[0-9]+$' "$work/out")" -eq 6 ]
    run "$top/tests/lab/lab.sh" --hosts 2 --rate 200mbit -- lab-mpirun -n 2 "$build/bench/lab_tax" 65536 2 2000
    ok "tax: all bytes found room" out_has '^65536 2 0 [0-9.]* [0-9.]* -*[0-9.]*$'
else
    skip "floor, tax" "no laboratory here"
fi

# 0.3 s of the sender's 1 s of system time are softirqs (one begins before the count, one ends after it); the receivers had
# 0.1 s between them, nobody 0.05 s, and what another process was interrupted for is not theirs.
cat >"$work/used" <<'END'
words that are none
used sender 0 0.5000 1.0000 2.0000 10.000000 12.000000
used receiver 1 0.1000 0.3000 2.0000 10.000000 12.000000
used receiver 2 0.3000 0.5000 2.0000 10.000000 12.000000
END
cat >"$work/trace" <<'END'
# tracer: nop
     cost-sender-100   [000] ..s1.  9.900000: softirq_entry: vec=3 [action=NET_RX]
     cost-sender-100   [000] ..s1. 10.100000: softirq_exit: vec=3 [action=NET_RX]
     cost-sender-101   [000] ..s1. 10.500000: softirq_entry: vec=2 [action=NET_TX]
   cost-receiver-102   [001] ..s1. 10.550000: softirq_entry: vec=3 [action=NET_RX]
     cost-sender-101   [000] ..s1. 10.600000: softirq_exit: vec=2 [action=NET_TX]
   cost-receiver-102   [001] ..s1. 10.650000: softirq_exit: vec=3 [action=NET_RX]
     ksoftirqd/1-22    [001] ..s1. 10.700000: softirq_entry: vec=3 [action=NET_RX]
     ksoftirqd/1-22    [001] ..s1. 10.720000: softirq_exit: vec=3 [action=NET_RX]
          <idle>-0     [001] ..s1. 10.800000: softirq_entry: vec=3 [action=NET_RX]
          <idle>-0     [001] ..s1. 10.830000: softirq_exit: vec=3 [action=NET_RX]
         another-7     [001] ..s1. 10.900000: softirq_entry: vec=3 [action=NET_RX]
         another-7     [001] ..s1. 11.400000: softirq_exit: vec=3 [action=NET_RX]
     cost-sender-100   [000] ..s1. 11.900000: softirq_entry: vec=3 [action=NET_RX]
     cost-sender-100   [000] ..s1. 12.500000: softirq_exit: vec=3 [action=NET_RX]
END
run python3 -S "$top/bench/softirq.py" "$work/used" "$work/trace"
ok "softirqs of the sender" out_has '^sender 1 0.5000 0.7000 0.3000 2.0000$'
ok "softirqs of receivers, a mean" out_has '^receiver 2 0.2000 0.3500 0.0500 2.0000$'
ok "softirqs of nobody" out_has '^nobody 1 0 0 0.0500 2.0000$'
run python3 -S "$top/bench/softirq.py" "$work/used" --apart 0.25
ok "no trace: they stay in the system time" out_has '^sender 1 0.5000 1.0000 0.0000 2.0000$'
ok "no trace: ksoftirqd's are apart" out_has '^nobody 1 0 0 0.2500 2.0000$'
: >"$work/used"
run python3 -S "$top/bench/softirq.py" "$work/used" "$work/trace"
ok "nothing was used: status 1" status_is 1
if command -v mpirun >/dev/null; then
    make -s -C "$top" bench-programs >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
    run mpirun --oversubscribe -n 2 "$build/bench/cpu_cost" 100000 5
    ok "cost: a line for each rank" [ "$(grep -cE '^used (sender 0|receiver 1)( [0-9.]+){5}$' "$work/out")" -eq 2 ]
else
    skip "cost" "no mpirun"
fi

finish
