# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Part of onesided_test_inside.sh: the cases in which unmodified MPI programs on all four guests have their large
# collectives placed.

# An unmodified program in the guests, whose large collectives are to be placed. It writes $shared/out.NAME and err.NAME,
# its report report.NAME.
run_mpi() { # name ranks program arguments... -- settings...
    local name=$1 ranks=$2 command=("$top/build/tests/mpi/$3") exports=() setting
    shift 3
    while [[ $1 != -- ]]; do
        command+=("$1")
        shift
    done
    shift
    for setting in CASTOFF_COORDINATOR="$place" CASTOFF_COORDINATOR_SECRET="$secret" CASTOFF_PLACED_MIN="${least:-1M}" CASTOFF_PROBE=5s \
        CASTOFF_LOG=info CASTOFF_REPORT="$shared/report.$name" "$@"; do
        exports+=(-x "$setting")
    done
    rm -f "$shared/report.$name"
    "${bounded[@]}" lab-mpirun -n "$ranks" --enable-recovery "${exports[@]}" "${before[@]}" "$top/build/castoff" run -- "${command[@]}" \
        >"$shared/out.$name" 2>"$shared/err.$name"
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
before=() # in front of the program

# As README.md has it, and nothing set but where the hosts' network is. What speaks to the lab's command would be an unknown
# setting.
by_castoff_mpirun() { # ranks program arguments...
    local arguments ranks=$1 program=$2
    shift 2
    read -ra arguments <<<"$CASTOFF_LAB_MPIRUN_ARGS"
    (
        unset "${!CASTOFF_LAB_@}"
        export CASTOFF_COORDINATOR=$place CASTOFF_COORDINATOR_SECRET=$secret CASTOFF_PLACED_MIN=1M
        export CASTOFF_UDP_INTERFACE=eth0 CASTOFF_PROBE=5s CASTOFF_REPORT=$shared/report.castoff
        "${bounded[@]}" "$castoff" mpirun "${arguments[@]}" -n "$ranks" "$top/build/tests/mpi/$program" "$@" \
            2>"$shared/err.castoff"
    )
}

# castoff's own words between the ranks go by the other network, so that only what is placed crosses the hop.
apart=(CASTOFF_UDP_INTERFACE=eth1 CASTOFF_TRANSPORT=udp)

reported() { # name counter
    awk -v name="$2" '$1 == name { print $2 }' "$shared/report.$1"
}

reports() { # name counter value
    local value
    value=$(reported "$1" "$2")
    ((${value:-0} == $3)) || { echo "$2 is ${value:-0}, not $3"; tail -n 20 "$shared/report.$1" "$shared/err.$1"; return 1; }
}

reports_some() { # name counter
    local value
    value=$(reported "$1" "$2")
    ((${value:-0} > 0)) || { echo "$2 is ${value:-0}"; tail -n 20 "$shared/report.$1" "$shared/err.$1"; return 1; }
}

# Of so many streams of so many bytes each to three members. All their packets have to come in once and go out to each
# member; what was lost on a busy machine comes in and goes out once more, 16 packets of 4096 bytes in a chunk.
expect_streams() { # name streams MiB
    local again least=$(($2 * $3 * 256))
    again=$(reported "$1" onesided_chunks_again)
    check "$1: packets came in once, and what was lost again" \
        await is_between group_packets "$least" $((least + 16 * ${again:-0}))
    check "$1: they went out three times" await is_between copies $((3 * least)) $((3 * $(counter group_packets)))
}

as_natively() { # name ranks program arguments...
    local name=$1 ranks=$2 program=$3
    shift 3
    "${bounded[@]}" mpirun --oversubscribe -n "$ranks" "$top/build/tests/mpi/$program" "$@" >"$shared/native" 2>/dev/null
    cmp "$shared/native" "$shared/out.$name"
}

case_mpi() {
    start_coordinator
    as_switch
    check "broadcasts of 8 MiB from each root run" run_mpi bcast 4 onesided_calls 8388608 5 -- "${apart[@]}"
    check "they give what they give natively" as_natively bcast 4 onesided_calls 8388608 5
    check "all of them were placed" reports bcast onesided_broadcasts 5
    expect_streams bcast 5 8
    check "an allgather of 2 MiB runs" run_mpi allgather 4 onesided_calls 2097152 0 1 -- CASTOFF_UDP_INTERFACE=eth0
    check "it gives what it gives natively" as_natively allgather 4 onesided_calls 2097152 0 1
    check "each block was placed" reports allgather onesided_blocks 4
    check "the README's command runs" by_castoff_mpirun 4 onesided_calls 2097152 2
    check "by the README's command all were placed" reports castoff onesided_broadcasts 2
    two_jobs
    check "no rule is left" settles rules_now 0
    check "no group is left" is groups 0
    end_daemons
}

# What cannot be placed goes as ever, whoever says no and when.
goes_as_ever() { # what settings...
    local what=$1
    shift
    check "$what: broadcasts run" run_mpi refused 4 onesided_calls 1500000 3 -- "${apart[@]}" CASTOFF_DEADLINE_S=24 "$@"
    check "$what: they give what they give natively" as_natively refused 4 onesided_calls 1500000 3
    check "$what: none was placed" reports refused onesided_broadcasts 0
}

says() { # pattern
    grep -m 3 "placed" "$shared/err.refused"
    grep -q -- "$1" "$shared/err.refused"
}

case_mpi_refusals() {
    goes_as_ever "no coordinator"
    check "no coordinator: it says so" says "ordinary way, as the next ones will for a while: no coordinator at $place"
    check "no coordinator: it is tried once" reports refused onesided_declined_after_failure 2
    start_coordinator
    goes_as_ever "no hop"
    check "no hop: it says so" says "ordinary way, as the next ones will for a while: .*: no hop is connected"
    as_switch --rules 1 --actions 2
    goes_as_ever "a full table"
    check "a full table: it says so" says "ordinary way, as the next ones will for a while: .*: the table is full"
    head -c 32 /dev/urandom >"$shared/other" && chmod 600 "$shared/other"
    secret=$shared/other goes_as_ever "another secret"
    check "another secret: it says so" says "the other end has another secret"
    secret=$shared/nowhere goes_as_ever "no secret"
    check "no secret: it says so, at the start" says "no collective is placed (CASTOFF_COORDINATOR): secret $shared/nowhere"
    check "no secret: it is not tried" reports refused onesided_fallen_back 0
    before=(lab-memlock 1000)
    goes_as_ever "too little memory that may be locked"
    before=()
    check "too little memory that may be locked: it says so" says "ulimit -l allows 1000 KiB of locked memory"
    check "no rule is left" settles rules_now 0
    check "no group is left" is groups 0
    end_daemons
}

two_jobs() {
    local job jobs=()
    for job in first second; do
        run_mpi "$job" 2 onesided_calls 4194304 4 -- "${apart[@]}" &
        jobs+=($!)
    done
    check "two jobs at once: the first one runs" wait "${jobs[0]}"
    check "two jobs at once: the second one runs" wait "${jobs[1]}"
    for job in first second; do
        check "the $job of two jobs gives what it gives natively" as_natively "$job" 2 onesided_calls 4194304 4
        check "the $job of two jobs was placed" reports "$job" onesided_broadcasts 4
    done
}

case_mpi_loss() {
    start_coordinator
    as_switch --loss 0.002 --seed 7
    check "broadcasts over a hop that loses copies run" run_mpi loss 4 onesided_calls 8388608 3 -- "${apart[@]}"
    check "they give what they give natively" as_natively loss 4 onesided_calls 8388608 3
    check "all of them were placed" reports loss onesided_broadcasts 3
    check "what was lost was written again" reports_some loss onesided_chunks_again
    check "copies were lost" is_at_least lost_on_purpose 1
    check "no rule is left" settles rules_now 0
    end_daemons
}

# Four threads of each rank with a communicator of their own, one of which places at a time.
case_mpi_threads() {
    local least=30K
    start_coordinator
    as_switch
    check "threads that place at the same time" run_mpi threads 3 bcast_threads -- "${apart[@]}"
    check "each gets its own bytes" as_natively threads 3 bcast_threads
    check "some calls were placed" reports_some threads onesided_broadcasts
    check "some were not, since another thread was placing" reports_some threads onesided_declined_busy
    check "none failed" reports threads onesided_fallen_back 0
    check "no rule is left" settles rules_now 0
    check "no group is left" is groups 0
    end_daemons
}

# A job that broadcasts until it is told to end; meanwhile something is done, of which it is to say something.
trouble() { # name word harm...
    local job
    rm -f "$shared"/{begun,end}
    run_mpi "$1" 4 placed_survivors 8388608 "$shared" -- "${apart[@]}" CASTOFF_DEADLINE_S=48 &
    job=$!
    check "the job is under way" await test -e "$shared/begun"
    pause 0.5
    "${@:3}"
    check "it notices" await grep -q "$2" "$shared/err.$1"
    pause 2
    touch "$shared/end"
    wait "$job"
    check "it ends in time" test $? -ne 124
    cat "$shared/out.$1"
}

all_say() { # name what how-many
    cat "$shared/out.$1" "$shared/err.$1"
    (($(grep -c "^rank [0-3]: $2\$" "$shared/out.$1") == $3))
}

falls_back() { # name
    check "all ranks have the right bytes" all_say "$1" "no error" 4
    check "some were placed before" reports_some "$1" onesided_broadcasts
    check "one was not and went the ordinary way" reports_some "$1" onesided_fallen_back
    check "the others after it did so at once" reports_some "$1" onesided_declined_after_failure
    check "it is said" grep -q "could not be placed and goes the ordinary way" "$shared/err.$1"
}

kill_hop() {
    kill -KILL "${hops[0]}"
    wait "${hops[0]}" 2>/dev/null
    hops=()
}

case_mpi_hop_killed() {
    start_coordinator
    as_switch
    trouble hop "could not be placed" kill_hop
    falls_back hop
    as_switch
    check "another hop has no rule" settles rules_now 0
    end_daemons
}

kill_coordinator() {
    kill -KILL "$coordinator"
    wait "$coordinator" 2>/dev/null
}

case_mpi_coordinator_killed() {
    start_coordinator
    as_switch
    trouble coordinator "could not be placed" kill_coordinator
    falls_back coordinator
    start_coordinator
    await_hops 1
    check "another coordinator finds a hop without rules" settles rules_now 0
    end_daemons
}

kill_rank() {
    lab-in-guest 3 kill -KILL "$(cat "$shared/pid.3")"
}

case_mpi_member_killed() {
    start_coordinator
    as_switch
    trouble member "MPI_Bcast failed" kill_rank
    check "the others get an MPI error" all_say member "an error" 3
    check "no rule is left" settles rules_now 0
    check "no group is left" is groups 0
    end_daemons
}
