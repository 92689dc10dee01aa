#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# tests/bounded.py ends what waits or spins for ever, with its children, and nothing that works on; statuses come through.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0 count=0 judged=""
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-bounded.XXXXXX") || exit 1
beside=""
trap '[ -z "$beside" ] || kill "$beside" 2>/dev/null; rm -rf "$work"' EXIT

# All at once: most of them wait. What each gave is looked at by judge.
gives() { # status, what, arguments of bounded.py
    count=$((count + 1))
    printf '%s\n' "$1" "$2" >"$work/$count.wanted"
    shift 2
    { python3 tests/bounded.py "$@" >"$work/$count.log" 2>&1; echo $? >"$work/$count.status"; } &
    judged="$judged $!"
}

judge() {
    # shellcheck disable=SC2086 # a list of numbers
    wait $judged
    for number in $(seq $count); do
        { read -r wanted && read -r what; } <"$work/$number.wanted"
        status=$(cat "$work/$number.status")
        if [ "$status" = "$wanted" ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED: $what: status $status instead of $wanted"
            sed 's/^/    /' "$work/$number.log"
        fi
    done
}

is_gone() { # what, file with its process id: killed, if not gone yet
    tries=0
    while [ $tries -lt 600 ] && kill -0 "$(cat "$2")" 2>/dev/null; do sleep 0.1 && tries=$((tries + 1)); done
    if [ -s "$2" ] && ! kill -0 "$(cat "$2")" 2>/dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: $(cat "$2") is still there"
    fi
}

spin="import time
while time.process_time() < 6: pass"

gives 0 "what ends well" 60 60 true
gives 7 "what ends with a status" 60 60 sh -c 'exit 7'
gives 137 "what a signal ends" 60 60 sh -c 'kill -KILL $$'
gives 127 "what is not there" 60 60 "$work/none"
gives 124 "what waits" 2 60 sleep 1000
gives 124 "what spins" 60 1 sh -c 'while :; do :; done'
gives 124 "whose child spins" 60 1 sh -c '(while :; do :; done) & wait'
gives 124 "what has stopped" 2 60 sh -c 'kill -STOP $$; sleep 1000'
gives 0 "who works longer than it may wait" 4 60 python3 -c "$spin"
gives 0 "whose child works longer than it may wait" 4 60 sh -c 'python3 -c "$0" & wait' "$spin"
gives 124 "who works longer than it may" 60 2 python3 -c "$spin"
gives 0 "who says something now and then" --grows "$work/said" 5 60 \
    sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 1; echo >>"$0"; done' "$work/said"
gives 124 "who is deaf, with an orphan" 2 60 sh -c 'trap "" TERM; echo $$ >"$0/deaf"
    (setsid sh -c "echo \$\$ >\$0/orphan; sleep 1000" "$0" &); while :; do sleep 1000; done' "$work"
python3 -c "$spin" &
gives 0 "who waits for somebody that works" --with "$!" 4 60 sh -c 'while [ -d "/proc/$0" ]; do sleep 0.2; done' "$!"
sh -c 'while :; do :; done' &
beside=$!
gives 124 "who waits for somebody that spins" --with "$beside" 60 2 sleep 1000
gives 124 "who does less than counts" --share 1000 2 60 sh -c 'while :; do :; done'
sh -c 'echo $$ >"$0"; while [ -e "$0" ]; do sleep 0.1; done' "$work/idle" &
gives 124 "who waits for somebody that does next to nothing" --with "$!" --share 0.5 2 60 sleep 1000
gives 2 "what is asked wrongly" --without 1 2 60 true
judge
if kill "$beside" 2>/dev/null && beside="" && rm "$work/idle"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAILED: who works beside was ended, too"
fi
is_gone "who was deaf" "$work/deaf"
is_gone "its orphan" "$work/orphan"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
