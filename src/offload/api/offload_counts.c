// SPDX-License-Identifier: BSD-3-Clause
//
// What all worlds of this process have had moved, and how it went with the last one that was to be opened: for the
// report of the preload, which finds both by name (src/pmpi/report/report_proxies.c), and for programs.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/atomics.h"
#include "offload/api/offload_world.h"

static _Atomic uint64_t counts[CASTOFF_OFFLOAD_COUNTS];
static char state[CO_OFFLOAD_WHY_BYTES]; // under the lock: worlds may be opened by several threads
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;

void co_offload_count(enum castoff_offload_count which, uint64_t more)
{
    co_add_relaxed(&counts[which], more); // relaxed: they are only read
}

void co_offload_state_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&state_lock);
    vsnprintf(state, sizeof state, format, arguments);
    pthread_mutex_unlock(&state_lock);
    va_end(arguments);
}

size_t castoff_offload_counts(uint64_t *into, size_t room)
{
    size_t given = room < CASTOFF_OFFLOAD_COUNTS ? room : CASTOFF_OFFLOAD_COUNTS;
    for (size_t i = 0; i < given; i++) {
        into[i] = co_load_relaxed(&counts[i]); // relaxed: as above
    }
    return given;
}

const char *castoff_offload_state(void)
{
    static _Thread_local char copy[CO_OFFLOAD_WHY_BYTES];

    pthread_mutex_lock(&state_lock);
    memcpy(copy, state, sizeof copy);
    pthread_mutex_unlock(&state_lock);
    return copy;
}
