#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Self test of the laboratory with guests: real verbs, unmodified MPI and the library between four of
# them, two labs at once, and labs that are broken off in every way, of which nothing may stay. The
# checks that run beside the guests are in lab_verbs_test_inside.sh. Prints a line a check and
# "N passed, N failed, N skipped"; status 0, 1 when a check failed, 77 when no lab is possible here.
# Arguments choose cases. Called by `make lab-verbs` and `make test`.

set -u

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 1
top=$(cd -- "$here/../.." && pwd) || exit 1
lab=$here/lab.sh
chosen=" $* "
# shellcheck source=tests/lab/lab_test_checks.sh
. "$here/../lab/lab_test_checks.sh"

# Guests that do nothing take a little of a core, too.
bounded=(python3 -S "$here/../bounded.py" --share 0.2)

is_chosen() { # case
    [[ $chosen == "  " || $chosen == *" $1 "* ]]
}

run_inside() { # case lab-options...
    local name=$1 status=0 began=$SECONDS
    shift
    "${bounded[@]}" --grows "$log" 300 3600 "$lab" --prefix "$prefix" "$@" -- \
        "$here/lab_verbs_test_inside.sh" "$name" "$work" "$top" </dev/null 2>"$work/errors" | tee -a "$log"
    status=${PIPESTATUS[0]}
    check "$name: the lab ends with its command's status" test "$status" -eq 0
    ((status == 0)) || tail -n 15 "$work/errors"
    check "$name: nothing is left" nothing_left
    echo "($name: $((SECONDS - began)) s)"
}

check_side_by_side() {
    local name jobs=()
    for name in one:two two:one; do
        "${bounded[@]}" 300 1500 "$lab" --prefix "$prefix" --guests 2 -- "$here/lab_verbs_test_inside.sh" \
            side_by_side "$work" "$top" "${name%:*}" "${name#*:}" >"$work/${name%:*}.out" 2>&1 &
        jobs+=($!)
        started+=($!)
    done
    check "two labs at once: the first works" ended_with 0 "${jobs[0]}"
    check "two labs at once: the second works" ended_with 0 "${jobs[1]}"
    cat "$work/one.out" "$work/two.out" | tee -a "$log"
    check "two labs at once: nothing is left" nothing_left
}

says() { # pattern: did the last lab say it?
    grep -q -- "$1" "$work/output" || ! cat "$work/output"
}

check_statuses() {
    check "status: the command's own" exits_with 7 --guests 1 -- sh -c 'exit 7'
    check "status: 2 without a command" exits_with 2 --guests 2
    check "status: 2 for too many guests" exits_with 2 --guests 9 -- true
    check "status: 2 for a memory limit that is no number" exits_with 2 --guests 1 --memlock some -- true
    mkdir -p "$work/none"
    PATH=/usr/bin check "status: 77 without qemu" without_qemu
    check "status: without qemu it names the package" says "qemu-system-x86"
    check "status: nothing is left" nothing_left
}

# All commands but one.
without_qemu() {
    local program
    for program in /usr/bin/* /usr/sbin/*; do
        [[ $program == */qemu-system-* ]] || ln -sf "$program" "$work/none/"
    done
    PATH=$work/none exits_with 77 --guests 1 -- true
}

qemu_runs() {
    local process
    for process in $(lab_processes); do
        [[ $(readlink "/proc/$process/exe") == */qemu-system-x86_64 ]] && return
    done
    return 1
}

check_broken_off() {
    local signal
    for signal in TERM:143 INT:130; do
        # Background jobs of a script ignore SIGINT; the lab is to be interrupted as by a terminal.
        env --default-signal=INT "$lab" --prefix "$prefix" --guests 2 -- sleep 1000 >"$work/output" 2>&1 &
        job=$!
        started+=("$job")
        await qemu_runs
        kill "-${signal%:*}" "$job"
        check "${signal%:*} while guests boot ends the lab" ended_with "${signal#*:}" "$job"
        check "nothing is left after ${signal%:*} while guests boot" nothing_left
    done
    # shellcheck disable=SC2016
    start_lab --guests 1 -- sh -c 'trap "" TERM; lab-in-guest 0 sleep 1000 & echo lingering; wait; sleep 1000'
    await grep -qs lingering "$work/output"
    kill -TERM "$job"
    check "TERM ends a command that takes no notice of it" ended_with 143 "$job"
    check "nothing is left after TERM" nothing_left
    start_lab --guests 1 -- sleep 1000
    await qemu_runs
    kill -KILL "$job"
    wait "$job" 2>/dev/null
    check "no process is left after KILL" await no_lab_process
    # Nobody is there to remove the directory in this one case.
    rm -rf "${TMPDIR:-/tmp}/$prefix".*/
    check "nothing else is left after KILL" nothing_left
}

# A program of that name that does something else, before the real one in the path.
put_before() { # name script-line
    mkdir -p "$work/bin"
    rm -f "$work"/bin/*
    printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

check_failed_raising() {
    put_before qemu-system-x86_64 'echo "no such machine" >&2; exit 1'
    PATH=$work/bin:$PATH check "a guest that does not start ends raising with status 125" exits_with 125 --guests 2 --accel tcg -- true
    check "what qemu said is shown" says "no such machine"
    check "nothing is left after a guest that does not start" nothing_left
    # shellcheck disable=SC2016
    put_before nft '[ "$1" = -f ] && exit 1; exec '"$(command -v nft)"' "$@"'
    PATH=$work/bin:$PATH check "a step that fails ends raising with status 125" exits_with 125 --guests 1 -- true
    check "the step is named" says "could not be raised: nftables"
    check "nothing is left after a failed step" nothing_left
    check "a guest that takes too long ends raising with status 125" exits_with 125 --guests 1 --patience 1 -- true
    check "it is named" says "g0 did not boot: it has done nothing for 1 s"
    check "nothing is left after a guest that took too long" nothing_left
}

# What a broken download or a full disk leaves must not be booted.
check_cache() {
    local cache=${LAB_VERBS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/castoff/lab-verbs} status=0
    mkdir -p "$work/cache"
    cp -r "$cache/current" "$work/cache/"
    printf x | dd of="$work/cache/current/base.cpio" bs=1 seek=100000 conv=notrunc status=none
    check "a damaged archive is not used as it is" archive_is_damaged
    "$here/image.sh" "$work/cache" >"$work/output" 2>&1 || status=$?
    if ((status == 77)); then
        report SKIP "a damaged archive is made anew (no package to be had)"
    else
        check "a damaged archive is made anew" test "$status" -eq 0
        check "what is made anew fits" sums_fit
        check "and is used without fetching again" "$here/image.sh" "$work/cache"
    fi
    check "nothing is left beside it" test "$(ls "$work/cache")" = "$(printf 'current\nlock')"
    put_before apt-get 'echo "E: no server answers" >&2; exit 100'
    PATH=$work/bin:$PATH LAB_VERBS_CACHE=$work/empty \
        check "where no kernel can be had the lab is skipped" exits_with 77 --guests 1 -- true
    check "it says why" says "skipped: .*no server answers"
    check "nothing is left of the attempt" test "$(ls "$work/empty")" = lock
}

archive_is_damaged() {
    ! sums_fit
}

sums_fit() {
    (cd "$work/cache/current" && sha256sum --quiet --status -c SHA256SUMS)
}

make_work verbstest
need_lab 300 --guests 1
make -s -C "$top" lib tools mpi-tests || exit 1
mpicc -o "$work/lab_sum" "$top/tests/lab/lab_sum.c" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"${bounded[@]}" 100 1500 mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n 4 "$top/build/tests/mpi/bcast_sizes" \
    >"$work/bcast_sizes.native" </dev/null || report FAIL "bcast_sizes on native MPI"

! is_chosen verbs || run_inside verbs --guests 4
! is_chosen bounds || run_inside bounds --guests 2
! is_chosen poor || run_inside poor --guests 1 --no-device --memlock 64
! is_chosen side_by_side || check_side_by_side
! is_chosen statuses || check_statuses
! is_chosen broken_off || check_broken_off
! is_chosen failed_raising || check_failed_raising
! is_chosen cache || check_cache
print_sum
