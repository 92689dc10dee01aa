#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs inside the laboratory, on h0, with five hosts: two flows on one link, the bytes of each at the ports, and their
# ratio. The first is a job of castoff from h0 to h1 and h2, the second one of
#   sender    TCP from h0 to h4: they share the sender's link
#   receiver  TCP from h4 to h1: they share a receiver's link
#   job       another job of castoff, from h0 to h3 and h4
#   none      nothing
#   inside.sh KIND SECONDS BYTES CASTOFF TRAFFIC
set -u
kind=$1 seconds=$2 bytes=$3 castoff=$4 traffic=$5
here=$(dirname "$0")
started=()

# A flow in a session of its own, so that its end is the end of all of it.
start() {
    setsid "$@" >>"$CASTOFF_LAB_SHARED/flows.log" 2>&1 &
    started+=($!)
}
end_all() {
    local pid
    for pid in "${started[@]}"; do
        kill -TERM -- "-$pid" 2>/dev/null
    done
    wait
}
trap end_all EXIT

job() { # hosts, in place of all: mpirun adds up what several --host say
    local words=() word skips=0
    for word in $CASTOFF_LAB_MPIRUN_ARGS; do
        ((skips)) || [[ $word == --host ]] || words+=("$word")
        skips=$([[ $word == --host ]] && echo 1 || echo 0)
    done
    start mpirun "${words[@]}" -n 3 --host "$1" "$castoff" run -- "$traffic" bcast "$bytes" 1000000
}
sent_to() { # host: bytes that its port has sent
    lab-counters | awk -v port="p$1" '$1 == port { print $3 }'
}
received_from() {
    lab-counters | awk -v port="p$1" '$1 == port { print $2 }'
}
second() {
    case $kind in
        sender | none) sent_to 4 ;;
        receiver) received_from 4 ;;
        job) sent_to 3 ;;
    esac
}

job h0,h1,h2
case $kind in
    sender)
        start lab-in-host h4 python3 "$here/tcp_flow.py" receive 5001
        start python3 "$here/tcp_flow.py" send 10.77.0.5 5001
        ;;
    receiver)
        start lab-in-host h1 python3 "$here/tcp_flow.py" receive 5001
        start lab-in-host h4 python3 "$here/tcp_flow.py" send 10.77.0.2 5001
        ;;
    job) job h0,h3,h4 ;;
esac
# Both are under way when a megabyte of each has passed.
for ((turn = 0; turn < 300; turn++)); do
    (($(sent_to 2) > 1000000)) && [[ $kind == none || $(second) -gt 1000000 ]] && break
    sleep 0.1
done
sleep 2
first_before=$(sent_to 2) second_before=$(second)
sleep "$seconds"
first=$(($(sent_to 2) - first_before)) second=$(($(second) - second_before))
awk -v first="$first" -v second="$second" -v seconds="$seconds" -v kind="$kind" 'BEGIN {
    ratio = kind == "none" ? "-" : second > 0 ? sprintf("%.2f", first / second) : "inf"
    printf "%s %.2f %.2f %s\n", kind, first * 8 / seconds / 1e6, second * 8 / seconds / 1e6, ratio
}'
((first > 0)) || {
    cat "$CASTOFF_LAB_SHARED/flows.log" >&2
    exit 1
}
