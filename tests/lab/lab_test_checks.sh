# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# How the self tests of the laboratories check: a line a check, labs that are started and broken off,
# and what must not be left of them. Part of tests/lab/lab_test.sh and
# tests/lab-verbs/lab_verbs_test.sh, which set `lab` to the lab.sh they test.

make_work() { # prefix of the labs' names
    work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-lab-test.XXXXXX") || exit 1
    chmod 755 "$work"
    prefix=$1.$$
    log=$work/log
    started=()
    trap clean_up EXIT
    state_before=$(machine_state)
}

# A child that a signal hits before it became another program would run the trap as well.
clean_up() {
    [[ $BASHPID == "$$" ]] || return
    local started_job
    # What a broken lab left is a failure of its check, and must not outlive the test.
    for started_job in "${started[@]}" $(lab_processes); do
        kill -KILL "$started_job" 2>/dev/null
    done
    rm -rf "$work"
}

report() { # PASS|FAIL|SKIP what
    echo "$1 $2" | tee -a "$log"
}

check() { # what command...
    local what=$1
    shift
    if "$@"; then
        report PASS "$what"
    else
        report FAIL "$what"
    fi
}

pause() {
    read -r -t 0.02 <> <(:)
}

await() { # command...: until it succeeds, 200 seconds at most
    local deadline=$((SECONDS + 200))
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        pause
    done
    return 0
}

lab_processes() { # numbers of the processes that belong to a lab of this test
    local process
    for process in /proc/[0-9]*; do
        if [[ $process != "/proc/$$" ]] &&
            grep -qsa "LAB_DIR=[^ ]*/$prefix" "$process/environ"; then
            echo "${process#/proc/}"
        fi
    done
}

lab_directory_exists() {
    compgen -G "${TMPDIR:-/tmp}/$prefix.*" >/dev/null
}

no_lab_process() {
    [[ -z $(lab_processes) ]]
}

machine_state() {
    ip -o link | sed 's/.*: \([^:@]*\)[:@].*/\1/'
    ip netns list
    ls -A /etc/netns 2>/dev/null
    cat /etc/hosts
}

nothing_left() {
    no_lab_process && ! lab_directory_exists && [[ $(machine_state) == "$state_before" ]]
}

ended_with() { # status job
    local status=0
    wait "$2" || status=$?
    ((status == $1)) || echo "status $status, not $1"
    ((status == $1))
}

start_lab() { # lab-options... -- command...
    rm -f "$work/output" # or what the last one said would be taken for its words
    "$lab" --prefix "$prefix" "$@" >"$work/output" 2>&1 &
    started+=($!)
    job=$!
}

exits_with() { # status lab-arguments...: and it does not hang
    local status=0 wanted=$1
    shift
    python3 -S "$here/../bounded.py" 100 1500 "$lab" --prefix "$prefix" "$@" >"$work/output" 2>&1 || status=$?
    ((status == wanted)) || echo "status $status, not $wanted"
    ((status == wanted))
}

# One lab that does nothing tells whether this machine can have any.
need_lab() { # idle-seconds lab-options...
    local reason
    reason=$(python3 -S "$here/../bounded.py" "$1" 1500 "$lab" --prefix "$prefix" "${@:2}" -- true 2>&1)
    case $? in
        0) ;;
        77) echo "SKIP all: ${reason#*skipped: }" && echo "0 passed, 0 failed, 1 skipped" && exit 77 ;;
        *) echo "FAIL a lab that does nothing: $reason" && echo "0 passed, 1 failed, 0 skipped" && exit 1 ;;
    esac
}

# As the last command of a test, it also makes the exit status.
print_sum() {
    local passed failed skipped
    passed=$(grep -c '^PASS ' "$log")
    failed=$(grep -c '^FAIL ' "$log")
    skipped=$(grep -c '^SKIP ' "$log")
    echo "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0 && passed > 0))
}
