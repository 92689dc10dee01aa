#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff run --record and castoff trace: what a trace tells of a program that makes every kind of call, the same whether
# castoff takes them or not, or MPI comes by dlopen; ranks that are killed; a directory that nothing can be written to; a
# limit on files; files that are no traces; the table of docs/trace-format.md. Needs Open MPI.
. "$(dirname "$0")/check.sh"

ok "the table of kinds in docs/trace-format.md" sh -c "
    '$build/castoff' trace --kinds >'$work/kinds' &&
    sed -n '/^| 1 | TYPE/,/^\$/p' '$top/docs/trace-format.md' | grep . | cmp - '$work/kinds'"
if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
    skip "all else" "no mpicc or mpirun; the packages libopenmpi-dev and openmpi-bin have them"
    finish
fi
make -s -C "$top" all >"$work/make" 2>&1 || { cat "$work/make"; exit 1; }
mpicc -std=gnu17 -O2 -Wall -Wextra $warnings_fail -o "$work/calls" "$top/tests/tools/record_calls.c" || exit 1
mpicc -std=gnu17 -O2 -Wall -Wextra $warnings_fail -o "$work/threads" "$top/tests/tools/record_threads.c" -lpthread || exit 1
castoff=$build/castoff
export RECORD_CALLS_FILE="$work/file"

# How often a test or probe was in vain is chance. What there is 300 of is shortened.
shorten() {
    grep -v ' in vain ' | awk '
        /tag=18/ { gsub(/ request=[0-9]+/, "") }
        / of=300 |\(continued\)/ { rows = gsub(/ \{[^}]*\}/, ""); $0 = $0 " rows: " rows }
        { print }' | uniq -c | sed 's/^ *1 //; s/^ *//'
}

record() { # options of castoff run...: a job of two ranks, its calls in $work/calls.txt
    rm -rf "$work/trace"
    run mpirun -n 2 "$castoff" run --record "$work/trace" "$@" "$work/calls"
    "$castoff" trace --print --no-times "$work/trace" 2>"$work/said" | shorten >"$work/calls.txt"
}

# Native MPI completes small sends at once where it can, and has one handle for all of those.
without_sends() {
    sed -E '/^MPI_(Is|Irs)end/s/ request=.*//; s/ request=[a-z0-9]+\}/}/g; s/^(MPI_Wait|MPI_Request_free) request=.*/\1/' "$1"
}
as_expected() {
    without_sends "$top/tests/tools/record_calls.txt" >"$work/expected"
    without_sends "$work/calls.txt" | diff "$work/expected" - >"$work/out"
}

record
ok "the job" status_is 0
ok "what was called is what is told" as_expected
ok "nothing to complain about" [ ! -s "$work/said" ]
ok "a file for each rank" [ "$(ls "$work/trace" | tr '\n' ' ')" = "rank-00000.trace rank-00001.trace " ]
ok "compact: 16 bytes a call" [ "$(cat "$work/trace"/* | wc -c)" -lt $((2 * 4096 + 16 * 2 * 800)) ]
record --off
ok "the same with castoff off" as_expected
record --set P2P=yes --set BCAST=yes --set ALLGATHER=yes --set IALLGATHER=yes
ok "the same with castoff taking what it can" as_expected
run "$castoff" trace --print "$work/trace"
ok "times count from the end of MPI_Init, which began before" out_has '^-[0-9]*\.[0-9]* [0-9]*\.[0-9]* thread 0 MPI_Init$'
run "$castoff" trace --calls "$work/trace"
ok "the summary counts" out_has '^MPI_Irsend  *2  *0 '
ok "and says how much of it there is" out_has '^traces of 2 of 2 ranks, 0 of them partial$'

# MPI that came with a module of the program, as in Python: the preloads alone do not see it.
mpicc -std=gnu17 -O2 -shared -fPIC -Dmain=program -o "$work/calls.so" "$top/tests/tools/record_calls.c" || exit 1
${CC:-cc} -std=gnu17 -O2 -Wall -Wextra $warnings_fail -o "$work/load_locally" "$top/tests/tools/load_locally.c" -ldl || exit 1
rm -rf "$work/trace"
run mpirun -n 2 "$castoff" run --record "$work/trace" "$work/load_locally" "$work/calls.so"
ok "MPI by dlopen: the job" status_is 0
"$castoff" trace --print --no-times "$work/trace" 2>"$work/said" | shorten >"$work/calls.txt"
ok "MPI by dlopen: what was called is what is told" as_expected

# Each completion names a request that was started and not completed before, with the tag of its receive.
linked() {
    awk '{ for (i = 2; i <= NF; i++) { gsub(/[{}]/, "", $i); split($i, word, "="); field[word[1]] = word[2] } }
        $1 ~ /^MPI_I(recv|send)$/ && field["request"] != "complete" { tag[field["request"]] = field["tag"]; started++ }
        $1 == "MPI_Waitall" {
            for (i = 3; i <= NF; i++) {
                split($i, word, "=")
                if (word[1] == "request" && word[2] != "complete") {
                    request = word[2]
                    if (!(request in tag)) { print "not started: " $0; exit 1 }
                    expected = tag[request]; delete tag[request]; completed++
                } else if (word[1] == "with_tag" && word[2] != expected) {
                    print "wrong tag: " $0; exit 1
                }
            }
        }
        END { exit !(started >= 72000 && completed == started) }' "$work/out"
}

rm -rf "$work/trace"
run "$castoff" run --record "$work/trace" "$work/threads"
ok "threads" status_is 0
if grep -q 'no threads' "$work/out"; then
    skip "threads" "this MPI has none"
else
    run "$castoff" trace --print --no-times "$work/trace"
    ok "threads: every request is linked" linked
    run "$castoff" trace --print "$work/trace"
    ok "threads: streams of those that ended are used again" [ "$(sed -n 's/.* thread \([0-9]*\) .*/\1/p' "$work/out" |
        sort -u | wc -l)" -le 5 ]
fi

rm -rf "$work/trace"
CASTOFF_RECORD=$work/trace run "$castoff" mpirun -n 2 "$work/calls"
ok "castoff mpirun records by the setting" [ -s "$work/trace/rank-00001.trace" ]
cd "$work" && rm -rf trace
run mpirun -n 2 --wdir / "$castoff" run --record trace "$work/calls"
ok "a directory seen from where castoff run is" status_is 0
rm -rf /trace

rm -rf "$work/trace"
run mpirun -n 2 "$castoff" run --record "$work/trace" "$work/calls" killed
ok "a rank is killed" [ "$status" -ne 0 ]
run "$castoff" trace --print --no-times "$work/trace/rank-00001.trace"
ok "its trace can be read" status_is 0
ok "to the last call" sh -c "tail -n 1 '$work/out' | grep -q '^MPI_Send (error 6) count=1 .* peer=77'"
ok "and is told from a whole one" err_has 'ends before MPI_Finalize'

# Of four ranks 2 and 0 are one group, 3 and 1 the other; merged they stand 2, 0, 3, 1.
mpicc -std=gnu17 -O2 -Wall -Wextra $warnings_fail -o "$work/between" "$top/tests/tools/record_between.c" || exit 1
rm -rf "$work/trace"
run mpirun -n 4 "$castoff" run --record "$work/trace" "$work/between"
ok "between groups: the job" status_is 0
run "$castoff" trace --no-cache --bins 1 --csv "$work/csv" "$work/trace"
ok "between groups: all is followed" sh -c "! grep -q 'partial\|nobody\|left over\|could go on' '$work/out'"
printf '%s\n' from,to,messages 0,1,1 0,3,2 1,0,1 1,2,2 2,0,1 2,1,1 2,3,1 3,0,1 3,1,1 3,2,1 >"$work/expected"
ok "between groups: who talks to whom" cmp -s "$work/expected" "$work/csv/talk.csv"

# A communicator of which the recording has what it is, and not how it was made.
mpicc -std=gnu17 -O2 -Wall -Wextra $warnings_fail -o "$work/connected" "$top/tests/tools/record_connected.c" || exit 1
rm -rf "$work/trace"
run mpirun -n 2 "$castoff" run --record "$work/trace" "$work/connected"
ok "connected: the job" status_is 0
run "$castoff" trace --no-cache --bins 1 "$work/trace"
ok "connected: no call is named that was not made" out_has '^partial: .* first, rank [01], one that no recorded call made: '

# Two jobs in a folder; one was spawned by the other, or was not.
rm -rf "$work/trace" "$work/other"
run mpirun -n 2 "$castoff" run --record "$work/trace" "$work/calls"
run mpirun -n 1 "$castoff" run --record "$work/other" "$work/calls" alone
cp "$work/other/rank-00000.trace" "$work/trace/spawned-x-rank-00000.trace"
run "$castoff" trace --no-cache --bins 1 "$work/trace"
ok "of a spawned program: status 0" status_is 0
ok "of a spawned program: said" err_has 'spawned-x-rank-00000.trace: it is of another job than .*/rank-0000[01].trace'
ok "of a spawned program: left out" out_has 'ranks  *2 of 2, 1 of programs that they spawned left out'
mv "$work/trace/spawned-x-rank-00000.trace" "$work/trace/again-00002.trace"
run "$castoff" trace --no-cache --bins 1 "$work/trace"
ok "of another job: status 1" status_is 1
ok "of another job: left out" out_has 'ranks  *2 of 2, 1 files could not be read, or do not belong'

# Stuck in a receive: the trace is read while it grows.
rm -rf "$work/trace"
mpirun -n 2 "$castoff" run --record "$work/trace" "$work/calls" stuck "$work/pid" >"$work/job" 2>&1 &
job=$!
stuck() {
    [ -s "$work/pid" ] && "$castoff" trace --print --no-times "$work/trace/rank-00001.trace" 2>/dev/null |
        tail -n 1 | grep -q '^MPI_Recv not finished$'
}
while kill -0 "$job" 2>/dev/null && ! stuck; do sleep 0.1; done
kill -KILL "$(cat "$work/pid")"
wait "$job"
ok "the call that a killed rank was in" stuck

CASTOFF_RECORD=$work/nothing run mpirun -n 2 -x LD_PRELOAD="$build/libcastoff.so" "$work/calls"
ok "a preload that cannot record says so" err_has 'CASTOFF_RECORD: nothing is recorded, since libcastoff-record.so'
ok "once" [ "$(grep -c CASTOFF_RECORD "$work/err")" -eq 1 ]
: >"$work/no_directory"
run mpirun -n 1 "$castoff" run --record "$work/no_directory" "$work/calls" alone
ok "no directory: said" err_has "nothing is recorded: $work/no_directory.*: Not a directory"
ok "no directory: the program runs" status_is 0
rm -rf "$work/trace"
run mpirun -n 1 sh -c "ulimit -f 40; exec '$castoff' run --record '$work/trace' '$work/calls' alone"
ok "no room: the program runs" status_is 0
ok "no room: said" err_has 'recording stops here, the program goes on: File too large'
ok "no room: in one line" [ "$(wc -l <"$work/err")" -eq 1 ]
run "$castoff" trace --calls "$work/trace"
ok "no room: told by the trace" err_has 'the recording stopped early'

echo "no trace" >"$work/text.trace"
run "$castoff" trace --calls "$work/text.trace"
ok "no trace: status 1" status_is 1
ok "no trace: said" err_has "text.trace is no trace that can be read: the file does not begin"
run "$castoff" trace --calls "$work/nowhere"
ok "nothing there: said" err_has "nowhere: No such file"
mkdir "$work/empty"
run "$castoff" trace --calls "$work/empty"
ok "an empty directory: said" err_has "holds no .trace file"
run "$castoff" trace
ok "no argument: status 2" status_is 2
finish
