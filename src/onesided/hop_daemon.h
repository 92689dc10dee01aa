// SPDX-License-Identifier: BSD-3-Clause
//
// The hop as a daemon: ports, hop and control in one loop.
#ifndef CASTOFF_ONESIDED_HOP_DAEMON_H
#define CASTOFF_ONESIDED_HOP_DAEMON_H

#include "onesided/hop.h"
#include "onesided/tcp_link.h"

struct co_hop_daemon_config {
    struct co_hop_config hop;
    const char *interfaces[CO_HOP_PORTS_MAX]; // hop.ports of them; NIC mode: wire, device
    unsigned room_mib;                        // receive buffer of each, 1 to CO_HOP_ROOM_MIB_MAX
    char place[CO_SOCKET_PLACE_MAX];          // of the coordinator; empty: none, the hop is a plain switch
    const uint8_t *secret;                    // CO_SECRET_BYTES, the caller's, as long as it runs
    char name[CO_COORDINATION_NAME_MAX];
    uint32_t serves_ip;                           // NIC mode
    void (*log)(void *context, const char *line); // context: NULL
};

// Runs until *stop is set, by a signal handler or another thread. 0, or -errno with `why`.
int co_hop_daemon_run(const struct co_hop_daemon_config *config, const _Atomic int *stop, char *why, size_t why_room);

#endif
