#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The checks of slurm.sh, on host h0 of its laboratory: srun, sbatch, arrays, steps beside each other and steps that
# are cancelled, with castoff against without. Arguments: the folder with Slurm's packages (empty: it is installed)
# and cases, all without any. Prints PASS or FAIL and what was checked, for a failure also why.
set -u

top=$PWD packages=$1
shift
chosen=" $* "
programs=$top/build/tests/mpi
castoff=$top/build/castoff
shared=$CASTOFF_LAB_SHARED
hosts=$CASTOFF_LAB_HOSTS
# A job that hangs does nothing; what its ranks do is not srun's time.
bounded=(python3 -S "$top/tests/bounded.py" 200 1500)
# They speak to the lab's command; for a job they would be unknown settings.
unset "${!CASTOFF_LAB_@}"
plugins=$(echo "$packages"/usr/lib/*/slurm-wlm)
if [ -n "$packages" ]; then
    export PATH=$packages/usr/bin:$packages/usr/sbin:$PATH LD_LIBRARY_PATH=$plugins:${plugins%/*}
fi
# What srun hands on to ranks: as lab-mpirun says it to mpirun.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=vader,tcp,self OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Every call is taken; to be heard at the start ranks have longer than a busy machine may take.
export CASTOFF_BCAST=yes CASTOFF_IBCAST=yes CASTOFF_ALLGATHER=yes CASTOFF_IALLGATHER=yes CASTOFF_ALLGATHERV=yes
export CASTOFF_IALLGATHERV=yes CASTOFF_PROBE=20s

pass() { # what
    echo "PASS $case_name: $1"
}

fail() { # what why [run]
    echo "FAIL $case_name: $1: $2"
    if (($# > 2)); then
        tail -n 5 "$shared/$3.out" | cut -c 1-200 | sed 's/^/    /'
        grep -v '^$' "$shared/$3.err" | tail -n 12 | cut -c 1-200 | sed 's/^/    /'
    fi
}

check() { # what command...
    local what=$1
    shift
    if "$@"; then
        pass "$what"
    else
        fail "$what" "no"
    fi
}

await() { # seconds command...: until it succeeds
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        read -r -t 0.05 <> <(:)
    done
    return 0
}

# shellcheck source=tests/families/slurm_cluster.sh
. "$top/tests/families/slurm_cluster.sh"

# Runs a step with what `options` says; its output, errors and report are $shared/RUN.*.
step() { # run program argument...
    local run=$1
    shift
    rm -f "$shared/$run".*
    "${bounded[@]}" env CASTOFF_REPORT="$shared/$run.json" srun --mpi=pmix "${options[@]}" "$@" \
        >"$shared/$run.out" 2>"$shared/$run.err" </dev/null
}

# Judges one that has ended against `native.out`: status 0, the same output, no complaint, and what the report is to
# say.
judge() { # what run status condition...
    local what=$1 run=$2 status=$3 missing
    shift 3
    if ((status != 0)); then
        fail "$what" "exit status $status" "$run"
    elif ! cmp -s "$shared/native.out" "$shared/$run.out"; then
        fail "$what" "output differs from native" "$run"
    elif grep -qE '^\[[^]]*@[^]]*\] (error|warn): ' "$shared/$run.err"; then
        fail "$what" "the library complains" "$run"
    elif missing=$(python3 -S "$top/tests/mpi/oracle/not_reported.py" "$shared/$run.json" "$(printf '%s\n' "$@")") &&
        [ -n "$missing" ]; then
        fail "$what" "the report does not say: $missing"
    else
        pass "$what"
    fi
}

native() { # what program
    step native "$2" && return
    echo "SKIP $case_name: $1: without castoff it fails: $(grep -v '^$' "$shared/native.err" | tail -n 1)"
    return 1
}

# One program without castoff, whose failure is no question to castoff, then with it.
compare() { # what program condition...
    local what=$1 program=$2 status=0
    shift 2
    native "$what" "$programs/$program" || return
    step run "$castoff" run "$programs/$program" || status=$?
    judge "$what" run "$status" "$@"
}

taken='sum(call["taken"] for call in calls.values()) > 0'
multicast='"udp: eth0" in transports and counters["data_bytes_sent"] > 0'

case_one_node() {
    local options=(-N 1 -n 8)
    compare "8 ranks of a node" bcast_sizes "$taken" "nodes == 1" 'calls["MPI_Bcast"]["taken"] > 0' 'ranks == 8'
    compare "8 ranks of a node, many allgathers at a time" iallgather_outstanding "$taken" "nodes == 1"
    check_nothing_left
}

case_several_nodes() {
    local options=(-N 4 -n 8 --ntasks-per-node=2)
    compare "8 ranks on 4 nodes" bcast_sizes "$taken" "nodes == 4" "$multicast"
    options=(-N 4 -n 4)
    compare "4 ranks on 4 nodes, halves of a communicator" comm_halves "$taken" "nodes == 4" "$multicast"
    # Neighbours are on different nodes, so each node has ranks such as 1 and 5.
    options=(-N 4 -n 8 --ntasks-per-node=2 --distribution=cyclic)
    compare "ranks dealt out to nodes in turn" iallgather_outstanding "$taken" "nodes == 4" "$multicast"
    options=(-N 2 -n 4 --ntasks-per-node=2 --export=ALL,CASTOFF_P2P=yes)
    compare "messages between nodes and inside them" p2p_hosts 'counters["messages_remote"] > 0' "nodes == 2"
    # A node with one rank, and nodes with several.
    options=(-N 2 -n 5 --distribution=plane=4)
    compare "4 ranks on a node, 1 on another" allgather_sizes "$taken" "nodes == 2" "$multicast"
    check_nothing_left
}

# What batch scripts do: the script runs on the first node of the job, and srun and mpirun find the nodes by themselves.
batch() { # script-lines: to the end of the job, whose status it has
    printf '#!/bin/sh\n%s\n' "$1" >"$shared/job.sh"
    shift
    "${bounded[@]}" sbatch --quiet --wait --output="$shared/batch-%A-%a.log" "$@" "$shared/job.sh" </dev/null
}

case_batch() {
    local options=(-N 3 -n 3) status=0 line
    native "srun in a batch job" "$programs/bcast_sizes" || return
    line="CASTOFF_REPORT=$shared/run.json srun --mpi=pmix $castoff run $programs/bcast_sizes"
    batch "$line >$shared/run.out 2>$shared/run.err" -N 3 -n 3 || status=$?
    judge "srun in a batch job" run "$status" "$taken" "nodes == 3" "$multicast"
    status=0
    # Its daemons are started by srun, and get no environment but theirs.
    line="CASTOFF_REPORT=$shared/run.json $castoff mpirun --bind-to none $programs/bcast_sizes"
    batch "$line >$shared/run.out 2>$shared/run.err" -N 3 -n 3 || status=$?
    judge "castoff mpirun in a batch job" run "$status" "$taken" "nodes == 3" "$multicast"
    check_nothing_left
}

# Four jobs of an array at once on one node, the same program, ranks and communicators in each.
case_array() {
    local options=(-N 1 -n 2) status=0 i
    native "an array of jobs" "$programs/iallgather_outstanding" || return
    rm -f "$shared"/array.*
    batch "export CASTOFF_REPORT=$shared/array.\$SLURM_ARRAY_TASK_ID.json
srun --mpi=pmix $castoff run $programs/iallgather_outstanding >$shared/array.\$SLURM_ARRAY_TASK_ID.out \
2>$shared/array.\$SLURM_ARRAY_TASK_ID.err" --array=0-3 -w h1 -N 1 -n 2 || status=$?
    for i in 0 1 2 3; do
        judge "an array of jobs at once on a node, job $i" "array.$i" "$status" "$taken" "nodes == 1" "ranks == 2"
    done
    check_nothing_left
}

# Two steps of one job at once on the same processors of the same nodes.
case_overlap() {
    local options=(-N 2 -n 4) status=0 i
    native "steps that overlap" "$programs/comm_halves" || return
    rm -f "$shared"/overlap.*
    batch "for i in 0 1; do
    CASTOFF_REPORT=$shared/overlap.\$i.json srun --mpi=pmix --overlap $castoff run $programs/comm_halves \
>$shared/overlap.\$i.out 2>$shared/overlap.\$i.err &
    steps=\"\$steps \$!\"
done
for step in \$steps; do wait \$step || exit; done" -N 2 -n 4 || status=$?
    for i in 0 1; do
        judge "steps that overlap, step $i" "overlap.$i" "$status" "$taken" "nodes == 2" "$multicast"
    done
    check_nothing_left
}

# castoff info --check, whose jobs srun starts, from outside of any allocation and inside of one.
check_says() { # what status expected-status pattern...
    local what=$1 status=$2 expected=$3 pattern
    shift 3
    ((status == expected)) || { fail "$what" "exit status $status" run; return; }
    for pattern in "$@"; do
        grep -qE "$pattern" "$shared/run.out" "$shared/run.err" || { fail "$what" "nothing says $pattern" run; return; }
    done
    pass "$what"
}

case_check() {
    local status=0 command=("$castoff" info --check --seconds 1) line
    local passes='^multicast  *passes between all' rate='^rate  *[1-9][0-9.]* Mbit/s for broadcasts of [1-9][0-9]* KiB'
    line=${command[*]}
    "${bounded[@]}" "${command[@]}" --srun h0 h1 h2 >"$shared/run.out" 2>"$shared/run.err" </dev/null || status=$?
    check_says "by srun, hosts that are named" "$status" 0 "$passes 3 hosts$" '^host  *h2: eth0' "$rate" '^loss '
    status=0
    "${bounded[@]}" "${command[@]}" --srun='--immediate=60' 'h[0-3]' >"$shared/run.out" 2>"$shared/run.err" </dev/null || status=$?
    check_says "by srun, hosts as Slurm writes them" "$status" 0 "$passes 4 hosts$" "$rate"
    # More tasks than hosts were asked for.
    status=0
    batch "$line --srun >$shared/run.out 2>$shared/run.err" -N 3 -n 6 --ntasks-per-node=2 || status=$?
    check_says "by srun, in a batch job" "$status" 0 "$passes 3 hosts$" "$rate"
    status=0
    batch "$line --srun h2 h1 >$shared/run.out 2>$shared/run.err" -w 'h[0-3]' -n 4 || status=$?
    check_says "by srun, two hosts of a batch job" "$status" 0 "$passes 2 hosts$" '^host  *h1: ' "$rate"
    status=0
    batch "$line >$shared/run.out 2>$shared/run.err" -N 3 -n 3 || status=$?
    check_says "by mpirun, in a batch job" "$status" 0 "$passes 3 hosts$" "$rate"
    status=0
    "${bounded[@]}" "${command[@]}" --srun nobody >"$shared/run.out" 2>"$shared/run.err" </dev/null || status=$?
    check_says "by srun, a host that is none" "$status" 1 '^castoff info: the job over the hosts ended with status '
    check_nothing_left
}

# shellcheck source=tests/families/slurm_ends.sh
. "$top/tests/families/slurm_ends.sh"

case_name=cluster
if ! raise_cluster >"$shared/raise.out" 2>&1; then
    fail "slurmctld and a slurmd on each host" "they do not come up: $(tail -n 1 "$shared/raise.out")"
    last_words
    exit 0
fi
pass "slurmctld and a slurmd on each host"
for case_name in one_node several_nodes batch array overlap check cancelled dying limits elsewhere; do
    [[ $chosen == "  " || $chosen == *" $case_name "* ]] || continue
    began=$SECONDS
    "case_$case_name"
    echo "($case_name: $((SECONDS - began)) s)"
done
