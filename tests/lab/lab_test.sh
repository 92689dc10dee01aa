#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Self test of the laboratory: raises labs of each form and checks what they promise, then breaks
# them off in every way and checks that nothing stays behind. The checks that run inside a lab are
# in lab_test_inside.sh. Prints one line a check and "N passed, N failed, N skipped" at the end;
# exit status 0, 1 when a check failed, 77 when no lab can be raised here.

set -u

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 1
lab=$here/lab.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-lab-test.XXXXXX") || exit 1
prefix=labtest.$$
log=$work/log
started=()
trap clean_up EXIT

# A child that a signal hits before it became another program would run the trap as well.
clean_up() {
    [[ $BASHPID == "$$" ]] || return
    local started_job
    for started_job in "${started[@]}"; do
        kill -KILL "$started_job" 2>/dev/null
    done
    rm -rf "$work"
}

report() { # PASS|FAIL|SKIP what
    echo "$1 $2" | tee -a "$log"
}

check() { # what command...
    local what=$1
    shift
    if "$@"; then
        report PASS "$what"
    else
        report FAIL "$what"
    fi
}

pause() {
    read -r -t 0.02 <> <(:)
}

await() { # command...: until it succeeds, 20 seconds at most
    local deadline=$((SECONDS + 20))
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        pause
    done
    return 0
}

run_inside() { # case lab-options...
    local name=$1 status=0
    shift
    timeout -k 5 50 "$lab" --prefix "$prefix" "$@" -- "$here/lab_test_inside.sh" "$name" "$work" |
        tee -a "$log"
    status=${PIPESTATUS[0]}
    check "$name: the lab ends with its command's status" test "$status" -eq 0
    check "$name: nothing is left" nothing_left
}

lab_processes() { # numbers of the processes that belong to a lab of this test
    local process
    for process in /proc/[0-9]*; do
        if [[ $process != "/proc/$$" ]] &&
            grep -qsa "LAB_DIR=[^ ]*/$prefix" "$process/environ"; then
            echo "${process#/proc/}"
        fi
    done
}

lab_directory_exists() {
    compgen -G "${TMPDIR:-/tmp}/$prefix.*" >/dev/null
}

no_lab_process() {
    [[ -z $(lab_processes) ]]
}

machine_state() {
    ip -o link | sed 's/.*: \([^:@]*\)[:@].*/\1/'
    ip netns list
    ls -A /etc/netns 2>/dev/null
    cat /etc/hosts
}

nothing_left() {
    no_lab_process && ! lab_directory_exists && [[ $(machine_state) == "$state_before" ]]
}

ended_with() { # status job
    local status=0
    wait "$2" || status=$?
    ((status == $1)) || echo "status $status, not $1"
    ((status == $1))
}

start_lab() { # lab-options... -- command...
    rm -f "$work/output" # or what the last one said would be taken for its words
    "$lab" --prefix "$prefix" "$@" >"$work/output" 2>&1 &
    started+=($!)
    job=$!
}

keepers_exist() { # at-least
    (($(lab_processes | wc -l) >= $1))
}

check_interruption() {
    local signal status
    for signal in TERM:143 INT:130 HUP:129; do
        status=${signal#*:}
        # Background jobs of a script ignore SIGINT; the lab is to be interrupted as by a terminal.
        rm -f "$work/output"
        env --default-signal=INT "$lab" --prefix "$prefix" --hosts 3 -- \
            "$here/lab_test_inside.sh" linger "$work" >"$work/output" 2>&1 &
        job=$!
        started+=("$job")
        await grep -qs lingering "$work/output"
        kill "-${signal%:*}" "$job"
        check "interruption: ${signal%:*} ends the lab with status $status" ended_with "$status" "$job"
        check "interruption: nothing is left after ${signal%:*}" nothing_left
    done
    start_lab --hosts 3 -- "$here/lab_test_inside.sh" linger "$work"
    await grep -qs lingering "$work/output"
    kill -KILL "$job"
    wait "$job" 2>/dev/null
    check "interruption: no process is left after KILL" await no_lab_process
    # Nobody is there to remove the empty directory in this one case.
    rmdir "${TMPDIR:-/tmp}/$prefix".*/ 2>/dev/null || rm -rf "${TMPDIR:-/tmp}/$prefix".*/
    check "interruption: nothing else is left after KILL" nothing_left
}

check_interrupted_raising() {
    local at
    for at in "lab_directory_exists" "keepers_exist 4" "keepers_exist 12"; do
        # A command that stays, in case the lab is up before we have looked.
        start_lab --hosts 24 --snooping -- sleep 1000
        # shellcheck disable=SC2086
        await $at
        kill -TERM "$job"
        check "raising: TERM at '$at' ends it" ended_with 143 "$job"
        check "raising: nothing is left after TERM at '$at'" nothing_left
    done
    mkdir "$work/bin"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ "$1" = -f ] && exit 1\nexec %s "$@"\n' "$(command -v nft)" >"$work/bin/nft"
    chmod +x "$work/bin/nft"
    PATH=$work/bin:$PATH start_lab --hosts 3 -- true
    check "raising: a step that fails ends it with status 125" ended_with 125 "$job"
    check "raising: the step is named" grep -q "could not be raised: .*nft" "$work/output"
    check "raising: nothing is left after a failed step" nothing_left
}

check_side_by_side() {
    "$lab" --prefix "$prefix" --hosts 2 -- "$here/lab_test_inside.sh" side_by_side "$work" one two \
        >"$work/one.out" 2>&1 &
    local one=$!
    "$lab" --prefix "$prefix" --hosts 2 -- "$here/lab_test_inside.sh" side_by_side "$work" two one \
        >"$work/two.out" 2>&1 &
    local two=$!
    started+=("$one" "$two")
    check "two labs at once: the first works" ended_with 0 "$one"
    check "two labs at once: the second works" ended_with 0 "$two"
    cat "$work/one.out" "$work/two.out" | tee -a "$log"
    check "two labs at once: nothing is left" nothing_left
}

exits_with() { # status lab-arguments...
    local status=0 wanted=$1
    shift
    timeout 30 "$lab" --prefix "$prefix" "$@" >"$work/output" 2>&1 || status=$?
    ((status == wanted)) || echo "status $status, not $wanted"
    ((status == wanted))
}

check_statuses() {
    check "status: the command's own" exits_with 7 --hosts 1 -- sh -c 'exit 7'
    check "status: 127 for a missing command" exits_with 127 --hosts 2 -- /nonexistent/command
    check "status: 2 without a command" exits_with 2 --hosts 2
    check "status: 2 for a wrong rate" exits_with 2 --hosts 2 --rate fast -- true
    check "status: 2 for more leaves than hosts" exits_with 2 --hosts 2 --topology fat-tree \
        --leaves 3 -- true
    check "status: nothing is left" nothing_left
    if ! setpriv --reuid 65534 --clear-groups test -x "$lab"; then
        report SKIP "status: 77 without root (this directory is closed to other users)"
        return
    fi
    local output status=0
    output=$(setpriv --reuid 65534 --clear-groups "$lab" --hosts 2 -- true 2>&1) || status=$?
    check "status: 77 without root" test "$status" -eq 77
    check "status: without root it names the packages" grep -q "iproute2.*nftables" <<<"$output"
}

# One lab that does nothing tells whether this machine can have any.
reason=$(timeout 30 "$lab" --prefix "$prefix" --hosts 1 -- true 2>&1)
case $? in
    0) ;;
    77) echo "SKIP all: ${reason#lab: skipped: }" && echo "0 passed, 0 failed, 1 skipped" && exit 77 ;;
    *) echo "FAIL a lab of one host: $reason" && echo "0 passed, 1 failed, 0 skipped" && exit 1 ;;
esac
"${CC:-cc}" -std=gnu17 -O2 -o "$work/lab_probe" "$here/lab_probe.c" || exit 1
! command -v mpicc >/dev/null || mpicc -o "$work/lab_sum" "$here/lab_sum.c" || exit 1
chmod 755 "$work"
state_before=$(machine_state)

run_inside flat --hosts 3 --rate 20mbit
run_inside datagrams --hosts 3 --rate 20mbit --segment
run_inside snooping --hosts 3 --snooping
run_inside fat_tree --hosts 4 --topology fat-tree --spines 2
run_inside fat_tree_snooping --hosts 5 --topology fat-tree --leaves 3 --spines 2 --snooping
check_side_by_side
check_statuses
check_interruption
check_interrupted_raising

passed=$(grep -c '^PASS ' "$log")
failed=$(grep -c '^FAIL ' "$log")
skipped=$(grep -c '^SKIP ' "$log")
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
