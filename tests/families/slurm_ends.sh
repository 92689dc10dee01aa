# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Cases of slurm_inside.sh: steps and jobs that are cancelled, or lose a rank, and what is left of them; limits on
# memory; steps that Slurm gives no PMIx.

ranks_run() { # how many at least, of which command
    (($(pgrep -fc "^$2") >= $1))
}

nothing_runs() {
    ! pgrep -f "^($top/build/|castoff proxy)" >/dev/null
}

job_is_over() {
    ! kill -0 "$job" 2>/dev/null
}

# Processes of the job, proxies among them; castoff's files in /dev/shm, on each host, where Open MPI leaves its own
# behind when a rank is killed that it did not start itself; sockets, with a name or with a port for datagrams.
left_behind() {
    local host
    pgrep -fa "^($top/build/|castoff proxy)"
    for host in $hosts; do
        lab-in-host "$host" sh -c 'ls -A /dev/shm | grep -v "^vader_segment\."; ss -Huan; ss -Hxl | grep castoff'
    done
}

nothing_is_left() {
    [ -z "$(left_behind)" ]
}

check_nothing_left() { # [of what]
    local left
    await 100 nothing_is_left
    left=$(left_behind)
    if [ -z "$left" ]; then
        pass "nothing is left${1:+ of $1}"
    else
        fail "nothing is left${1:+ of $1}" "$left"
    fi
}

# Starts a step that would go on for ever, as `job`.
begin() { # run ranks program argument...
    local run=$1 ranks=$2
    shift 2
    rm -f "$shared/$run".*
    env CASTOFF_REPORT="$shared/$run.json" srun --mpi=pmix "${options[@]}" "$@" \
        >"$shared/$run.out" 2>"$shared/$run.err" </dev/null &
    job=$!
    await 100 ranks_run "$ranks" "$program" || fail "a step begins" "fewer than $ranks ranks of $program run" run
}

last_step() {
    squeue -h -s -o %i | grep -vE '\.(batch|extern|interactive)$' | tail -n 1
}

# What srun says and returns of a step that was ended is Slurm's; here it is to return.
check_ended() { # what
    if await 100 nothing_runs && await 100 job_is_over && ! wait "$job" && nothing_runs; then
        pass "$1"
    else
        fail "$1" "it runs on, or ends as if nothing had happened" run
        kill "$job" 2>/dev/null
        scancel --user=root --signal=KILL
    fi
    check_nothing_left "it"
}

case_cancelled() {
    local job options=(-N 4 -n 8 --ntasks-per-node=2) program=$top/build/bench/traffic
    begin run 8 "$castoff" run "$program" allgather 65536 100000000
    scancel "$(last_step)"
    check_ended "a step is cancelled"
    begin run 8 "$castoff" run "$program" bcast 1048576 100000000
    scancel --signal=KILL "$(last_step)"
    check_ended "a step is killed"
    options=(-N 1 -n 8)
    begin run 8 "$castoff" run "$program" allgather 1024 100000000
    scancel "$(squeue -h -o %A | head -n 1)"
    check_ended "a job is cancelled"
    # Proxies are nobody's children.
    options=(-N 2 -n 4) program=$top/build/examples/offload_ring
    begin run 4 "$program" 1048576 100000000
    check "there are proxies" await 100 ranks_run 2 "[^ ]*castoff[a-z -]* proxy"
    scancel "$(last_step)"
    check_ended "a step with proxies is cancelled"
}

# One rank is killed: Slurm ends the others (KillOnBadExit), which get an error of castoff's before or never come to it.
case_dying() {
    local job status=0 program=$top/build/bench/traffic options=(-N 3 -n 3)
    step run "$castoff" run "$programs/abort_killed_rank" || status=$?
    if ((status > 128)) && grep -q 'Killed' "$shared/run.err"; then # srun has the status of whichever ended last
        pass "a rank is killed: the step ends by a signal"
    else
        fail "a rank is killed: the step ends by a signal" "exit status $status" run
    fi
    check_nothing_left "it"
    options=(-N 1 -n 2)
    begin run 2 "$castoff" run "$program" allgather 1024 100000000
    kill -TERM "$job"
    check_ended "srun itself is ended"
}

# Slurm hands the limits of who calls srun on to the ranks.
case_limits() {
    local options=(-N 2 -n 4 --ntasks-per-node=2)
    ulimit -S -l 0
    compare "no locked memory" bcast_sizes "$taken" "nodes == 2" "$multicast"
    ulimit -S -l "$(ulimit -H -l)"
    ulimit -S -v 4000000
    compare "4 GB of addresses for each rank" iallgather_outstanding "$taken" "nodes == 2" "$multicast"
    ulimit -S -v unlimited
    ulimit -S -n 64
    compare "64 descriptors for each rank" bcast_sizes "$taken" "nodes == 2" "$multicast"
    ulimit -S -n 1024
    memory_limit
}

# A control group of the laboratory's own, since Slurm's plugin wants the root of the hierarchy, which all nodes here
# share.
memory_limit() {
    local options=(-N 1 -n 4) most bytes=$((256 << 20)) status=0
    local group=${shared%/shared}
    group=/sys/fs/cgroup/memory/${group##*/}
    if ! mkdir "$group" 2>/dev/null || ! echo $bytes >"$group/memory.limit_in_bytes" 2>/dev/null; then
        rmdir "$group" 2>/dev/null
        echo "SKIP $case_name: memory: no control group for memory (version 1) can be made here"
        return
    fi
    native "256 MiB of memory for a node's ranks" "$programs/bcast_sizes" || return
    # shellcheck disable=SC2016 # for the shell that each rank is at first
    step run sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$castoff" run "$programs/bcast_sizes" ||
        status=$?
    most=$(cat "$group/memory.max_usage_in_bytes")
    judge "256 MiB of memory for a node's ranks" run "$status" "$taken" "nodes == 1" "$((most > 1 << 20)) == 1"
    await 100 rmdir "$group" 2>/dev/null
}

# Without PMIx each rank is a job of its own to Open MPI, or none at all; castoff has nothing to say about either.
case_elsewhere() {
    local options=(-N 1 -n 2) native=0 status=0
    srun "${options[@]}" "$programs/bcast_sizes" >"$shared/native.out" 2>"$shared/native.err" </dev/null || native=$?
    srun "${options[@]}" "$castoff" run "$programs/bcast_sizes" >"$shared/run.out" 2>"$shared/run.err" </dev/null ||
        status=$?
    if ((status == native)) && ! grep -qE '^\[[^]]*@[^]]*\] (error|warn): ' "$shared/run.err"; then
        pass "without --mpi=pmix it ends as without castoff (status $status)"
    else
        fail "without --mpi=pmix" "status $status, without castoff $native" run
    fi
    [ -x "$shared/other" ] || mpicc.mpich -w -o "$shared/other" "$top/tests/tools/other_mpi.c" 2>/dev/null ||
        { echo "SKIP $case_name: a program of MPICH: there is no mpicc.mpich"; return; }
    srun --mpi=pmix -N 1 -n 4 env LD_PRELOAD="$top/build/libcastoff.so" "$shared/other" \
        >"$shared/run.out" 2>"$shared/run.err" </dev/null
    if [ "$(grep -c 'castoff is off for this job' "$shared/run.err")" -eq 1 ]; then
        pass "a program of another MPI: one line for the step"
    else
        fail "a program of another MPI: one line for the step" "$(grep -c 'castoff is off' "$shared/run.err") lines" run
    fi
}
