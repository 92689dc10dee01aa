// SPDX-License-Identifier: BSD-3-Clause
//
// Cores of a proxy; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/proxy/proxy_cores.h"

#include <sched.h>
#include <string.h>

_Static_assert(sizeof(cpu_set_t) == CO_OFFLOAD_CORE_BYTES, "a bit a core");

int co_proxy_cores_choose(uint8_t chosen[CO_OFFLOAD_CORE_BYTES], const uint8_t allowed[CO_OFFLOAD_CORE_BYTES],
                          const struct co_offload_job *job)
{
    int count = 0;

    for (int i = 0; i < CO_OFFLOAD_CORE_BYTES; i++) {
        chosen[i] = (uint8_t)(allowed[i] & (job->has_cores ? job->cores[i] : ~job->rank_cores[i]));
        count += __builtin_popcount(chosen[i]);
    }
    if (count == 0) {
        memcpy(chosen, allowed, CO_OFFLOAD_CORE_BYTES);
    }
    return count;
}

int co_proxy_cores_bind(const struct co_offload_job *job)
{
    cpu_set_t all, allowed, chosen;
    uint8_t choice[CO_OFFLOAD_CORE_BYTES], may[CO_OFFLOAD_CORE_BYTES];

    memset(&all, 0xff, sizeof all); // the kernel leaves those that this process may have
    if (sched_setaffinity(0, sizeof all, &all) != 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return 0; // more cores than a mask has bits, or none that may be asked for
    }
    memcpy(may, &allowed, sizeof may);
    int count = co_proxy_cores_choose(choice, may, job);
    memcpy(&chosen, choice, sizeof chosen);
    return sched_setaffinity(0, sizeof chosen, &chosen) == 0 ? count : 0;
}
