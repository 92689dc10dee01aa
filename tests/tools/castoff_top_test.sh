#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff top: two jobs of which a rank hangs, one rank is stopped, one job is killed; what is printed, in which form; and
# that nothing is left. Needs Open MPI's mpirun.
. "$(dirname "$0")/check.sh"

run "$castoff" top --interval 0
ok "a wrong interval: status 2" status_is 2
ok "a wrong interval: said" err_has "'0' is no interval"
run "$castoff" top --pid none
ok "a wrong process: status 2" status_is 2
run "$castoff" top me
ok "an argument: status 2" status_is 2
run "$castoff" top --job there-is-no-such-job
ok "nobody: status 1" status_is 1
ok "nobody: said" err_has 'no rank of yours that castoff serves runs here under that --job or --pid'
run "$castoff" top --json --job there-is-no-such-job
ok "nobody as JSON: status 0" status_is 0
ok "nobody as JSON" out_has '"ranks": \[\]'

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    skip "jobs" "no mpirun or mpicc; the packages openmpi-bin and libopenmpi-dev have them"
    finish
fi
make -s -C "$top" lib >"$work/make" 2>&1
program=hang.$$ # no other test's
mpicc -O1 -o "$work/$program" "$top/tests/tools/castoff_top_hang.c" || exit 1

jobs=""
end_jobs() {
    for job in $jobs; do
        kill -TERM "$job" 2>/dev/null # mpirun, which ends its ranks
        wait "$job"
    done
    rm -rf "$work"
}
trap end_jobs EXIT

begin() { # fifo: a job in the background, its mpirun in $!
    mkfifo "$work/$1"
    CASTOFF_BCAST=yes CASTOFF_P2P=yes "$build/castoff" mpirun -n 2 "$work/$program" "$work/$1" >"$work/$1.out" 2>&1 </dev/null &
    jobs="$jobs $!" # it becomes mpirun
}

# Ranks of ours, told by their program: "JOB RANK PID STATE MESSAGES" a line.
look() {
    "$castoff" top --json >"$work/json" && python3 -S - "$work/json" "$program" >"$work/ranks" <<'PYTHON'
import json, sys
for rank in json.load(open(sys.argv[1]))["ranks"]:
    if rank["command"] == sys.argv[2]:
        counters = rank["counters"]
        print(rank["job"], rank["rank"], rank["pid"], rank["state"], counters["messages_sent"],
              counters["shared_memory_bytes"] + counters["single_copy_bytes"])
PYTHON
}

# The look until which something is so; whoever waits in vain is ended by the runner of the tests.
until_so() { # command...
    until look && "$@"; do sleep 0.1; done
}
ranks_are() { [ "$(wc -l <"$work/ranks")" -eq "$1" ]; }
has_message() { awk '$2 == 0 && $5 == 1 { found = 1 } END { exit !found }' "$work/ranks"; }
is_state() { awk -v pid="$1" -v state="$2" '$3 == pid && $4 == state { found = 1 } END { exit !found }' "$work/ranks"; }

begin first
until_so ranks_are 2
ok "both ranks" [ "$(awk '{ print $2 }' "$work/ranks" | tr '\n' ' ')" = "0 1 " ]
until_so awk '$6 >= 4194304 { found++ } END { exit found != 2 }' "$work/ranks"
ok "their bytes" ranks_are 2
name=$(awk 'NR == 1 { print $1 }' "$work/ranks")
waits=$(awk '$2 == 1 { print $3 }' "$work/ranks")
begin second
until_so ranks_are 4
ok "two jobs" [ "$(awk '{ print $1 }' "$work/ranks" | sort -u | wc -l)" -eq 2 ]
run "$castoff" top --job "$name"
ok "one of them: status 0" status_is 0
ok "one of them: its line" out_has "^job $name: $program, 2 of 2 ranks here, for [0-9]* s$"
ok "one of them: two rows" [ "$(wc -l <"$work/out")" -eq 4 ]

run "$castoff" top --all --pid "$waits"
ok "the rank that hangs: its counters" out_has '^  *wait_sleeps  *[1-9]'
kill -STOP "$waits"
until_so is_state "$waits" stopped
run "$castoff" top --pid "$waits"
ok "a stopped rank" out_has "^ *1 *$waits stopped "
kill -CONT "$waits"

# Killed, it is gone at once, and its job with it.
victim=$(awk -v name="$name" '$1 != name { print $3 }' "$work/ranks" | head -n 1)
kill -KILL "$victim"
until_so ranks_are 2
ok "a killed job leaves the other one" [ "$(awk '{ print $1 }' "$work/ranks" | sort -u)" = "$name" ]
echo go >"$work/first"
until_so ranks_are 0
run "$castoff" top --job "$name"
ok "the end: nobody" status_is 1
# mpirun of Open MPI 4.1.4 crashes, in PMIx_Finalize, where SIGTERM comes while it ends a job of which a rank was killed;
# so both jobs, which are at their ends, get none.
# shellcheck disable=SC2086 # a list of numbers
set -- $jobs
jobs=""
wait "$1"
ok "the first job ends well" [ $? -eq 0 ]
wait "$2"
ok "the second by its rank's signal" [ $? -eq 137 ]
finish
