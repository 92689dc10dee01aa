// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Small allgathers by way of one member, the collector (collect.c).
#ifndef CASTOFF_MCAST_COLLECT_H
#define CASTOFF_MCAST_COLLECT_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

bool co_collect_may(const struct co_mcast_group *group, size_t bytes); // small enough, whichever way it goes
void co_collect_start(struct co_mcast_op *op);
// At a member that the collector waits for. -EMSGSIZE: it has begun that operation and gives nothing to it.
int co_collect_request_take(struct co_mcast_group *group, const struct co_control *control);
// 1: it was the last one, and the collector has all. 0. -EMSGSIZE: of another length than ours, which ends the
// operation.
int co_collect_place(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
void co_collect_due(struct co_mcast_group *group);              // sends again, or asks for, what is due by now
uint64_t co_collect_due_ns(const struct co_mcast_group *group); // the next of these; CO_NEVER
// At a collector that waits: for whom (co_mcast_op_describe). False: it does not.
bool co_collect_describe(const struct co_mcast_op *op, char *text, size_t room);

#endif
