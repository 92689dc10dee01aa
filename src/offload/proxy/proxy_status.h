// SPDX-License-Identifier: BSD-3-Clause
//
// What a proxy says to who asks for its status: lines of text, for people. Pure; cold.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_STATUS_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_STATUS_H

#include "offload/offload_job.h"
#include "offload/proxy/proxy_core.h"
#include "offload/proxy/proxy_listener.h"

struct co_proxy_process_counts {
    uint64_t turns;
    uint64_t sleeps;          // of them so many ended with nothing left to do
    uint64_t rings, rung;     // to ranks that slept; bytes that ranks rang with
    uint64_t joined, hung_up; // ranks; whose commands made no sense
    uint64_t copying;         // ranks that copy their messages themselves
};

struct co_proxy_status {
    const struct co_offload_job *job;
    uint32_t ours, here; // ranks of this proxy; that are connected
    const struct co_proxy_process_counts *counts;
    const struct co_proxy_counts *core;
    const struct co_proxy_listener_counts *strangers;
};

// Its length.
int co_proxy_status_print(char *text, size_t room, const struct co_proxy_status *status);

#endif
