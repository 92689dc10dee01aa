#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs inside the laboratory: bytes over all switch ports for COUNT collectives, that is with COUNT less with none.
#   ports.sh CALL BYTES COUNT MPIRUN-WORDS... -- PROGRAM-WORDS...
set -u
call=$1 bytes=$2 count=$3
shift 3
words=()
while [[ $1 != -- ]]; do
    words+=("$1")
    shift
done
shift
sum() {
    lab-counters | awk '{ sum += $2 + $3 } END { printf "%.0f\n", sum }'
}
bytes_of() { # calls
    local before after
    before=$(sum)
    lab-mpirun "${words[@]}" "$@" >&2 || exit 1
    # What still waits in a shaper is not counted yet.
    for ((turn = 0; turn < 20; turn++)); do
        after=$(sum)
        sleep 0.1
        [[ $(sum) -eq $after ]] && break
    done
    echo $((after - before))
}
with=$(bytes_of "$@" "$call" "$bytes" "$count") && without=$(bytes_of "$@" "$call" "$bytes" 0) && echo $((with - without))
