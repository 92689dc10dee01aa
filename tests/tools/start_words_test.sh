#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the library itself says when a job of one node starts and ends: which setting is wrong, and what is used.
. "$(dirname "$0")/check.sh"

if ! command -v mpirun >/dev/null; then
    skip "all" "no mpirun; the package openmpi-bin has it"
    finish
fi
make -s -C "$top" lib modules >"$work/make" 2>&1 || cat "$work/make"
ln -sf "$build/libcastoff.so" "$build/libcastoff-stack.so" "$work/bin"

job() { # NAME=VALUE...: a job of two ranks under these settings
    run env "$@" "$castoff" mpirun -n 2 "$build/bench/demo_app" 1 1
}
said_once() { [ "$(grep -c "$1" "$work/err")" -eq 1 ]; }

job CASTOFF_LOG=
ok "a healthy job: status 0" status_is 0
ok "a healthy job says nothing" err_is_empty
job CASTOFF_LOG=info
ok "info: served" said_once '^\[0@.* info: castoff serves this job on Open MPI [0-9.]*: 2 ranks, nodes: 1$'
ok "info: shared memory" said_once '^\[0@.* info: shm: '
ok "info: progress" said_once '^\[0@.* info: progress: '
job CASTOFF_TUNE="$work/there-is-no-table"
ok "a tune table that is not there: the setting is named" said_once 'castoff is off for this job.*CASTOFF_TUNE: .*No such file'
tuned() { # rows, NAME=VALUE...: a job whose broadcasts that table decides
    printf '%s\n' "$1" >"$work/table"
    shift
    job CASTOFF_TUNE="$work/table" CASTOFF_REPORT=- "$@"
}
declined() { grep -q 'declined [1-9][0-9]*: stock_is_faster$' "$work/err"; }
network="CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROBE=20s" # two nodes of one rank
tuned 'bcast node ranks 2 ranks_per_node 2 transport shm bytes 1- decline'
ok "a row for two ranks on a node: declines" declined
tuned 'bcast node ranks 2 ranks_per_node 1 transport shm bytes 1- decline'
ok "a row for one rank on a node: does not fit" [ "$(grep -c stock_is_faster "$work/err")" -eq 0 ]
# shellcheck disable=SC2086
{
    tuned 'bcast hosts ranks 2- ranks_per_node 1 transport udp bytes 1- decline' $network
    ok "a row for one rank on each host over udp: declines" declined
    tuned 'bcast hosts ranks 2- ranks_per_node 1 transport udp bytes 1- decline' $network CASTOFF_FAULT=drop=0.001,seed=3
    ok "a row for udp: with injected faults, too" declined
    tuned "$(printf 'bcast %s bytes 1- decline\n' 'hosts ranks 2- ranks_per_node 2-' \
        'hosts ranks 2- transport verbs' 'node ranks 2-')
bcast hosts ranks 2- bytes 1- take" $network
    ok "rows for more ranks on a host, verbs, a node: do not fit" [ "$(grep -c stock_is_faster "$work/err")" -eq 0 ]
    ok "rows for more ranks on a host, verbs, a node: taken" said_once '^  MPI_Bcast  *seen [0-9]*, taken [1-9]'
}
tuned 'bcast node ranks 2 ranks_per_node two bytes 1- decline'
ok "a row that is none: the start says which" said_once "castoff is off for this job.*CASTOFF_TUNE: .*line 1: 'two' is not a range of ranks per node"
job CASTOFF_FAULT=drop=0.1,frob=1
ok "a wrong fault, on one node too" said_once "CASTOFF_FAULT=drop=0.1,frob=1: 'frob=1' is no fault"
job CASTOFF_TRANSPORT=none CASTOFF_REPORT=-
ok "report: head" said_once '^castoff report: 2 ranks on 1 node, all native$'
ok "report: no heading without lines" [ "$(grep -c '^counters$' "$work/err")" -eq 0 ]
job CASTOFF_REPORT=-
ok "report: counters" said_once '^counters$'
ok "report: counters of experts are counted, not listed" said_once '^  [1-9][0-9]* more have moved: a report in a file '
ok "report: and stand in JSON alone" [ "$(grep -c communicator_idle_bytes "$work/err")" -eq 0 ]
ok "report: a verdict first" said_once '^castoff took [0-9]* of [1-9][0-9]* collective calls'
job CASTOFF_REPORT=- CASTOFF_BCAST=no
ok "report: the verdict says what was declined most, and why" \
    said_once '^castoff took .*; declined most: MPI_Bcast, [1-9][0-9]* times, disabled_by_setting'
job CASTOFF_REPORT="$work/report.json"
ok "report: the verdict as JSON" grep -q '^  "verdict": "castoff took ' "$work/report.json"
job CASTOFF_REPORT=-
ok "report: a call that was made" said_once '^  MPI_Bcast  *seen [1-9]'
ok "report: no call that nobody made" [ "$(grep -c MPI_Iallgather "$work/err")" -eq 0 ]
job CASTOFF_REPORT=- CASTOFF_REPORT_SITES=yes CASTOFF_BCAST=yes CASTOFF_ALLGATHER=yes
ok "report: a call site by its function, of both ranks" said_once '^  MPI_Bcast  *2 taken at [a-z_]*+0x[0-9a-f]* (demo_app)$'
run env CASTOFF_P2P=yes CASTOFF_REPORT=- "$castoff" mpirun -n 2 "$build/bench/p2p" --calls posted --depths 20 --seconds 0 --rounds-min 2
ok "report: messages" said_once '^messages from rank to rank, '
ok "report: a call for messages" said_once '^  MPI_Send  *taken [1-9][0-9]*; bytes [1-9]'
ok "report: why messages were declined" grep -q '^      declined [1-9][0-9]*: switched_off_by_info$' "$work/err"
ok "report: messages that came early" said_once '^  [0-9.]* % of the messages came before their receive$'
ok "report: matches by class, longest queue" \
    [ "$(grep -cE '^  (messages_matched_exact|receives_posted_high_water)  *[1-9]' "$work/err")" -eq 2 ]
run env CASTOFF_P2P=no CASTOFF_REPORT=- "$castoff" mpirun -n 2 "$build/bench/p2p" --calls posted --depths 20 --seconds 0 --rounds-min 2
ok "report: messages that castoff is not to take, in one line" \
    said_once '^messages from rank to rank: [1-9][0-9]* calls of all ranks, left .* (CASTOFF_P2P=no)$'
ok "report: and not call by call" [ "$(grep -c "MPI_Recv" "$work/err")" -eq 0 ]
run env CASTOFF_REPORT=- "$castoff" mpirun -n 2 "$build/bench/p2p" --calls posted --depths 20 --seconds 0 --rounds-min 2
if [ "$(nproc)" -ge 2 ]; then
    ok "report: auto takes messages on one node" said_once '^  MPI_Send  *taken [1-9][0-9]*; bytes [1-9]'
else
    ok "report: auto leaves messages of ranks that share a core" grep -q '^      declined [1-9][0-9]*: stock_is_faster$' "$work/err"
fi
run env CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROBE=20s CASTOFF_REPORT=- "$castoff" mpirun -n 2 "$build/bench/p2p" --calls posted --depths 20 --seconds 0 --rounds-min 2
ok "report: auto leaves messages between hosts" grep -q '^      declined [1-9][0-9]*: stock_is_faster$' "$work/err"
mkfifo "$work/fifo"
job CASTOFF_REPORT="$work/fifo"
ok "report: a fifo without reader is said and holds nobody up" \
    said_once "the report cannot be written to .*(CASTOFF_REPORT); so it follows here\$"
ok "report: a fifo without reader: it follows" said_once '^castoff report: '
job CASTOFF_REPORT="/dev/full"
ok "report: a full disk: said" said_once 'the report in /dev/full is not complete: No space left on device; so it follows here$'
ok "report: a full disk: it follows" said_once '^castoff report: '
job CASTOFF_REPORT="$work/nowhere/report.json"
ok "report: no such folder: said" said_once 'the report cannot be written to .*: No such file or directory .*; so it follows here$'
ok "report: no such folder: it follows, for people" said_once '^castoff report: '
job CASTOFF_REPORT="$work/report.json"
ok "report: JSON has every call" grep -q '"MPI_Iallgather"' "$work/report.json"
ok "report: JSON has times" grep -Eq '"longest": [0-9.]*[1-9]' "$work/report.json"
ok "report: JSON has no digits below a nanosecond" [ "$(grep -Ec '": [0-9]+\.[0-9]{4,}' "$work/report.json")" -eq 0 ]
# As in an MPI library that has been told by a file.
echo '_Bool ompi_ftmpi_enabled = TOLERATES;' >"$work/faults.c"
for tolerates in 1 0; do
    ${CC:-cc} -shared -fPIC -DTOLERATES=$tolerates -o "$work/faults.so" "$work/faults.c" || exit 1
    run env CASTOFF_LOG=info "$castoff" mpirun -x LD_PRELOAD="$work/faults.so" -n 2 "$build/bench/demo_app" 1 1
    ok "faults that the library tolerates ($tolerates): the job runs" status_is 0
    ok "faults that the library tolerates ($tolerates): off" \
        [ "$(grep -c 'castoff is off for this job.*it is to tolerate faults' "$work/err")" -eq $tolerates ]
done
# Open MPI's own counts of messages are those of the program.
job OMPI_MCA_pml_monitoring_enable=2
ok "messages are to be counted: the job runs" status_is 0
ok "messages are to be counted: off" said_once 'castoff is off for this job.*is to count messages.*pml_monitoring_enable'
job OMPI_MCA_pml_monitoring_enable=0 CASTOFF_LOG=info
ok "messages are not to be counted: served" said_once ' castoff serves this job on '
# As at the limit of processes: PMIx, which then refuses to begin, ends the process by a signal if it is asked twice.
echo 'int pthread_create(void) { return 11; }' >"$work/threads.c"
${CC:-cc} -shared -fPIC -fno-builtin -o "$work/threads.so" "$work/threads.c" || exit 1
run mpirun -x LD_PRELOAD="$work/threads.so" -n 1 "$build/bench/demo_app" 1 1
native=$status
run "$castoff" mpirun -x LD_PRELOAD="$work/threads.so" -n 1 "$build/bench/demo_app" 1 1
ok "no threads to be had: MPI_Init ends as without castoff, by status $native" status_is "$native"
# A rank that cannot make the group of its node's ranks must not be waited for by those who can.
if ${MPICC:-mpicc} -shared -fPIC -o "$work/no_group.so" "$top/tests/tools/no_group.c"; then
    run env CASTOFF_LOG=info CASTOFF_NODE_RANKS=2 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROBE=20s NO_GROUP_RANK=1 \
        "$castoff" mpirun -x LD_PRELOAD="$work/no_group.so" --oversubscribe -n 4 "$build/bench/demo_app" 1 1
    ok "no group of a node on one rank: the job runs" status_is 0
    ok "no group of a node on one rank: it was asked for" said_once '^no group for rank 1$'
    ok "no group of a node on one rank: served all the same" \
        said_once 'info: castoff serves this job on Open MPI [0-9.]*: 4 ranks, nodes: 2$'
else
    skip "no group of a node on one rank" "mpicc cannot make a library"
fi
ranks=2
# In a user namespace Open MPI takes us for root, whose folder in /tmp is real root's, if real root has run a job.
without_shm() { # NAME=VALUE...: a job of $ranks ranks where nothing can be made in /dev/shm
    # shellcheck disable=SC2016
    run unshare -U -r -m sh -c 'mount -t tmpfs -o ro none /dev/shm && exec "$@"' sh \
        env TMPDIR="$work" OMPI_MCA_btl=self,tcp "$@" \
        "$castoff" mpirun -n "$ranks" "$build/bench/demo_app" 1 1
}
if unshare -U -r -m sh -c 'mount -t tmpfs -o ro none /dev/shm' 2>"$work/err"; then
    without_shm
    ok "no shared memory: the job runs" status_is 0
    ok "no shared memory: and says why there is none" \
        said_once 'castoff is off for this job.*cannot share memory by /dev/shm: Read-only file system$'
    ranks=3
    without_shm CASTOFF_NODE_RANKS=2 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROBE=20s CASTOFF_REPORT=-
    ok "no shared memory, multicast: the job runs" status_is 0
    ok "no shared memory, multicast: said at the start" \
        said_once 'communicators with several ranks on a node stay native: /dev/shm: Read-only file system$'
    ok "no shared memory, multicast: and in the report" \
        said_once '^shm: not used, ranks of a node cannot share memory by /dev/shm: Read-only file system$'
    with_shm() { # size: a job of three ranks on a /dev/shm of it
        # shellcheck disable=SC2016
        run unshare -U -r -m sh -c 'mount -t tmpfs -o size="$1" none /dev/shm && shift && exec "$@"' sh "$1" \
            env TMPDIR="$work" CASTOFF_LOG=info "$castoff" mpirun --oversubscribe -n 3 "$build/bench/demo_app" 1 1
    }
    with_shm 7m
    ok "a small /dev/shm: the job runs" status_is 0
    ok "a small /dev/shm: left to native MPI" \
        said_once 'castoff is off for this job.*cannot share memory by /dev/shm: No space left on device$'
    with_shm 64m
    ok "the /dev/shm of a container: served" said_once 'info: castoff serves this job on Open MPI [0-9.]*: 3 ranks, nodes: 1$'
    info_with_shm() { # size
        # shellcheck disable=SC2016
        run unshare -U -r -m sh -c 'mount -t tmpfs -o size="$1" none /dev/shm && exec "$2" info --transports' sh "$1" \
            "$castoff"
    }
    info_with_shm 2m
    ok "info: a small /dev/shm" grep -q 'shm.*/dev/shm has 2 MiB free, too little for two ranks' "$work/out"
    ok "info: and for messages" grep -q 'p2p *not usable: no rings in /dev/shm for two ranks: No space left on device$' "$work/out"
    info_with_shm 12m
    ok "info: messages have smaller rings where /dev/shm is small" grep -q 'p2p *usable: ' "$work/out"
    info_with_shm 64m
    ok "info: for how many ranks it is enough" grep -Eq 'shm.*64 MiB free, enough for [0-9]+ ranks here' "$work/out"
else
    skip "no shared memory" "no user namespaces here"
fi
finish
