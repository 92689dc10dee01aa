// SPDX-License-Identifier: BSD-3-Clause
//
// Proxies in the report; see the header.
#define _GNU_SOURCE
#include "pmpi/report/report_proxies.h"

#include "pmpi/life/proxies.h"

#include <dlfcn.h>
#include <stddef.h>

// In the order of enum castoff_offload_count of castoff_offload.h.
static const enum co_counter_id counted[] = {
    CO_COUNT_PROXY_WORLDS, CO_COUNT_PROXY_REFUSED,        CO_COUNT_PROXY_CALLS,       CO_COUNT_PROXY_CACHED,
    CO_COUNT_PROXY_FAILED, CO_COUNT_PROXY_RECEIVED_BYTES, CO_COUNT_PROXY_COPIED_BYTES};
enum { COUNTED = sizeof counted / sizeof counted[0] };

// Of those that carry the program's MPI calls.
static const char *add_own(uint64_t counters[CO_COUNTER_COUNT])
{
    struct co_proxied_counts own;
    const char *own_state = co_proxies_state(&own);
    counters[CO_COUNT_PROXY_CALLS] += own.calls;
    counters[CO_COUNT_PROXY_CACHED] += own.cached;
    counters[CO_COUNT_PROXY_FAILED] += own.failed;
    counters[CO_COUNT_PROXY_RECEIVED_BYTES] += own.bytes_received;
    counters[CO_COUNT_PROXY_COPIED_BYTES] += own.bytes_copied;
    return own_state;
}

const char *co_report_proxies(uint64_t counters[CO_COUNTER_COUNT])
{
    size_t (*count)(uint64_t *, size_t) = NULL;
    const char *(*state)(void) = NULL;
    uint64_t counts[COUNTED];

    *(void **)&count = dlsym(RTLD_DEFAULT, "castoff_offload_counts");
    *(void **)&state = dlsym(RTLD_DEFAULT, "castoff_offload_state");
    size_t given = count != NULL ? count(counts, COUNTED) : 0;
    for (size_t i = 0; i < given; i++) {
        counters[counted[i]] = counts[i];
    }
    const char *own_state = add_own(counters);
    return state != NULL && state()[0] != '\0' ? state() : own_state;
}
