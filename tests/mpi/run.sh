#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the MPI test programs of this folder on native MPI, with the library preloaded but off, on, and
# on across a network with seeded faults of either kind, and requires the same bytes on standard output from all of them.
# What a program needs (ranks, arguments, settings, exit status) stands in its first comment; README.md in
# this folder lists the keys. A run that hangs (tests/bounded.py) is killed with all its ranks and its log is shown.
# Closes with the line "N passed, N failed, N skipped"; one run of one program in one mode counts as one. Needs python3.
set -u -o pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/mpi/family.sh
. "$here/family.sh" || exit 2
library=${CASTOFF_LIBRARY:-$top/$library}
log_dir=$build/log
all_modes="native off on faults damage"
modes=$all_modes
only_ranks=""
seed=$(date +%s)
declare -A faults=([faults]=drop=0.01,dup=0.01,reorder=0.01 [damage]=corrupt=0.02,truncate=0.02,delay=0.02)
parallel=2
extra_settings=()
filters=()

usage() {
    cat <<'TEXT'
usage: tests/mpi/run.sh [option...] [name...]
  name            run only programs whose name contains one of the names
  --mode MODE     run only this mode (repeatable): native, off, on, faults, damage
  --ranks N       run only with this number of ranks (instead of the program's list)
  --seed N        seed of the injected faults (printed at the start of every run)
  --faults SPEC   faults of the mode faults instead of drop=0.01,dup=0.01,reorder=0.01 (without the seed)
  --set NAME=VAL  one more setting for the modes on, faults and damage (repeatable)
  --no-report     leave out what the report is to say of a program: it is true of the default settings
  --jobs N        programs that run at the same time (2)
  --without NAME  not this program (repeatable)
  --long          the programs that take minutes, which are left out where no name is given, and no others
  --list          print the programs with their ranks and what they expect, and stop
TEXT
}

die() {
    echo "run.sh: $*" >&2
    exit 2
}

list_only=no judges_report=yes long="" left_out=""
chosen_modes=""
while [ $# -gt 0 ]; do
    case $1 in
    --mode) chosen_modes="$chosen_modes ${2:-}"; shift ;;
    --ranks) only_ranks=${2:-}; shift ;;
    --seed) seed=${2:-}; shift ;;
    --faults) faults[faults]=${2:-}; shift ;;
    --set) extra_settings+=("${2:-}"); shift ;;
    --no-report) judges_report=no ;;
    --jobs) parallel=${2:-}; shift ;;
    --without) left_out="$left_out ${2:-}"; shift ;;
    --long) long=yes ;;
    --list) list_only=yes ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; die "unknown option $1" ;;
    *) filters+=("$1") ;;
    esac
    shift
done
modes=${chosen_modes:-$all_modes}
for mode in $modes; do
    [[ " $all_modes " == *" $mode "* ]] || die "unknown mode '$mode'"
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 # Open MPI 5's launcher
unset LD_PRELOAD "${!CASTOFF_@}"

# shellcheck source=tests/mpi/leftovers.sh
. "$here/leftovers.sh"

# Prints every value of key $2 in the first comment of source file $1, one per line.
header() {
    sed -n -E "/^(#!|(\/\/|#|!) )/!q; s/^(\/\/|#|!) $2: //p" "$1"
}

# Prints the first value of key $2 of file $1, or $3 when it has none.
header_or() {
    local value
    value=$(header "$1" "$2" | head -n 1)
    echo "${value:-$3}"
}

selected() {
    local filter
    [ ${#filters[@]} -eq 0 ] && return 0
    for filter in "${filters[@]}"; do
        [[ $1 == *"$filter"* ]] && return 0
    done
    return 1
}

# An interrupted suite takes its jobs with it.
interrupted() {
    local pids
    trap - INT TERM
    # shellcheck disable=SC2046,SC2086 # lists of numbers; the units first, or they would start their next mode
    kill -KILL $(jobs -p) 2>/dev/null
    pids=$(marked_processes "$$[.].*")
    [ -z "$pids" ] || kill -TERM $pids 2>/dev/null
    echo "interrupted" >&2
    exit 130
}

# Fills the array `settings` with the environment that mode $1 gives to every rank; $2 says where a
# PMPI tool is to stand (none, front, behind; next: behind, and calls what comes next, not PMPI), $3 is the file for the library's report.
settings=()
mode_settings() {
    local tool=$build/lib$([ "$2" = next ] && echo next || echo bcast)_counter.so preload=$library
    settings=()
    case $1/$2 in
    native/none) preload="" ;;
    native/*) preload=$tool ;;
    */front) preload=$tool:$library ;;
    */behind | */next) preload=$library:$tool ;;
    esac
    preload+=${preload:+${sleeps:+:}}$sleeps
    [ -z "$preload" ] || settings+=("LD_PRELOAD=$preload")
    case $1 in
    off) settings+=(CASTOFF_ENABLE=0) ;;
    on | faults | damage)
        settings+=(CASTOFF_BCAST=yes CASTOFF_IBCAST=yes CASTOFF_ALLGATHER=yes CASTOFF_IALLGATHER=yes CASTOFF_ALLGATHERV=yes CASTOFF_IALLGATHERV=yes CASTOFF_BCAST_INIT=yes CASTOFF_ALLGATHER_INIT=yes CASTOFF_ALLGATHERV_INIT=yes CASTOFF_STALL_S=15)
        # Where a program has nodes: a busy machine may take longer than half a second to hear of all at the start.
        # Where it has proxies, by its environment: all-to-alls.
        settings+=(CASTOFF_PROBE=20s CASTOFF_IALLTOALL=yes CASTOFF_IALLTOALLV=yes CASTOFF_ALLTOALL_INIT=yes CASTOFF_ALLTOALLV_INIT=yes)
        settings+=("CASTOFF_REPORT=$3" "${extra_settings[@]}")
        ;;
    esac
    if [ -n "${faults[$1]:-}" ]; then
        # Chunks are lost on a network only: each rank is a node of its own, if none larger are asked for, on loopback.
        [[ " ${extra_settings[*]}" == *" CASTOFF_NODE_RANKS="* ]] || settings+=(CASTOFF_NODE_RANKS=1)
        settings+=(CASTOFF_UDP_INTERFACE=lo "CASTOFF_FAULT=${faults[$1]},seed=$seed")
    fi
}

# Runs the program once; the caller's variables describe the unit. Output goes to $log.out and $log.err.
launch() {
    local options command=() exports=() setting session below=${faults[$mode]:+OMPI_MCA_pml=ob1} # choosing one takes half of a start
    # shellcheck disable=SC2206 # lists of words by intent
    options=(--oversubscribe --bind-to none $mpirun_options)
    for setting in "${settings[@]}" $environment; do
        # What the program itself asks for counts, whatever the settings of this run say.
        [[ " $environment " == *" $setting "* || " $environment" != *" ${setting%%=*}="* ]] || continue
        exports+=(-x "$setting")
    done
    case $source_file in
    *.py) command=(/usr/bin/python3 "$source_file") ;;
    *) command=("$build/$name") ;;
    esac
    # shellcheck disable=SC2206
    command+=($arguments)
    local line=(mpirun "${options[@]}" -n "$ranks" "${exports[@]}" "${command[@]}") copy pids=() status=0
    [ "$family" != mpich ] || mpich_line
    if [ "$programs" = 2 ]; then
        line+=(: -n 1 "${exports[@]}" "${command[@]}")
    fi
    case $launcher in
    preloaded) line=(env "${settings[@]}" "${line[0]}" "${options[@]}" -n "$ranks" sh -c 'exec "$0" "$@"' "${command[@]}") ;;
    none) line=(env "${settings[@]}" "${command[@]}") ;;
    esac
    for ((copy = 1; copy <= copies; copy++)); do
        # Each job writes a report of its own; the first one's is looked at.
        [ "$copy" -eq 1 ] || line=("${line[@]/%.json/.json$copy}")
        session=$(mktemp -d "$sessions/XXXXXX") || return
        env ${below:+"$below"} OMPI_MCA_orte_tmpdir_base="$session" PRTE_MCA_prte_tmpdir_base="$session" MPI_TEST_RUN="$mark" \
            python3 -S "$here/../bounded.py" "$limit" $((limit * (ranks + 1))) "${line[@]}" \
            >"$log.out$copy" 2>"$log.err$copy" </dev/null &
        pids+=($!)
    done
    for copy in "${pids[@]}"; do
        wait "$copy" || status=$?
    done
    cat "$log".out? >"$log.out"
    cat "$log".err? >"$log.err"
    rm -f "$log".out? "$log".err?
    return "$status"
}

# Judges what the library said on standard error: nothing, unless the program is one that gives cause. Then the
# line must be there when the library is on. A log line looks like [rank@host:pid subsystem] level: text.
wrong_words() {
    local said
    [ "$mode" = off ] || [ "$mode" = on ] && [ "$expected_status" -eq 0 ] || return 0
    said=$(grep -E '^\[[^]]*@[^]]*\] (error|warn): ' "$log.err" | cut -d' ' -f3-)
    [ "$family" != mpich ] || said=$(grep -v ' CASTOFF_P2P: ' <<<"$said") # it keeps messages, whatever is asked for
    if [ -z "$complaint" ]; then
        [ -z "$said" ] || echo "unexpected complaint: ${said%%$'\n'*}"
    elif [ "$mode" = on ]; then
        grep -qE "${complaint#once: }" <<<"$said" || echo "no complaint that matches '${complaint#once: }'"
        [ "$complaint" = "${complaint#once: }" ] || [ "$(grep -c . <<<"$said")" -eq 1 ] || echo "more than one line: $said"
    fi
}

# Decides what the run that just ended was: prints "pass", "skip" or a reason to fail.
verdict() {
    local status=$1 left=$2 conditions=$report missing words
    if [ -n "${faults[$mode]:-}" ] && [ -n "$taken" ] && [ "$ranks" -gt 1 ]; then
        conditions+=$'\n''counters["datagrams_sent"] > 0' # or nothing could be lost
        conditions+=$'\n''counters["faults_injected"] > 0 or counters["datagrams_sent"] < 1000'
    fi
    if [ "$status" -eq 77 ] && [ "$expected_status" != 77 ]; then
        [ "$mode" = native ] || [ ! -e "$native_log.out" ] || [ -e "$native_log.skipped" ] ||
            { echo "skipped, though native was not"; return; }
        touch "$log.skipped"
        echo skip
    elif [ "$status" -eq 124 ]; then
        echo "hangs"
    elif [ "$status" -ne "$expected_status" ]; then
        echo "exit status $status instead of $expected_status"
    elif [ -n "$left" ]; then
        echo "$left processes left behind"
    elif [ "$mode" != native ] && [ -e "$native_log.out" ] && ! cmp -s "$native_log.out" "$log.out"; then
        echo "output differs from native"
    elif words=$(wrong_words) && [ -n "$words" ]; then
        echo "$words"
    elif [[ $mode != native && $mode != off ]] && [ -n "$conditions" ]; then
        missing=$(python3 -S "$here/oracle/not_reported.py" "$log.json" "$conditions")
        echo "${missing:+the report does not say: }${missing:-pass}"
    else
        echo pass
    fi
}

show_failure() {
    echo "---- $unit, $ranks ranks, mode $mode: $1"
    if [ -e "$native_log.out" ] && [ "$mode" != native ]; then
        diff "$native_log.out" "$log.out" | head -n 10
    fi
    tail -n 8 "$log.out" | cut -c 1-200
    grep -v '^$' "$log.err" | tail -n 25 | cut -c 1-300
    echo "---- logs: ${log#"$top"/}.out and .err"
}

# What a mode cannot change is not run again: off, the library hands every call through, however many ranks there are;
# and one rank has no network to lose anything on. Who asks for a mode, or for a number of ranks, gets it.
mode_changes_nothing() {
    [ -z "$chosen_modes$only_ranks" ] || return 1
    { [ "$mode" = off ] && [ "$ranks" -ne "$fewest" ]; } ||
        { [ -n "${faults[$mode]:-}" ] && [ "$ranks" -eq 1 ] && [ "$programs" = 1 ]; }
}

# Of the numbers of ranks of a program the smallest of those above one.
fewest_ranks() { # source-file
    header_or "$1" ranks 2 | tr ' ' '\n' | sort -n | awk '{ last = $1 } $1 > 1 { exit } END { print last }'
}

# One program with one rank count, argument line and tool position, in all modes: one line of output.
run_unit() {
    local source_file=$1 ranks=$2 arguments=$3 tool=$4
    local name call unit row="" failures="" mode log native_log result status started left mark label lacking
    local mpirun_options environment expected_status taken report complaint copies programs launcher limit only_modes
    local fewest
    fewest=$(fewest_ranks "$source_file")
    name=$(basename "${source_file%.*}")
    label="${arguments:+ $arguments}"
    [ "$tool" = none ] || label="$label tool-$tool"
    unit=$name$label
    mpirun_options=$(header_or "$source_file" mpirun "")
    environment=$(settings_for_family "$(header_or "$source_file" environment "")")
    expected_status=$(header_or "$source_file" status 0)
    taken=$(header_or "$source_file" taken "")
    report=$([ "$judges_report" = no ] || header "$source_file" report)
    [ "$ranks" -eq 1 ] || for call in $taken; do
        [[ $family != mpich || $call =~ ^MPIX?_(I?[Bb]cast|I?[Aa]llgatherv?)(_init)?$ ]] || continue # messages are left to it
        report+=$'\n'"calls[\"$call\"][\"taken\"] > 0"
    done
    complaint=$(header_or "$source_file" complaint "")
    copies=$(header_or "$source_file" copies 1)
    programs=$(header_or "$source_file" programs 1)
    launcher=$(header_or "$source_file" launcher mpirun)
    limit=$(header_or "$source_file" timeout 60)
    only_modes=$(header_or "$source_file" modes "$([[ $name == p2p_* ]] && echo "${all_modes% damage}" || echo "$all_modes")")
    native_log=$log_dir/${unit// /_}.$ranks.native
    rm -f "$native_log".*
    lacking=$(lacking_memory "$(header_or "$source_file" memory 0)" && unfit_for_family "$name" "$mpirun_options")
    for mode in $modes; do
        [[ " $only_modes " == *" $mode "* ]] || continue
        ! mode_changes_nothing && ! native_is_kept || continue
        if [ -n "$lacking" ]; then
            echo skip >>"$log_dir/results"
            row=" skipped: $lacking"
            continue
        fi
        log=$log_dir/${unit// /_}.$ranks.$mode
        mark=$$.${unit// /_}.$ranks.$mode
        rm -f "$log".*
        mode_settings "$mode" "$tool" "$log.json"
        started=${EPOCHREALTIME/[.,]/}
        launch && status=0 || status=$?
        local took=$(((${EPOCHREALTIME/[.,]/} - started) / 100000))
        left=$(sweep "$mark")
        result=$(verdict "$status" "$left")
        native_is_fit || break
        echo "$result" >>"$log_dir/results"
        case $result in
        pass | skip) keep_native && row+=$(printf '  %-6s %s %3d.%d' "$mode" "$result" $((took / 10)) $((took % 10))) ;;
        *)
            row+=$(printf '  %-6s FAIL %3d.%d' "$mode" $((took / 10)) $((took % 10)))
            failures+=$(show_failure "$result")$'\n'
            echo "$unit, $ranks ranks, $mode: $result" >>"$log_dir/failures"
            ;;
        esac
    done
    [ -z "$row" ] || printf '%-38s %3d%s\n' "$unit" "$ranks" "$row"
    [ -z "$failures" ] || printf '%s' "$failures"
}

# Says so when less than $1 GiB of memory are available.
lacking_memory() {
    local there
    there=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
    [ "${there:-0}" -ge "$1" ] || echo "needs $1 GiB of memory, ${there:-none} available"
}

# Runs a unit in the background as soon as fewer than $parallel are running.
running=0
submit() {
    if [ "$running" -ge "$parallel" ]; then
        wait -n
        running=$((running - 1))
    fi
    run_unit "$@" &
    running=$((running + 1))
}

sources=()
for file in "$here"/*_*.c "$here"/*_*.cpp "$here"/*_*.f90 "$here"/*_*.py; do
    selected "$(basename "${file%.*}")" && [ -e "$file" ] || continue
    [[ " $left_out " != *" $(basename "${file%.*}") "* ]] || continue
    [ ${#filters[@]} -gt 0 ] || [ "$(header_or "$file" long "")" = "$long" ] && sources+=("$file")
done
[ ${#sources[@]} -gt 0 ] || die "no program has such a name"
if [ "$list_only" = yes ]; then
    for file in "${sources[@]}"; do
        printf '%-32s ranks %-10s %s\n' "$(basename "${file%.*}")" "$(header_or "$file" ranks 2)" \
            "$(header_or "$file" expect "")"
    done
    exit 0
fi

build_programs || die "the programs do not build"
if [ ! -e "$library" ]; then
    [ "$modes" = native ] || [ "$modes" = " native" ] || die "$library is missing: run make first, or use --mode native"
fi
# Another run in this tree must keep its logs: whoever comes second writes beside it.
if owner=$(cat "$log_dir/owner" 2>/dev/null) && kill -0 "$owner" 2>/dev/null; then
    log_dir=$build/log.$$
    echo "the run of process $owner uses $build/log; the logs of this one are in $log_dir"
fi
mkdir -p "$log_dir"
rm -f "$log_dir"/*
echo $$ >"$log_dir/owner"
segments=$(mktemp -d /dev/shm/mpi-tests.XXXXXX) || die "/dev/shm is not writable"
# Of each job its own: where one user's jobs share a folder, which the last to leave removes, the next one to come may
# fail ("A call to mkdir was unable to create the desired directory").
sessions=$(mktemp -d "${TMPDIR:-/tmp}/castoff-mpi.XXXXXX") || die "no folder for sessions"
trap 'rm -rf "$segments" "$sessions" "$log_dir/owner"' EXIT
trap interrupted INT TERM
export OMPI_MCA_btl_vader_backing_directory=$segments OMPI_MCA_btl_sm_backing_directory=$segments # Open MPI 4, 5
ls -1d /dev/shm/* >"$log_dir/shm-before" 2>/dev/null
: >"$log_dir/results"
: >"$log_dir/failures"
echo "MPI tests, modes:$(printf ' %s' $modes); fault seed $seed (repeat with --seed $seed)"

for file in "${sources[@]}"; do
    mapfile -t argument_lines < <(header "$file" arguments)
    [ ${#argument_lines[@]} -gt 0 ] || argument_lines=("")
    for count in ${only_ranks:-$(header_or "$file" ranks 2)}; do
        for argument_line in "${argument_lines[@]}"; do
            for position in $(header_or "$file" tool none); do
                submit "$file" "$count" "$argument_line" "$position"
            done
        done
    done
done
wait

left=$(left_in_shared_memory)
if [ -n "$left" ]; then
    echo "left in /dev/shm:" $left >>"$log_dir/failures"
    echo fail >>"$log_dir/results"
fi
if [ -s "$log_dir/failures" ]; then
    echo "failures (fault seed $seed):"
    sed 's/^/  /' "$log_dir/failures"
fi
passed=$(grep -cx pass "$log_dir/results")
skipped=$(grep -cx skip "$log_dir/results")
failed=$(($(wc -l <"$log_dir/results") - passed - skipped))
[ "$failed" -ne 0 ] || [ "$log_dir" = "$build/log" ] || rm -rf "$log_dir"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
