#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One file each in src may read the environment, read the clock, write to stderr, open sockets or map shared memory,
# and some calls may be made nowhere. Reads what code_only.pl prints. Called by scripts/check_style.sh.
set -u

code=$(cat)
status=0

# door WHAT CALLS FILES: CALLS, an expression, may occur in src only in FILES, another one.
door() {
    local found
    found=$(grep -E "^src/[^:]*:[0-9]+:.*(^|[^A-Za-z0-9_.>])($2)" <<<"$code" | grep -vE "^($3):")
    if [ -n "$found" ]; then
        echo "$found"
        echo "  $1 only in ${3//\\/}"
        status=1
    fi
}

nowhere() {
    local found
    found=$(grep -E ":[0-9]+:.*(^|[^A-Za-z0-9_.>])($2)" <<<"$code")
    if [ -n "$found" ]; then
        echo "$found"
        echo "  $1"
        status=1
    fi
}

door "the environment is read" '(secure_)?getenv *\(|(un)?setenv *\(|putenv *\(|environ\b' 'src/base/settings\.c'
door "the clock is read" 'clock_gettime *\(|gettimeofday *\(|(time|clock|ftime) *\(' 'src/base/clock\.c'
door "stderr is written" 'stderr\b|STDERR_FILENO\b|perror *\(|v?dprintf *\(' 'src/base/log\.c'
door "stdout is written" 'stdout\b|STDOUT_FILENO\b|v?printf *\(|puts *\(|putchar *\(' '(never)'
door "sockets are opened" 'socket *\(|socketpair *\(' 'src/(transport/udp/udp_[a-z_]*|onesided/hop_ports|base/tcp_socket|offload/local_socket)\.c'
door "memory is mapped" 'mmap *\(|shm_open *\(|memfd_create *\(|shmget *\(' 'src/(base/(live_counters|memory/(shm_segment|zeroed_pages))|offload/segment_memory|record/trace/trace_pages)\.c'
door "memory of other processes is reached" 'process_vm_[a-z]+' 'src/(base/memory/shm_segment|shm/shm_cma|offload/attach_window|pmpi/datatype/memory_reach)\.c'
door "threads are made" 'pthread_create *\(' 'src/base/own_thread\.c'
nowhere "these calls do not know how much room there is: use snprintf or memcpy" \
    'strcpy *\(|stpcpy *\(|strcat *\(|v?sprintf *\(|gets *\('
exit "$status"
