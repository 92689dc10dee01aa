#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Proxies as people meet them: the examples of castoff_offload.h move the right bytes, without castoff's preload and with
# it, attached and staged; the library needs the C library alone; castoff proxy says what it takes; and when all is over
# no proxy, no socket and nothing in /dev/shm is left. BUILD is the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${BUILD:-build}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # root is no reason to fail here
passed=0 failed=0 skipped=0
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-proxy.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

ok() { # what, command...
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        sed 's/^/    /' "$work/log"
    fi
}

right_bytes() { # ranks, command... of the launcher
    ranks=$1
    shift
    "$@" --oversubscribe -n "$ranks" "$build/examples/offload_ring" 300001 4 >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ "$status" -eq 0 ] && [ "$(grep -c ' 4 broadcasts of 300001 bytes, 0 bytes are wrong' "$work/out")" -eq "$ranks" ]
}

all_say() { # ranks, text that each says, program, its arguments
    ranks=$1 text=$2 program=$3
    shift 3
    mpirun --oversubscribe -n "$ranks" "$build/examples/$program" "$@" >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ "$status" -eq 0 ] && [ "$(grep -cF -e "$text" "$work/out")" -eq "$ranks" ]
}

# How they are served, and whether ranks that may have all cores leave one to their proxy, depends on the machine.
served='(attached|staged, copied by the ranks); (no core is left|on [0-9]+ cores?) that no rank has'
reports() { # ranks
    "$build/castoff" mpirun --oversubscribe --bind-to none -n "$1" "$build/examples/offload_ring" 300001 4 >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ "$status" -eq 0 ] && grep -Eq "^proxies: $served" "$work/out" &&
        grep -q 'proxy_calls  *8 calls' "$work/out"
}

reports_json() { # ranks
    "$build/castoff" mpirun --oversubscribe --bind-to none -n "$1" "$build/examples/offload_ring" 300001 4 >"$work/out" 2>&1
    status=$?
    cat "$work/out" "$work/report.json"
    [ "$status" -eq 0 ] && grep -Eq "\"proxies\": \"$served" "$work/report.json" &&
        grep -q '"proxy_bytes_received": 1200004,' "$work/report.json" &&
        grep -q '"proxy_calls_cached": 6,' "$work/report.json"
}

finds_none() { # why, bytes: MPI_Ialltoall by castoff's preload
    "$build/castoff" mpirun --oversubscribe -n 2 "$build/bench/traffic" ialltoall "${2:-8}" 3 >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ "$status" -eq 0 ] && grep -q '^ *declined 6: no_proxy$' "$work/out" &&
        [ "$(grep -c "^proxies: none$1" "$work/out")" -eq 1 ]
}

wants_none() {
    "$build/castoff" mpirun --oversubscribe -n 2 "$build/bench/traffic" bcast 8 3 >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ "$status" -eq 0 ] && grep -q '^castoff report: ' "$work/out" && ! grep -q '^proxies: ' "$work/out"
}

libc_alone() {
    ldd "$build/libcastoff-offload.so"
    [ "$(ldd "$build/libcastoff-offload.so" | grep -c '=>')" -eq 1 ] && ldd "$build/libcastoff-offload.so" | grep -q 'libc\.so'
}

says() { # status, text, command...
    wanted=$1 text=$2
    shift 2
    "$@" >"$work/said" 2>&1
    status=$?
    cat "$work/said"
    [ "$status" -eq "$wanted" ] && grep -qF -e "$text" "$work/said"
}

# Of memcheck's words those are looked for that are about what came; what the launcher's library writes is its own affair.
memcheck() { # text that each of two says, how each is run...
    text=$1
    shift
    rm -f "$work"/memcheck.*
    mpirun --oversubscribe -n 2 "$@" >"$work/out" 2>&1
    status=$?
    cat "$work/out" "$work"/memcheck.*
    [ "$status" -eq 0 ] && [ "$(grep -cF -e "$text" "$work/out")" -eq 2 ] &&
        ! grep -hE 'depends on uninit|Use of uninit|pwrite.*uninit' "$work"/memcheck.*
}

memcheck_preloaded() { # setting
    "${MPICC:-mpicc}" -g -o "$work/exchange" tests/tools/memcheck_exchange.c &&
        memcheck ': 0 bytes are wrong' "$build/castoff" run --report - --set PROXY=yes --set IALLTOALL=yes --set IALLTOALLV=yes \
            --set IBCAST=proxy --set IALLGATHER=proxy --set IALLGATHERV=proxy --set ALLTOALL_INIT=yes --set BCAST_INIT=proxy \
            --set ALLGATHER_INIT=proxy --set ALLGATHERV_INIT=proxy --set "$1" -- valgrind -q --log-file="$work/memcheck.%p" "$work/exchange" &&
        grep -Eq '^ *proxy_calls  *26 calls' "$work/out"
}

# A proxy ends with its last rank, which may be a moment before it.
all_have_gone() {
    for _ in $(seq 1200); do
        "$build/castoff" proxy status | grep -q '^no proxies' && return 0
        sleep 0.05
    done
    "$build/castoff" proxy status
    return 1
}

# One that is stopped, while its ranks wait, is there.
stopped_is_told() {
    mpirun --oversubscribe -n 2 "$build/examples/offload_ring" 300001 1000000 >"$work/out" 2>&1 &
    job=$!
    for _ in $(seq 400); do
        proxy=$("$build/castoff" proxy status | sed -n 's/^proxy \([0-9]*\): 2 of 2 ranks.*/\1/p')
        [ -z "$proxy" ] || break
        sleep 0.05
    done
    if [ -z "$proxy" ]; then
        kill "$job"
        cat "$work/out"
        return 1
    fi
    kill -STOP "$proxy"
    says 0 "proxy $proxy: does not answer" "$build/castoff" proxy status
    told=$?
    kill -CONT "$proxy"
    kill "$job"
    wait "$job"
    return "$told"
}

is_empty() { # a folder
    ! ls "$1" | grep .
}

# With a network and a /dev/shm of its own, where others' proxies and jobs are not seen, if that is allowed.
if [ "${CASTOFF_TEST_ALONE:-}" = "" ] && unshare --net --mount mount -t tmpfs none /dev/shm 2>/dev/null; then
    rm -rf "$work"
    CASTOFF_TEST_ALONE=yes exec unshare --net --mount sh -c 'ip link set lo up; mount -t tmpfs none /dev/shm && exec sh "$0"' \
        tests/tools/proxy_test.sh
fi
ok "the library needs the C library alone" libc_alone
ok "castoff proxy without a job says who starts it" says 2 "ranks start it, people do not" "$build/castoff" proxy --job
ok "castoff info has tried a proxy" says 0 "proxy  usable:     for programs that use castoff_offload.h" "$build/castoff" info
ok "castoff info says that MPI calls have none by auto" says 0 "; MPI calls have none by CASTOFF_PROXY=auto" "$build/castoff" info
ok "castoff info says that MPI calls have them" says 0 "; MPI calls have them, too" env CASTOFF_PROXY=yes "$build/castoff" info
ok "castoff info says that ranks copy" says 0 "proxy  usable:     for programs that use castoff_offload.h: a proxy was started, and ranks copy" \
    env CASTOFF_PROXY_LEND=copy "$build/castoff" info
ok "castoff info says that they are off" says 0 "proxy  not usable: rank 0: proxies are off: CASTOFF_PROXY=no" \
    env CASTOFF_PROXY=no "$build/castoff" info
ok "castoff proxy takes nothing else" says 2 "the word status is missing" "$build/castoff" proxy stats
if [ ! -x "$build/examples/offload_ring" ]; then
    skipped=$((skipped + 21))
    echo "make examples has not built build/examples"
else
    ok "a ring of two ranks" right_bytes 2 mpirun
    ok "a ring of four, beside castoff's preload" right_bytes 4 "$build/castoff" mpirun
    ok "there and back" says 0 "4096 bytes" mpirun --oversubscribe -n 2 "$build/examples/offload_ping_pong" 4096 3
    ok "passed on" all_say 3 "before it waited, 200000 afterwards" \
        offload_forward 200000
    ok "an all-to-all" all_say 3 "by a group, 0 bytes are wrong" offload_all_to_all 30000 3
    CASTOFF_NODE_RANKS=1 && export CASTOFF_NODE_RANKS
    ok "an all-to-all of four proxies" all_say 4 "by a group, 0 bytes are wrong" offload_all_to_all 70000 3
    unset CASTOFF_NODE_RANKS
    CASTOFF_PROXY_LEND=stage CASTOFF_PROXY_CORES=0 && export CASTOFF_PROXY_LEND CASTOFF_PROXY_CORES
    ok "a ring of three through the proxy's memory, on one core" right_bytes 3 mpirun
    unset CASTOFF_PROXY_CORES
    CASTOFF_PROXY_LEND=copy
    ok "a ring of three that copy their messages" right_bytes 3 mpirun
    unset CASTOFF_PROXY_LEND
    CASTOFF_PROXIES=2 && export CASTOFF_PROXIES
    ok "an all-to-all by two proxies of a node" all_say 4 "by a group, 0 bytes are wrong" offload_all_to_all 70000 3
    unset CASTOFF_PROXIES
    if command -v valgrind >/dev/null; then
        ok "an all-to-all under Valgrind" memcheck "by a group, 0 bytes are wrong" \
            valgrind -q --log-file="$work/memcheck.%p" "$build/examples/offload_all_to_all" 30000 2
        ok "collective calls under Valgrind" memcheck_preloaded PROXY_LEND=auto
        ok "collective calls that ranks copy, under Valgrind" memcheck_preloaded PROXY_LEND=copy
    else
        skipped=$((skipped + 3))
    fi
    CASTOFF_REPORT=- && export CASTOFF_REPORT
    ok "a report has proxies" reports 2
    CASTOFF_REPORT=$work/report.json
    ok "so has its JSON" reports_json 2
    CASTOFF_REPORT=-
    ok "a report says why calls found none" finds_none " by CASTOFF_PROXY=auto, as each node would need a core for them"
    CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROBE=20s # two nodes of one rank
    export CASTOFF_NODE_RANKS CASTOFF_UDP_INTERFACE CASTOFF_PROBE
    ok "and that they are worth a try" finds_none ".*; worth a try: 6 all-to-all calls of 256 KiB" 262144
    ok "but not of shorter blocks" finds_none ".*(yes has them)\$" 262143
    unset CASTOFF_NODE_RANKS CASTOFF_UDP_INTERFACE CASTOFF_PROBE
    ok "nor in a node" finds_none ".*(yes has them)\$" 262144
    CASTOFF_PROXY=no && export CASTOFF_PROXY
    ok "so it does where they are off" finds_none ": CASTOFF_PROXY=no"
    unset CASTOFF_PROXY
    ok "and nothing where no call wants any" wants_none
    unset CASTOFF_REPORT
    CASTOFF_PROXY_CORES=none && export CASTOFF_PROXY_CORES
    ok "cores that are none" says 1 "CASTOFF_PROXY_CORES: none is no list of cores" \
        mpirun --oversubscribe -n 2 "$build/examples/offload_ring"
    unset CASTOFF_PROXY_CORES
fi
if [ "${CASTOFF_TEST_ALONE:-}" = yes ]; then
    if [ -x "$build/examples/offload_ring" ]; then
        ok "castoff proxy status tells of one that is stopped" stopped_is_told
    else
        skipped=$((skipped + 1))
    fi
    ok "no proxy is left" all_have_gone
    ok "nothing is left in /dev/shm" is_empty /dev/shm
else
    skipped=$((skipped + 3))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
