// SPDX-License-Identifier: BSD-3-Clause
//
// The coordinator as a daemon: a TCP socket, and a loop that carries messages between its clients and the coordinator.
#ifndef CASTOFF_ONESIDED_COORDINATOR_SERVER_H
#define CASTOFF_ONESIDED_COORDINATOR_SERVER_H

#include "onesided/control_session.h"
#include "onesided/coordinator.h"

struct co_server_config {
    const char *listen;    // host:port, see tcp_link.h
    const uint8_t *secret; // CO_SECRET_BYTES, the caller's, as long as it runs
    struct co_coordinator_config coordinator;
    void (*log)(void *context, const char *line); // context: NULL
};

// Runs until *stop is set, by a signal handler or another thread. 0, or -errno with `why`.
int co_server_run(const struct co_server_config *config, const _Atomic int *stop, char *why, size_t why_room);

#endif
