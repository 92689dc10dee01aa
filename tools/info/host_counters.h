// SPDX-License-Identifier: BSD-3-Clause
//
// What this host's network has counted, of the kernel's tables in /proc/net. Cold.
#ifndef CASTOFF_TOOLS_INFO_HOST_COUNTERS_H
#define CASTOFF_TOOLS_INFO_HOST_COUNTERS_H

#include <stdint.h>

struct co_host_counters {
    int64_t overflows; // datagrams that found no room in a socket's buffer; -1: not known, also below
    int64_t dropped;   // packets that came to this host and that nothing in it took
    int64_t filtered;  // of them by rp_filter
};

// Since this host started.
void co_host_counters_find(struct co_host_counters *counters);

#endif
