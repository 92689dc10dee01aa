#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every test of the project, cheap ones first. Each part is a command whose last line reads "N passed, N failed,
# N skipped"; the last line here is their sum. A part without such a line, or whose status says that it failed while
# its line does not, counts as one failure, so that nothing can fail unseen; status 77 means skipped. Without arguments
# the parts of `make test`, in 20 minutes on two cores; with --long the others, those of `make test-long`; with --all both,
# but for what needs the network, which is what continuous integration runs. Names choose parts of any set. With
# CASTOFF_TEST_MINUTES=N no part begins later than that: those left over count as skipped, and the table names them. A part
# that still runs when a third more is over (CASTOFF_TEST_MINUTES_MOST) is ended, and has failed, so that the table comes
# before somebody ends all of it. What is dearest, the guests of the laboratory with RDMA, which want every processor, comes last. A part hangs, and is
# ended, when for its time it neither says a word nor does anything, or takes an hour of processor time over one line
# (tests/bounded.py). Where no parts are chosen and there are two cores, the laboratories, which wait for most of their time
# and whose processes, networks and files in memory are their own, run beside the other parts, one at a time: what such a
# part says comes as a whole, once it has ended.
set -u

cd "$(dirname "$0")/.." || exit 2
# Nothing of the calling make: its job server, and sanitizers of the command line. What lets root call mpirun is the
# tests' own: one that forgets it must fail for everybody, not only for those who have not set it.
unset MAKEFLAGS MAKELEVEL MFLAGS SAN OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
jobs=$(nproc 2>/dev/null || echo 2)
log=$(mktemp -d "${TMPDIR:-/tmp}/castoff-tests.XXXXXX") || exit 1
mkdir "$log/native"
export MPI_TEST_NATIVE=$log/native # tests/mpi/run.sh, which more than one part calls
child="" lane=""
trap 'rm -rf "$log"' EXIT
trap 'stop_children; exit 130' INT TERM HUP

stop_children() {
    local process
    for process in $child $lane; do
        kill -TERM "$process" 2>/dev/null
    done
}

set=short
case ${1:-} in
--long | --all) set=${1#--} && shift ;;
esac
chosen=("$@")
minutes=${CASTOFF_TEST_MINUTES:-}
minutes_most=${CASTOFF_TEST_MINUTES_MOST:-${minutes:+$((minutes + minutes / 3 + 1))}}
parts=() # lines of the table
known="" # names of parts
failures=() # names of parts
total_passed=0 total_failed=0 total_skipped=0

is_chosen() {
    local name
    [ ${#chosen[@]} -eq 0 ] && return 0
    for name in "${chosen[@]}"; do
        [[ $1 == "$name" ]] && return 0
    done
    return 1
}

remark() { # name what: on a part, as if it had said it
    echo "$1: $2" | tee -a "$log/$1"
}

# Waits until tee has seen the end. A process that the part left running holds its output open: that is a failure of
# the part, and must not stop the rest.
drain() {
    local turn
    for ((turn = 0; turn < 100; turn++)); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    kill "$1"
    remark "$2" "left processes behind that hold its output"
    return 1
}

# run_part NAME IDLE-SECONDS COMMAND...: runs one part; what it says is also in $log/NAME, its numbers and time are in
# $log/NAME.sum.
run_part() {
    local name=$1 limit=$2 left status line passed failed skipped output tee started=$SECONDS
    shift 2
    if [ -n "$minutes" ] && ((SECONDS >= minutes * 60)); then
        echo "skipped: $minutes minutes are over (CASTOFF_TEST_MINUTES)" | tee "$log/$name"
        echo "0 0 1 no time" >"$log/$name.sum"
        return
    fi
    exec {output}> >(exec tee "$log/$name")
    tee=$!
    left=$((minutes_most * 60 - SECONDS)) # without a limit negative, or 0
    ((left > 0 || ${#minutes_most} == 0)) || left=1
    timeout -k 60 $((left > 0 ? left : 0)) \
        python3 -S tests/bounded.py --grows "$log/$name" "$limit" 3600 "$@" >&"$output" 2>&1 {output}>&- &
    child=$!
    exec {output}>&-
    wait "$child"
    status=$?
    child=""
    drain "$tee" "$name" || [ "$status" -ne 0 ] || status=1
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log/$name" | tail -n 1)
    if [ -n "$line" ]; then
        read -r passed _ failed _ skipped _ <<<"${line//,/}"
    else
        passed=0 failed=0 skipped=0
        [ "$status" -eq 77 ] && skipped=1
    fi
    if [ "$status" -eq 124 ] && [ -n "$minutes_most" ] && ((SECONDS >= minutes_most * 60)); then
        remark "$name" "ended, $minutes_most minutes are over (CASTOFF_TEST_MINUTES_MOST)"
    elif [ "$status" -eq 124 ]; then
        remark "$name" hangs
    fi
    if { [ "$status" -ne 0 ] && [ "$status" -ne 77 ] || [ -z "$line" -a "$status" -ne 77 ]; } && [ "$failed" -eq 0 ]; then
        failed=1
    fi
    echo "$passed $failed $skipped $((SECONDS - started)) s" >"$log/$name.sum"
}

# Adds a part that has ended to the sum and to the table.
add_part() { # name
    local passed=0 failed=1 skipped=0 took=lost # unless it left its numbers
    [ ! -s "$log/$1.sum" ] || read -r passed failed skipped took <"$log/$1.sum"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
    [ "$failed" -eq 0 ] || failures+=("$1")
    parts+=("$(printf '%-22s %6d %6d %7d %7s' "$1" "$passed" "$failed" "$skipped" "$took")")
}

# part NAME IDLE-SECONDS COMMAND...: runs one part and adds its numbers to the sum.
part() {
    known+=" $1 "
    is_chosen "$1" || return 0
    tell_beside
    echo "== $1"
    run_part "$@"
    add_part "$1"
}

# beside NAME IDLE-SECONDS COMMAND...: a part that begins in the lane beside the others, or at the end, whichever is first.
waiting=() # lines of "name idle-seconds command..."
beside() {
    waiting+=("$*")
}

# Whoever makes the folder runs the part.
claim() { # name
    mkdir "$log/$1.claimed" 2>/dev/null
}

begin_lane() {
    local line words
    [ "$has_lane" = yes ] || return 0
    (
        trap 'stop_children; exit 130' INT TERM HUP
        lane=""
        for line in "${waiting[@]}"; do
            read -ra words <<<"$line"
            claim "${words[0]}" || continue
            run_part "${words[@]}"
            : >"$log/${words[0]}.ended"
        done
    ) >/dev/null 2>&1 &
    lane=$!
}

# Of the lane's parts that have ended since, or of all: what they have said, and their numbers.
tell_beside() { # [all]
    local line name
    for line in "${waiting[@]}"; do
        name=${line%% *}
        [ -e "$log/$name.ended" ] || [ -n "${1-}" ] || continue
        [ -e "$log/$name.claimed" ] && [ ! -e "$log/$name.told" ] || continue
        : >"$log/$name.told"
        echo "== $name"
        cat "$log/$name"
        add_part "$name"
    done
}

# When the other parts have ended: what waits yet is run here, too, and the lane is waited for.
end_lane() {
    local line words
    for line in "${waiting[@]}"; do
        read -ra words <<<"$line"
        known+=" ${words[0]} "
        is_chosen "${words[0]}" && claim "${words[0]}" || continue
        : >"$log/${words[0]}.told"
        part "${words[@]}"
    done
    [ -n "$lane" ] || return 0
    wait "$lane"
    lane=""
    tell_beside all
}

# All that parts side by side would make at the same time, too.
build_all() {
    if make -s -j "$jobs" all bench-programs bench-micro examples mpi-tests forge-frames; then
        echo "1 passed, 0 failed, 0 skipped"
    else
        echo "0 passed, 1 failed, 0 skipped"
        return 1
    fi
}
export -f build_all
export jobs

# What failed, once more, where whoever reads the end of a long log sees it: each such line with what is around it, or
# the last lines of a part that has none.
tell_failures() {
    local name lines
    for name in "${failures[@]}"; do
        lines=$(grep -v '^PASS' "$log/$name" | grep -wE -B 1 -A 20 'FAIL(ED)?') || lines=$(tail -n 10 "$log/$name")
        printf '\n== %s: failed\n%s\n' "$name" "$(head -n 60 <<<"$lines")"
    done
}

# Which set a part is of; how: part, or beside.
how=part
short() { [ ${#chosen[@]} -eq 0 ] && [ "$set" = long ] || "$how" "$@"; }
long() { [ ${#chosen[@]} -eq 0 ] && [ "$set" = short ] || "$how" "$@"; }
longest() { [ ${#chosen[@]} -eq 0 ] && [ "$set" != long ] || "$how" "$@"; }
has_lane=no
[ ${#chosen[@]} -gt 0 ] || [ "$set" = long ] || [ "$jobs" -lt 2 ] || has_lane=yes

short build 600 bash -c build_all
how=beside
for script in tests/lab/*_test.sh; do
    [ -e "$script" ] && short "$(basename "$script" .sh)" 600 bash "$script"
done
how=part
begin_lane

short unit 600 make -s -j "$jobs" unit
short style 300 make -s check-style
for script in tests/*/*_test.sh; do
    case $script in
    tests/lab/* | tests/lab-verbs/* | tests/mpi/* | tests/apps/* | tests/long/*) ;;
    tests/models/*) [ -e "$script" ] && long "$(basename "$script" .sh)" 300 bash "$script" ;;
    *) [ -e "$script" ] && short "$(basename "$script" .sh)" 300 bash "$script" ;;
    esac
done
short address-undefined 600 make -s -j "$jobs" SAN=address,undefined unit
short mpi 600 bash tests/mpi/run.sh
long thread 600 make -s -j "$jobs" SAN=thread unit
for script in tests/mpi/*_test.sh; do
    [ -e "$script" ] && long "$(basename "$script" .sh)" 600 bash "$script"
done
if [ -e mk/fuzz.mk ]; then
    long fuzz 600 make -s -j "$jobs" fuzz
    longest fuzz_minutes 600 make -s -j "$jobs" fuzz FUZZ_SECONDS=60
fi
end_lane
for script in tests/lab-verbs/*_test.sh; do
    [ -e "$script" ] && long "$(basename "$script" .sh)" 600 bash "$script"
done
for script in tests/long/*_test.sh; do
    [ -e "$script" ] && longest "$(basename "$script" .sh)" 1800 bash "$script"
done

# What somebody has chosen and is none would pass unseen.
for name in "${chosen[@]}"; do
    case $known in
    *" $name "*) continue ;;
    esac
    echo "run_all.sh: there is no part $name; there are:$known" | tr -s ' '
    total_failed=$((total_failed + 1))
done

printf '\n%-22s %6s %6s %7s %7s\n' part passed failed skipped time
printf '%s\n' "${parts[@]}"
tell_failures
echo
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
