// SPDX-License-Identifier: BSD-3-Clause
//
// A hop's connection to its coordinator: takes rules, reports counters, comes back when the connection is lost. The
// lease of its rules runs from the sending of the last report that the coordinator has answered, so the coordinator
// knows, by its own clock, when a hop that it cannot reach has none any more. Never waits. One thread; cold.
#ifndef CASTOFF_ONESIDED_HOP_CONTROL_H
#define CASTOFF_ONESIDED_HOP_CONTROL_H

#include <poll.h>

#include "onesided/hop.h"
#include "onesided/tcp_link.h"

struct co_hop_control_config {
    char place[CO_SOCKET_PLACE_MAX]; // of the coordinator, by co_tcp_resolve
    const uint8_t *secret;           // CO_SECRET_BYTES, the caller's
    struct co_coordination_login login;
    // Adds what ports have lost to `unsent` and `overruns`.
    void (*count_lost)(void *context, struct co_coordination_hop_report *report);
    void (*log)(void *context, const char *line);
    void *context; // of both
};

struct co_hop_control;

int co_hop_control_open(struct co_hop_control **out, const struct co_hop_control_config *config, struct co_hop *hop);
void co_hop_control_close(struct co_hop_control *control);

// What to poll for; fd -1 while there is no connection.
struct pollfd co_hop_control_watch(const struct co_hop_control *control);
// Sends, receives, reports, connects. When its descriptor is ready, and every 250 ms.
void co_hop_control_progress(struct co_hop_control *control, uint64_t now_ns);

#endif
