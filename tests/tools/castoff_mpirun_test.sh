#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff mpirun: only ranks are preloaded, the job's status and signals come through, settings reach the ranks, and
# what is said when a program or mpirun is missing. Needs Open MPI's mpirun.
. "$(dirname "$0")/check.sh"

if ! command -v mpirun >/dev/null; then
    skip "all" "no mpirun; the package openmpi-bin has it"
    finish
fi
cp /bin/true "$work/rank"

run "$castoff" mpirun -n 2 "$work/rank"
ok "status 0" status_is 0
ok "ranks only are preloaded" loaded_into rank
ok "each rank once" times_loaded 2
run "$castoff" mpirun -n 1 "$work/rank" : -n 2 "$work/rank"
ok "several programs" times_loaded 3
ok "several programs: ranks only" loaded_into rank
run "$castoff" mpirun --mca btl self,vader -x FOO=bar -n 1 sh -c 'echo "foo $FOO $0"' -n
ok "options with arguments" out_has '^foo bar -n$'

run "$castoff" mpirun -n 2 sh -c 'exit 41'
ok "status of the job" status_is 41
run "$castoff" mpirun -n 1 sh -c 'kill -KILL $$'
ok "signal of a rank" status_is 137
: >"$TOOL_TEST_NOTES"
"$castoff" mpirun -n 1 sh -c 'echo up >&2; exec sleep 50' >"$work/out" 2>"$work/err" &
job=$!
while kill -0 "$job" 2>/dev/null && ! grep -q up "$work/err"; do sleep 0.1; done
kill -TERM "$job"
wait "$job"
status=$?
ok "a signal ends the job" [ "$status" -ne 0 ]

CASTOFF_LOG=debug CASTOFF_ODD='a b' run "$castoff" mpirun -n 1 env
ok "settings reach the ranks" out_has '^CASTOFF_LOG=debug$'
ok "those with blanks too" out_has '^CASTOFF_ODD=a b$'
CASTOFF_LOG=debug run "$castoff" mpirun -x CASTOFF_LOG=info -n 1 env
ok "-x wins" out_has '^CASTOFF_LOG=info$'

run "$castoff" mpirun
ok "no program: status 2" status_is 2
ok "no program: said" err_has 'no program given'
run "$castoff" mpirun -n 4
ok "no program behind options: said" err_has 'no program given'
run "$castoff" mpirun -n 2 ./there-is-no-such-program
ok "missing program: status 127" status_is 127
ok "missing program: named once" [ "$(grep -c there-is-no-such-program "$work/err")" -eq 1 ]
run "$castoff" mpirun -n 2 "$work/bin"
ok "a folder: status 126" status_is 126
ok "a folder: said" err_has "cannot execute the program '$work/bin': Is a directory"
run "$castoff" mpirun --host localhost:2 -n 2 ./there-is-no-such-program
ok "missing on the hosts: status not 0" [ "$status" -ne 0 ]
ok "missing on the hosts: named" err_has 'there-is-no-such-program'
run "$castoff" mpirun --frobnicate "$work/rank"
ok "unknown option: status 2" status_is 2
ok "unknown option: named" err_has '--frobnicate'
run env PATH=/nowhere "$castoff" mpirun -n 2 "$work/rank"
ok "mpirun absent: status 127" status_is 127
ok "mpirun absent: said" err_has 'mpirun is not on PATH'
run "$castoff" mpirun --version
ok "--version is mpirun's" out_has 'Open MPI'
run "$castoff" mpirun -h
ok "-h is ours" out_has '^usage: castoff mpirun'
finish
