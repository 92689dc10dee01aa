#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Proxies between hosts of the laboratory: the programs of examples/ move the right bytes with one rank a host and with
# two or three, of sizes from a byte to 64 MiB, while a link is down for a while, with TCP segments lost, and by two proxies a
# host; where a port is blocked all ranks are told so; and hosts that are ended, stopped or cut off at the start, in between
# and at the end are an error of the others, that names them, or none. A ring broadcast goes through ranks that are stopped. Afterwards no proxy is left. Inside the laboratory this
# script runs itself on h0. Needs build/ with examples. Arguments choose shapes: "8 1"; "3 2 lossy", of no shape that is
# always run, is all sizes with TCP segments lost, which takes minutes.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${BUILD:-build}

if [ "${1:-}" != inside ]; then
    total_passed=0 total_failed=0
    [ $# -gt 0 ] || set -- "2 1" "3 2" "2 3" "3 1" "8 1"
    for shape in "$@"; do
        read -r hosts ranks what <<<"$shape"
        log=$(mktemp "${TMPDIR:-/tmp}/castoff-proxies.XXXXXX") || exit 1
        bash tests/lab/lab.sh --hosts "$hosts" --rate 1gbit --ranks-per-host "$ranks" -- bash "$0" inside "$hosts" "$ranks" $what >"$log" 2>&1
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

hosts=$2 a_host=$3 only=${4:-}
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
        for _ in $(seq 1200); do
            lab-in-host "$host" "$build/castoff" proxy status | grep -q '^no proxies' && continue 2
            sleep 0.05
        done
        lab-in-host "$host" "$build/castoff" proxy status
        return 1
    done
}

# 5 % of all segments, also those by which mpirun talks.
lossy() { # as all_say
    for host in $(seq 0 $((hosts - 1))); do
        lab-loss "$host" 50 tcp || return 1
    done
    all_say "$@"
    was_right=$?
    for host in $(seq 0 $((hosts - 1))); do
        lab-loss-count "$host"
        [ "$(lab-loss-count "$host" | cut -d ' ' -f 1)" -gt 0 ] || was_right=1
        lab-loss "$host" 0
    done
    [ "$was_right" -eq 0 ]
}

# Sizes are 1, 16, ... bytes: up to 16 MiB.
offload_ping_pong_runs() {
    lab-mpirun -n "$all" "$build/examples/offload_ping_pong" 67108864 1 >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ "$status" -eq 0 ] && [ "$(grep -c ' right$' "$work/out")" -eq 7 ]
}

two_proxies() {
    CASTOFF_PROXIES=2 all_say "0 bytes are wrong" offload_ring 300000 3 &&
        CASTOFF_PROXIES=2 all_say "by a group, 0 bytes are wrong" offload_all_to_all 30000 3
}

# What becomes of the last host: ended, stopped for longer than the deadline, or cut off.
hit_ended() { lab-kill-host "$last"; }
hit_cut() { lab-link "$last" down; }
hit_stopped() { signal_host STOP; }
signal_host() { # signal, of the ranks and proxies of the last host
    network=$(lab-in-host "$last" readlink /proc/self/ns/net)
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/net" 2>/dev/null)" = "$network" ] || continue
        case $(tr '\0' ' ' <"$process/cmdline") in *castoff* | *proxy_rank*) kill "-$1" "${process#/proc/}" ;; esac
    done
}

# What is left of them is killed, and waited for.
jobs_end() {
    for job in "${jobs[@]}"; do
        kill "$job" 2>/dev/null
    done
    wait "${jobs[@]}" 2>/dev/null
}

# Ranks that no launcher looks after, until all are where they are asked to be; their output is in $folder.
ranks_begin() { # name, moment
    last=$((hosts - 1)) folder=$work/$1.$2 jobs=()
    mkdir "$folder"
    for ((rank = 0; rank < all; rank++)); do
        lab-in-host $((rank / a_host)) timeout -k 5 600 env CASTOFF_DEADLINE_S=3 "$work/proxy_rank" "$folder" "$rank" "$all" \
            "h$last" $((last * a_host)) "$2" >"$folder/out.$rank" 2>&1 &
        jobs+=($!)
    done
    for ((rank = 0; rank < all; rank++)); do
        until [ -e "$folder/ready.$rank" ]; do
            if ! kill -0 "${jobs[rank]}" 2>/dev/null; then
                jobs_end
                cat "$folder"/out.*
                return 1
            fi
            sleep 0.05
        done
    done
}

# What is said of each other's end is what proxies say. Those of the last host count unless they have ended with it.
host_is() { # ended|stopped|cut, start|middle|end
    ranks_begin "$1" "$2" || return 1
    "hit_$1"
    : >"$folder/done"
    failed_ranks=0
    for ((rank = 0; rank < last * a_host; rank++)); do
        wait "${jobs[rank]}" || failed_ranks=$((failed_ranks + 1))
    done
    case $1 in # that host goes on, and its ranks end, too
        stopped) signal_host CONT ;;
        cut) lab-link "$last" up ;;
    esac
    for ((; rank < all; rank++)); do
        wait "${jobs[rank]}" || [ "$1" = ended ] || failed_ranks=$((failed_ranks + 1))
    done
    cat "$folder"/out.*
    [ "$failed_ranks" -eq 0 ] && none_left && [ -z "$(ls /dev/shm)" ]
}

stopped_ranks() {
    cat /proc/[0-9]*/stat 2>/dev/null | grep -o '^[0-9]* (proxy_rank) T' | cut -d ' ' -f 1
}

# All ranks but the first and the last are stopped from before the first one sends until the last one has all.
ring_of_stopped() {
    ranks_begin ring ring || return 1
    until [ "$(stopped_ranks | wc -l)" -eq $((all - 2)) ] || ! kill -0 "${jobs[all - 1]}" 2>/dev/null; do sleep 0.05; done
    : >"$folder/done"
    until [ -e "$folder/received" ] || ! kill -0 "${jobs[all - 1]}" 2>/dev/null; do sleep 0.05; done
    still_stopped=$(stopped_ranks | wc -l)
    stopped_ranks | xargs -r kill -CONT
    failed_ranks=0
    for job in "${jobs[@]}"; do
        wait "$job" || failed_ranks=$((failed_ranks + 1))
    done
    cat "$folder"/out.*
    echo "$still_stopped of $all ranks were stopped"
    [ "$failed_ranks" -eq 0 ] && [ -e "$folder/received" ] && [ "$still_stopped" -eq $((all - 2)) ]
}

rank_is_compiled() {
    "${CC:-cc}" -std=gnu17 -O1 -Isrc/offload/api -o "$work/proxy_rank" tests/lab/proxy_rank.c -L"$build" -lcastoff-offload \
        -Wl,-rpath,"$PWD/$build"
}

if [ "$only" = lossy ]; then
    for bytes in 1 1000 70000 4194305; do
        ok "5 % of segments lost: a ring of $bytes bytes" lossy "0 bytes are wrong" offload_ring "$bytes" 2
    done
    for bytes in 1 5000 300000; do
        ok "5 % of segments lost: an all-to-all of $bytes bytes" lossy "by a group, 0 bytes are wrong" offload_all_to_all "$bytes" 2
    done
    ok "5 % of segments lost: a chain of 64 MiB" lossy "67108864 afterwards" offload_forward 67108864
    ok "no proxy is left" none_left
    echo "$passed passed, $failed failed, 0 skipped"
    [ "$failed" -eq 0 ]
    exit
fi
if [ "$hosts" -eq 3 ] && [ "$a_host" -eq 1 ]; then
    ok "a rank for hosts that end is compiled" rank_is_compiled
    for moment in start middle end; do
        ok "a host that ends: $moment" host_is ended "$moment"
    done
    for moment in middle end; do
        ok "a host that is stopped: $moment" host_is stopped "$moment"
        ok "a host that is cut off: $moment" host_is cut "$moment"
    done
    ok "5 % of segments lost: a ring" lossy "0 bytes are wrong" offload_ring 1000003 2
    ok "5 % of segments lost: an all-to-all" lossy "by a group, 0 bytes are wrong" offload_all_to_all 100001 2
    echo "$passed passed, $failed failed, 0 skipped"
    [ "$failed" -eq 0 ]
    exit
fi
if [ "$hosts" -eq 8 ]; then
    ok "a ring of 64 MiB" all_say "0 bytes are wrong" offload_ring 67108864 1
    ok "a chain of 64 MiB" all_say "67108864 afterwards" offload_forward 67108864
    ok "an all-to-all of 1 MiB" all_say "by a group, 0 bytes are wrong" offload_all_to_all 1048576 1
    ok "there and back" offload_ping_pong_runs
    ok "no proxy is left" none_left
    echo "$passed passed, $failed failed, 0 skipped"
    [ "$failed" -eq 0 ]
    exit
fi
for bytes in 1 1000 70000 4194305; do
    ok "a ring of $bytes bytes" all_say "0 bytes are wrong" offload_ring "$bytes" 3
done
ok "a chain of 3 MB" all_say "before it waited, 3000000 afterwards" offload_forward 3000000
for bytes in 1 5000 300000; do
    ok "an all-to-all of $bytes bytes" all_say "by a group, 0 bytes are wrong" offload_all_to_all "$bytes" 3
done
ok "a link that is down for two seconds" shaken
[ "$a_host" -gt 1 ] || ok "a port that is blocked" blocked
[ "$a_host" -eq 1 ] || ok "two proxies a host" two_proxies
if [ "$all" -gt 2 ]; then
    ok "a rank of its own is compiled" rank_is_compiled
    ok "a ring through stopped ranks" ring_of_stopped
fi
ok "no proxy is left" none_left
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
