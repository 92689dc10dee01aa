# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The outer half of a laboratory: what it refuses, its directory, and the one child in namespaces of
# its own that the kernel removes with all that hangs on it, when the command ends, when raising
# fails and when the script is interrupted or killed. Part of tests/lab/lab.sh and
# tests/lab-verbs/lab.sh, which set `here` (the folder of the raise.sh to run in the namespaces),
# `prefix` and `command`, and export their LAB_* variables for raise.sh.

child="" interrupted="" lab_lives=""

refuse() {
    echo "lab: $1 (see --help)" >&2
    exit 2
}

skip() {
    echo "lab: skipped: $1" >&2
    exit 77
}

need_number() { # name value lowest highest
    [[ $2 =~ ^[0-9]{1,4}$ ]] && ((10#$2 >= $3 && 10#$2 <= $4)) && return
    refuse "$1 needs a number from $3 to $4, not '$2'"
}

check_command() {
    [[ $prefix =~ ^[A-Za-z0-9._-]{1,40}$ ]] || refuse "--prefix is letters, digits, '.', '_', '-'"
    ((${#command[@]} > 0)) || refuse "no command given"
}

make_directory() {
    local parent=${TMPDIR:-/tmp}
    # mpirun splits the path of its launch agent at spaces.
    [[ $parent == /* && $parent != *[[:space:]]* ]] || parent=/tmp
    LAB_DIR=$(mktemp -d "$parent/$prefix.$$.XXXXXX") || exit 125
    chmod 755 "$LAB_DIR"
    # All processes of the lab inherit this lock; it is free when the last of them is gone.
    exec {lab_lives}<"$LAB_DIR" && flock --shared "$lab_lives" || exit 125
}

# A child that a signal hits before it became another program would run the trap as well.
remove_directory() {
    [[ -n $LAB_DIR && $BASHPID == "$$" ]] || return
    # A lab that was ended by force ends after its first process does, and may write its number until then.
    exec {lab_lives}<&-
    flock --exclusive "$LAB_DIR" true
    # What a lab writes is on a tmpfs inside its own mounts; out here lies this file only.
    rm -f "$LAB_DIR/inner-pid" "$LAB_DIR/inner-pid.new"
    rmdir "$LAB_DIR"
}

# Asks the lab to end its command in order the first time, ends it by force the second time.
# Before the lab knows its own number there is nothing worth an orderly end.
interrupt() { # signal-number
    local inner=""
    [[ -r $LAB_DIR/inner-pid ]] && read -r inner <"$LAB_DIR/inner-pid"
    if [[ -z $interrupted && -n $inner ]]; then
        kill -TERM "$inner" 2>/dev/null
    elif [[ -n $child ]]; then
        kill -KILL "$child" 2>/dev/null
    fi
    interrupted=$1
}

run_lab() {
    local status=0
    # Children that bash starts in the background ignore SIGINT; env gives it back to the command.
    # pdeathsig and kill-child chain the lab to this script, should it be killed with SIGKILL.
    env --default-signal=INT setpriv --pdeathsig KILL \
        unshare --mount --pid --net --fork --kill-child=KILL \
        "$here/raise.sh" "${command[@]}" <&0 &
    child=$!
    [[ -z $interrupted ]] || kill -KILL "$child"
    wait "$child" || status=$?
    while [[ -n $interrupted ]] && kill -0 "$child" 2>/dev/null; do
        wait "$child"
    done
    [[ -z $interrupted ]] || status=$((128 + interrupted))
    return "$status"
}

# Runs the command in a lab and returns its status.
keep_lab() {
    export LAB_DIR="" LAB_PID=$$
    # The traps stand before the directory does; a signal in between finds nothing to do yet.
    trap 'interrupt 1' HUP
    trap 'interrupt 2' INT
    trap 'interrupt 15' TERM
    trap remove_directory EXIT
    make_directory
    run_lab
}
