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
# shellcheck source=tests/lab/lab_test_checks.sh
. "$here/lab_test_checks.sh"
make_work labtest

run_inside() { # case lab-options...
    local name=$1 status=0
    shift
    python3 -S "$here/../bounded.py" 100 1500 "$lab" --prefix "$prefix" "$@" -- "$here/lab_test_inside.sh" "$name" "$work" |
        tee -a "$log"
    status=${PIPESTATUS[0]}
    check "$name: the lab ends with its command's status" test "$status" -eq 0
    check "$name: nothing is left" nothing_left
}

keepers_exist() { # at-least
    (($(lab_processes | wc -l) >= $1))
}

check_interruption() {
    local signal status
    for signal in TERM:143 INT:130 HUP:129; do
        status=${signal#*:}
        # Background jobs of a script ignore SIGINT, and those below nohup SIGHUP; the lab is to be interrupted as by a
        # terminal.
        rm -f "$work/output"
        env --default-signal=INT,HUP "$lab" --prefix "$prefix" --hosts 3 -- \
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
    rm "$work/bin/nft"
}

# Killed between its fork and the chain to its child, unshare leaves that alone.
check_lost_parent() {
    cat >"$work/bin/unshare" <<EOF
#!/bin/sh
case "\$*" in
*--kill-child=KILL*) ;;
*) exec $(command -v unshare) "\$@" ;;
esac
shift 5
$(command -v unshare) --mount --pid --net --fork sh -c 'until [ -e "$work/go" ]; do sleep 0.02; done; exec "\$@"' - "\$@" &
touch "$work/forked"
wait
EOF
    chmod +x "$work/bin/unshare"
    PATH=$work/bin:$PATH start_lab --hosts 3 -- touch "$work/ran"
    await test -e "$work/forked"
    kill -TERM "$job"
    touch "$work/go"
    check "raising: whoever has lost its parent ends" ended_with 143 "$job"
    check "raising: and runs no command" test ! -e "$work/ran"
    check "raising: nothing is left of it" nothing_left
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

need_lab 300 --hosts 1
"${CC:-cc}" -std=gnu17 -O2 -o "$work/lab_probe" "$here/lab_probe.c" || exit 1
! command -v mpicc >/dev/null || mpicc -o "$work/lab_sum" "$here/lab_sum.c" || exit 1

run_inside flat --hosts 3 --rate 20mbit
run_inside datagrams --hosts 3 --rate 20mbit --segment
run_inside snooping --hosts 3 --snooping
run_inside fat_tree --hosts 4 --topology fat-tree --spines 2
run_inside fat_tree_snooping --hosts 5 --topology fat-tree --leaves 3 --spines 2 --snooping
run_inside many --hosts 48 --rate 20mbit
check_side_by_side
check_statuses
check_interruption
check_interrupted_raising
check_lost_parent

print_sum
