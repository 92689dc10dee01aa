// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff info` says of each transport on this host, of messages from rank to rank, of collectives that are
// placed by RDMA writes, and of proxies: usable, or why not: a setting that keeps it off, or what was found by trying
// it out (a segment, a copy between two children, a socket). Leaves nothing behind. Cold.
#ifndef CASTOFF_TOOLS_INFO_TRANSPORTS_H
#define CASTOFF_TOOLS_INFO_TRANSPORTS_H

#include <stdbool.h>
#include <stdint.h>

enum { CO_TRANSPORTS = 6 };

struct co_transport_state {
    const char *name;
    bool is_usable;
    char detail[512];
};

// onesided_probe.c: everything but the coordinator, which is not asked.
void co_onesided_probe(struct co_transport_state *state);

// proxy_probe.c: one is started.
void co_proxy_probe(struct co_transport_state *state);

// UDP alone, by the interface that leads to an address of another host (network byte order), 0: by the first one.
void co_transports_probe_udp(struct co_transport_state *state, uint32_t near_ip);

// Needs co_settings_load.
void co_transports_probe(struct co_transport_state states[CO_TRANSPORTS]);

#endif
