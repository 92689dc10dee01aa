# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The inner half of a laboratory, in process 1 of its process-id namespace: how raising fails, the
# number under which the outer half signals this process, and the command that is run and broken off.
# Part of raise.sh of tests/lab and tests/lab-verbs.

command_pid=""
interrupted=0

fail() {
    echo "lab: could not be raised: $1" >&2
    exit 125
}

try() {
    "$@" || fail "'$*' failed"
}

# Tells lab.sh the number under which it can signal this process. /proc is still the outer one,
# and bash itself opens it here: a helper program would read its own number. Who has lost unshare before it was chained
# to it would live on alone: lab.sh must be the parent's parent.
announce_inner_pid() {
    local outer parent grandparent rest
    read -r outer rest rest parent rest </proc/self/stat || fail "/proc is not readable"
    read -r rest rest rest grandparent rest <"/proc/$parent/stat" && ((grandparent == LAB_PID)) || exit 143
    echo "$outer" >"$LAB_DIR/inner-pid.new" && mv "$LAB_DIR/inner-pid.new" "$LAB_DIR/inner-pid"
}

interrupt() {
    interrupted=1
    [[ -n $command_pid ]] || exit 143
    kill -TERM "$command_pid" 2>/dev/null
    # The command has this long to end in order; after that the lab goes with it inside.
    (sleep 3 && kill -KILL "$command_pid" 2>/dev/null) &
}

run_command() { # command...
    local status=0
    export -n "${!LAB_@}"
    env --default-signal=INT "$@" <&0 &
    command_pid=$!
    wait "$command_pid" || status=$?
    while ((interrupted)) && kill -0 "$command_pid" 2>/dev/null; do
        wait "$command_pid" || status=$?
    done
    exit "$status"
}
