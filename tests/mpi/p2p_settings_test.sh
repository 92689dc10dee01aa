#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs of point-to-point once more with settings far from the defaults, in which messages take other ways:
# everything small and nothing read by the kernel, so that most messages wait for room, credit or their receive, and
# stand in lists, with worker threads and lanes; everything large and at once; and small between hosts. What they
# receive is judged by the programs themselves. Closes with "N passed, N failed, N skipped". Called by tests/run_all.sh;
# by hand: tests/mpi/p2p_settings_test.sh [small|large|hosts].

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
. ./summed_runs.sh || exit 2

# name, mode and settings
try() {
    local name=$1 mode=$2 sets=() setting
    shift 2
    for setting in "$@"; do
        sets+=(--set "$setting")
    done
    echo "-- $name: $*"
    # shellcheck disable=SC2086 # words
    add_run --no-report --mode "$mode" "${sets[@]}" $programs_of
    case $line in
    *" 0 failed, "*) echo "   $line" ;;
    *) cat "$log" ;;
    esac
}

chosen=${1:-small large hosts}
if [[ $chosen == *small* ]]; then # all but those of many seconds, or minutes where all stands in lists
    programs_of=$(ls p2p_*.c p2p_*.f90 abort_p2p_*.c | sed 's/\.[^.]*$//' | grep -vxE 'p2p_(over_2gib|stall_told|outstanding|sizes)')
    try small on CASTOFF_P2P_EAGER=64 CASTOFF_P2P_STREAM=0 CASTOFF_SHM_SINGLE_COPY=no CASTOFF_P2P_CREDIT=64K \
        CASTOFF_P2P_MEMORY=256K CASTOFF_MATCH_LANES=4 CASTOFF_MATCH_TABLE=16 CASTOFF_MATCH_BINS=1 \
        CASTOFF_PROGRESS=threads
fi
if [[ $chosen == *large* ]]; then
    programs_of="p2p_stress p2p_order p2p_sizes p2p_freed p2p_datatypes p2p_sendrecv p2p_truncation p2p_cancel"
    try large on CASTOFF_P2P_EAGER=1M CASTOFF_P2P_STREAM=1G CASTOFF_P2P_MEMORY=64M CASTOFF_P2P_CREDIT=1G \
        CASTOFF_PROGRESS=caller
fi
if [[ $chosen == *hosts* ]]; then
    programs_of="p2p_stress p2p_order p2p_sizes p2p_probe p2p_threads p2p_persistent"
    try hosts faults CASTOFF_P2P_CARRIER_EAGER=0 CASTOFF_P2P_CARRIER_MEMORY=64K CASTOFF_P2P_CREDIT=64K \
        CASTOFF_MATCH_LANES=3
fi
close_runs
