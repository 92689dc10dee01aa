// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast: chunks on their way out (transmit.c). What may leave is said by send_room.h. By the holder
// of the endpoint, but for the part that a sending thread carries (threads.c); `first` is a PSN.
#ifndef CASTOFF_MCAST_SEND_TRANSMIT_H
#define CASTOFF_MCAST_SEND_TRANSMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/auth/auth.h"
#include "mcast/wire/wire.h"

struct co_mcast_op;
struct co_receive_block;
struct co_retransmit;
struct co_tx_datagram;

// Where datagrams are put together: one for the holder of the engine, one for a sending thread.
struct co_send_batch {
    struct co_auth *auth;
    uint8_t (*heads)[CO_WIRE_HEAD_BYTES];
    uint8_t (*tails)[CO_AUTH_TAG_MAX];
    struct co_tx_datagram *datagrams;
};

// A part of a block on its way to the network, without the engine.
struct co_send_part {
    struct co_mcast_op *op;
    uint32_t first, count;
    unsigned subgroup;
    uint8_t credit_shift;
    uint64_t begun_ns;
    int sent; // datagrams taken, or -errno
};

void co_operation_transmit(struct co_mcast_op *op);        // own block, as far as window and queue allow
bool co_transmit_account(const struct co_send_part *part); // of what was sent of it. True: all of it has left
// From `first` on, as far as the queue allows; returns how many chunks left.
uint32_t co_contribution_send(struct co_mcast_op *op, const struct co_receive_block *part, uint32_t first);
// A batch of it at most. Returns how many chunks left, 0 when the queue was full, or -errno of the transport's send.
int co_transmit_repairs(struct co_mcast_op *op, const struct co_retransmit *repair);
// The tag that this chunk of it would be sent with.
void co_repair_tag(struct co_mcast_op *op, const struct co_retransmit *repair, uint32_t psn,
                   uint8_t tag[CO_AUTH_TAG_MAX]);
// For `room` datagrams. `auth` stays the caller's. -ENOMEM: to be closed all the same.
int co_send_batch_open(struct co_send_batch *batch, struct co_auth *auth, unsigned room);
void co_send_batch_close(struct co_send_batch *batch);

#endif
