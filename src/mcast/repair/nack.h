// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. The asker's side of repair: NACKs, what answers them, and what is known of the path to the
// neighbour (nack.c).
#ifndef CASTOFF_MCAST_REPAIR_NACK_H
#define CASTOFF_MCAST_REPAIR_NACK_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

void co_nack_send_due(struct co_mcast_group *group);
uint64_t co_nack_due_ns(struct co_mcast_group *group);
// A first transmission of an operation that is not over; is_new: it was not here before.
void co_nack_chunk_arrived(struct co_mcast_group *group, const struct co_chunk *chunk, bool is_new);
// A repair of any operation, by then over or not; is_new: it was not here before.
void co_nack_repair_came(struct co_mcast_group *group, const struct co_chunk *chunk, bool is_new);
void co_nack_deferred_receive(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body);
void co_nack_source_waits(struct co_mcast_group *group, int source);
void co_nack_block_arrived(struct co_mcast_op *op, int source);

#endif
