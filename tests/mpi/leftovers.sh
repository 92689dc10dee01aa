# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What a run leaves behind: processes, files in shared memory; and what it leaves to others. Part of run.sh.

# Process ids of all processes whose environment has a mark that matches $1.
marked_processes() {
    grep -Elsz "^MPI_TEST_RUN=$1\$" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}

# Kills what run $1 has left; prints the number of processes if they do not go by themselves, for which a busy machine
# gives them 20 seconds.
sweep() {
    local turn pids=""
    for ((turn = 0; turn < 100; turn++)); do
        pids=$(marked_processes "$1")
        [ -z "$pids" ] && return 0
        sleep 0.2
    done
    # shellcheck disable=SC2086 # a list of numbers
    kill -KILL $pids 2>/dev/null
    echo "$pids" | wc -w
}

# Files in /dev/shm that were not there at the start and that no living process has mapped. A job of
# somebody else may be between making and mapping its files, so only what stays unmapped counts. Open
# MPI's own segments outlive a run that had to be killed; this runner's, and those of another one beside it, lie in
# folders that go at their ends.
left_in_shared_memory() {
    local file turn
    for file in /dev/shm/*; do
        grep -qxF "$file" "$log_dir/shm-before" && continue
        [[ $file == */vader_segment.* || $file == */sm_segment.* || $file == */mpi-tests.?????? ]] && continue
        for ((turn = 0; turn < 40; turn++)); do
            [ -e "$file" ] || continue 2
            cat /proc/[0-9]*/maps 2>/dev/null | grep -qF "$file" && continue 2
            sleep 0.5
        done
        echo "$file"
    done
}

# What a program prints on native MPI is the same whatever castoff's settings are: runs that are given one folder
# (MPI_TEST_NATIVE) take it from each other, and run no program natively that has passed there. One that was built since is
# another program. The variables are run_unit's.
native_is_kept() {
    local kept=${MPI_TEST_NATIVE:-/nonexistent}/$family.${native_log##*/}.out
    [ "$mode" = native ] && [ -e "$kept" ] && ! [ "$build/$name" -nt "$kept" ] && ! [ "$source_file" -nt "$kept" ] &&
        cp "$kept" "$native_log.out" && row+="  native kept      "
}

# In one step: two runs may be at it.
keep_native() {
    local kept=${MPI_TEST_NATIVE:-}/$family.${native_log##*/}.out
    [ "$mode" != native ] || [ "$result" != pass ] || [ -z "${MPI_TEST_NATIVE:-}" ] ||
        { cp "$native_log.out" "$kept.$$" && mv -f "$kept.$$" "$kept"; }
}
