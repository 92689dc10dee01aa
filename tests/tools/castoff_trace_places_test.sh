#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff trace and the places that it reads from and writes to: caches that others use, too, or that hold anything;
# outputs that cannot be written; limits, signals; a progress bar for people only.
. "$(dirname "$0")/check.sh"
. "$(dirname "$0")/trace_applications.sh"

application "$work/app" 40
application "$work/other" 4
mkdir "$work/scratch"
TMPDIR=$work/scratch
export TMPDIR
cached=$work/app/.castoff-cache/app-0001.txt.events
analyze() { # options...
    run "$castoff" trace --bins 1 --lanes 1 "$@"
}
analyze --no-cache "$work/app"
cp "$work/out" "$work/first"
same() { cmp -s "$work/first" "$work/out"; }
left_over() { [ -n "$(ls "$work/scratch")" ]; }

analyze --cache "$work/cache" "$work/other"
analyze --cache "$work/cache" "$work/app"
ok "a cache of two applications: each has its own" same
ok "a cache of two applications: four files" [ "$(ls "$work/cache" | wc -l)" -eq 4 ]
mkdir "$work/left" "$work/right"
{ call Comm_rank comm=2 rank=0; call Send count=1 dest=1 tag=1 comm=2; call Finalize; } >"$work/left/app-0000.txt"
{ call Comm_rank comm=2 rank=1; call Recv count=1 source=0 tag=1 comm=2 'status=<IGNORED>'; call Finalize; } >"$work/right/app-0000.txt"
analyze "$work/left/app-0000.txt" "$work/right/app-0000.txt"
ok "files of one name: each has its own" out_has '^messages  *1, '
ok "files of one name: both are there" out_has '^ranks  *2 of 2'

analyze "$work/app"
truncate -s 3000 "$cached"
analyze "$work/app"
ok "a cache that was cut off" same
printf 'any bytes' >"$cached"
analyze "$work/app"
ok "a cache of any bytes" same
dd if=/dev/urandom of="$cached" bs=48 seek=80 count=2 conv=notrunc 2>/dev/null
analyze "$work/app"
ok "events of any bytes: no crash" [ "$status" -le 1 ]
touch -d '1 hour ago' "$work/app/app-0001.txt"
analyze "$work/app"
ok "a trace of another time is read anew" same
rm "$cached"
mkfifo "$cached"
analyze "$work/app"
ok "a pipe in the cache" same
rm "$cached"
mkdir -p "$cached/full"
analyze "$work/app"
ok "a directory in the cache: status 1" status_is 1
ok "a directory in the cache: said" err_has 'app-0001.txt: its events cannot be written: .*app-0001.txt.events; it is left out'
rm -r "$work/app/.castoff-cache"
for i in 1 2 3 4; do
    timeout 600 "$castoff" trace --bins 1 --lanes 1 "$work/app" >"$work/at-once.$i" 2>&1 &
done
wait
ok "four at once" sh -c "for i in 1 2 3 4; do cmp '$work/first' '$work/at-once.'\$i || exit 1; done"
analyze --cache /dev/null "$work/app"
ok "a cache that cannot be: said" err_has 'cache /dev/null cannot be written to, or others can write to it, too: parsed traces are not kept'
ok "a cache that cannot be: the analysis all the same" same

for place in csv plots json; do
    analyze "--$place" "$work/nowhere/here" "$work/app"
    ok "--$place nowhere: status 1" status_is 1
    ok "--$place nowhere: said before the work" sh -c "[ ! -s '$work/out' ] && grep -q 'cannot be written to .*nowhere/here: No such' '$work/err'"
done
analyze --json /dev/full "$work/app"
ok "a full disk: status 1" status_is 1
ok "a full disk: said" err_has 'the JSON cannot be written to /dev/full: No space left on device'
for words in "trace --no-cache $work/app" 'trace --kinds' --version 'help trace'; do
    run sh -c "'$castoff' $words >/dev/full"
    ok "$words to a full disk: status 1" status_is 1
    ok "$words to a full disk: said" err_has 'castoff: standard output is not complete: No space left on device'
done
run sh -c "ulimit -f 1; '$castoff' trace --no-cache '$work/app'"
ok "a limit on files: status 1" status_is 1
ok "a limit on files: said" err_has 'app-0001.txt: its events cannot be written: File too large'
run env TMPDIR="$work/nowhere" "$castoff" trace --no-cache "$work/app"
ok "no place for events: said" err_has "no memory, or no directory for parsed traces .*nowhere"

ok "nothing is left" [ -z "$(ls "$work/scratch")" ]
${CC:-cc} -shared -fPIC -o "$work/killed.so" "$top/tests/tools/killed_at_mkdtemp.c" -ldl || exit 1
# shellcheck disable=SC2016 # the inner shell's process
run sh -c 'KILLED_AT_MKDTEMP=$$ LD_PRELOAD=$1 exec "$2" trace --no-cache "$3"' sh "$work/killed.so" "$castoff" "$work/app"
tries=0
while left_over && [ $tries -lt 200 ]; do sleep 0.1 && tries=$((tries + 1)); done
ok "killed as soon as there is a directory: it was" status_is 137
ok "killed as soon as there is a directory: nothing is left" [ -z "$(ls "$work/scratch")" ]
rm -rf "$work/scratch"/*
mkdir "$work/held"
mkfifo "$work/held/calls.csv" # nobody reads: it waits there, and has not cleaned up
for signal in TERM KILL; do
    "$castoff" trace --no-cache --csv "$work/held" "$work/app" >"$work/out" 2>"$work/err" &
    pid=$!
    tries=0
    until left_over || [ $tries -eq 200 ]; do sleep 0.1 && tries=$((tries + 1)); done
    kill "-$signal" $pid
    { wait $pid; } 2>/dev/null
    status=$?
    while left_over && [ $tries -lt 400 ]; do sleep 0.1 && tries=$((tries + 1)); done
    ok "ended by SIG$signal: nothing is left" [ -z "$(ls "$work/scratch")" ]
done

if command -v script >/dev/null; then
    run script -qec "'$castoff' trace --no-cache '$work/app'" /dev/null
    ok "a progress bar on a terminal" out_has 'reading .*#.*100%'
else
    skip "a progress bar on a terminal" "no script; the package bsdutils has it"
fi
analyze --no-cache "$work/app"
ok "none elsewhere" err_is_empty
finish
