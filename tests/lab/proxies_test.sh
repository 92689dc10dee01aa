#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Proxies between hosts of the laboratory: the programs of examples/ move the right bytes with one rank a host and with
# two or three, of sizes from a byte up, while a link is down for a while, and where a port is blocked all ranks are told
# so. Afterwards no proxy is left. Inside the laboratory this script runs itself on h0. Needs build/ with examples.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${BUILD:-build}

if [ "${1:-}" != inside ]; then
    total_passed=0 total_failed=0
    for shape in "2 1" "3 2" "2 3"; do
        read -r hosts ranks <<<"$shape"
        log=$(mktemp "${TMPDIR:-/tmp}/castoff-proxies.XXXXXX") || exit 1
        bash tests/lab/lab.sh --hosts "$hosts" --rate 1gbit --ranks-per-host "$ranks" -- bash "$0" inside "$hosts" "$ranks" >"$log" 2>&1
        status=$?
        cat "$log"
        if [ "$status" -eq 77 ]; then
            echo "0 passed, 0 failed, 1 skipped"
            rm -f "$log"
            exit 0
        fi
        counts=$(tail -n 1 "$log" | grep -oE '^[0-9]+ passed, [0-9]+ failed') || counts="0 passed, 1 failed"
        read -r passed _ failed _ <<<"$counts"
        total_passed=$((total_passed + passed))
        total_failed=$((total_failed + failed))
        rm -f "$log"
    done
    echo "$total_passed passed, $total_failed failed, 0 skipped"
    [ "$total_failed" -eq 0 ]
    exit
fi

hosts=$2 a_host=$3
all=$((hosts * a_host))
passed=0 failed=0
work=$CASTOFF_LAB_SHARED

ok() { # what, command...
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $hosts hosts of $a_host ranks: $what"
        sed 's/^/    /' "$work/log"
    fi
}

all_say() { # text that each rank says, program, its arguments
    text=$1 program=$2
    shift 2
    lab-mpirun -n "$all" "$build/examples/$program" "$@" >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ "$status" -eq 0 ] && [ "$(grep -cF -e "$text" "$work/out")" -eq "$all" ]
}

# The link of the last host is down for two seconds, meanwhile: the ring is not through when it is up again.
shaken() {
    all_say "0 bytes are wrong" offload_ring 20000000 10 &
    job=$!
    while kill -0 "$job" 2>/dev/null && ! "$build/castoff" proxy status | grep -q '^proxy'; do
        sleep 0.1
    done
    lab-link "$((hosts - 1))" down
    sleep 2
    kill -0 "$job" 2>/dev/null
    was_shaken=$?
    lab-link "$((hosts - 1))" up
    wait "$job" && [ "$was_shaken" -eq 0 ]
}

# Nobody can connect to the ports of the first host that proxies get; those of mpirun and MPI are lower ones.
blocked() {
    lab-in-host 0 nft 'add table inet wall; add chain inet wall in { type filter hook input priority 0; };
        add rule inet wall in iifname != "lo" tcp dport 10000-65535 tcp flags & (syn | ack) == syn drop' || return 1
    lab-mpirun --mca oob_tcp_dynamic_ipv4_ports 5000-5100 --mca btl_tcp_port_min_v4 6000 --mca btl_tcp_port_range_v4 1000 \
        -n "$all" "$build/examples/offload_ring" 1000 1 >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    lab-in-host 0 nft 'delete table inet wall'
    [ "$status" -ne 0 ] && grep -q 'its proxy does not reach another one: host h' "$work/out"
}

none_left() {
    for host in $(seq 0 $((hosts - 1))); do
        for _ in $(seq 300); do
            lab-in-host "$host" "$build/castoff" proxy status | grep -q '^no proxies' && continue 2
            sleep 0.05
        done
        lab-in-host "$host" "$build/castoff" proxy status
        return 1
    done
}

for bytes in 1 1000 70000 4194305; do
    ok "a ring of $bytes bytes" all_say "0 bytes are wrong" offload_ring "$bytes" 3
done
ok "a chain of 3 MB" all_say "before it waited, 3000000 afterwards" offload_forward 3000000
for bytes in 1 5000 300000; do
    ok "an all-to-all of $bytes bytes" all_say "by a group, 0 bytes are wrong" offload_all_to_all "$bytes" 3
done
ok "a link that is down for two seconds" shaken
[ "$a_host" -gt 1 ] || ok "a port that is blocked" blocked
ok "no proxy is left" none_left
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
