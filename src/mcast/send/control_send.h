// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Control messages: sealed and sent (control_send.c).
#ifndef CASTOFF_MCAST_SEND_CONTROL_SEND_H
#define CASTOFF_MCAST_SEND_CONTROL_SEND_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

// What may pass before a message counts as unanswered
uint64_t co_control_timeout_ns(const struct co_mcast *mcast);
// The body is one of wire.h's, at most CO_CONTROL_MAX bytes, with `entries` entries; none: NULL, 0. Returns 1 when it
// left, 0 when the local queue was full and it is gone, or -errno of the transport's send.
int co_control_send(struct co_mcast *mcast, uint64_t team_id, int sender_index, struct co_destination to,
                    enum co_control_type type, uint32_t operation, uint16_t entries, const void *body,
                    size_t body_bytes);
int co_control_send_member(struct co_mcast_group *group, int member, enum co_control_type type, uint32_t operation,
                           uint16_t entries, const void *body, size_t body_bytes);
// By a reliable connection if there is one (transport.h).
int co_control_send_once(struct co_mcast_group *group, int member, enum co_control_type type, uint32_t operation,
                         uint16_t entries, const void *body, size_t body_bytes);

#endif
