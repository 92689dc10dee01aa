// SPDX-License-Identifier: BSD-3-Clause
//
// What an endpoint needs when several threads work for it: a lane for each subgroup that has a receiving thread, and
// keys and room for a sending one. Opened once; putting a lane's datagrams in their place is hot.
#include <errno.h>

#include "base/counters.h"
#include "mcast/ack/ack.h"
#include "mcast/state/endpoint.h"
#include "mcast/mcast_receive.h"
#include "mcast/operation_progress.h"
#include "mcast/repair/retransmit.h"
#include "mcast/threads.h"

int co_mcast_lane_open(struct co_mcast *mcast, unsigned subgroup)
{
    if (subgroup >= mcast->config.subgroups || subgroup >= CO_MCAST_LANES_MAX || mcast->lanes[subgroup] != NULL) {
        return -EINVAL;
    }
    if (mcast->lands) {
        return 0; // nothing to do in advance: there is little to verify, and only the holder knows where payload goes
    }
    return co_receive_lane_open(&mcast->lanes[subgroup], mcast->transport, mcast->config.auth, subgroup);
}

int co_mcast_sender_open(struct co_mcast *mcast)
{
    struct co_auth *auth;
    if (mcast->transport->ops->lane_open == NULL) {
        return -ENOTSUP; // one that has no lanes does not let a thread send beside the holder either
    }
    int status = co_auth_copy(&auth, mcast->config.auth);
    if (status < 0) {
        return status;
    }
    status = co_send_batch_open(&mcast->sender_batch, auth, mcast->batch_room);
    if (status < 0) {
        co_send_batch_close(&mcast->sender_batch);
        co_auth_close(auth);
        mcast->sender_batch = (struct co_send_batch){0};
    }
    return status;
}

int co_mcast_lane_fill(struct co_mcast *mcast, unsigned subgroup)
{
    return mcast->lanes[subgroup] == NULL ? 0 : co_receive_lane_fill(mcast->lanes[subgroup]);
}

int co_mcast_lane_descriptor(const struct co_mcast *mcast, unsigned subgroup)
{
    return mcast->transport->ops->lane_descriptor(mcast->transport, subgroup);
}

bool co_mcast_wants_sender(struct co_mcast *mcast)
{
    bool wants = mcast->has_part_for_sender;
    mcast->has_part_for_sender = false;
    return wants;
}

void co_mcast_sender_use(struct co_mcast *mcast, bool is_used)
{
    co_store_relaxed(&mcast->sender_rests, !is_used); // relaxed: either way is right at any time
}

bool co_mcast_send_end(struct co_mcast *mcast, uint64_t now_ns)
{
    struct co_mcast_op *op = mcast->part.op;
    mcast->now_ns = now_ns;
    op->is_sending = false;
    uint32_t first = op->next_psn;
    bool has_room = co_transmit_account(&mcast->part), is_last = op->next_psn == op->send_chunks;
    co_retransmit_forward_sent(op, first);
    if (!has_room) {
        co_counter_add(CO_COUNT_BACKPRESSURE, 1);
    }
    mcast->part.op = NULL;
    co_ack_credit(op->group, false); // which may have come before we knew what it is for
    co_operation_part_sent(op);
    if (is_last) {
        mcast->timer_ns = now_ns; // or nobody looked when the end of the block is to be said again
    }
    return has_room;
}

int co_threads_progress(struct co_mcast *mcast, unsigned *taken)
{
    for (unsigned i = 0; i < mcast->config.subgroups; i++) {
        struct co_receive_lane *lane = mcast->lanes[i];
        if (lane == NULL) {
            continue;
        }
        const struct co_transport_ops *ops = mcast->transport->ops;
        bool is_quiet = ops->lane_is_quiet != NULL && ops->lane_is_quiet(mcast->transport, i);
        int status = is_quiet ? 0 : co_receive_lane_fill(lane); // unless its thread is at it
        if (status < 0) {
            return status;
        }
        if (co_receive_lane_take(lane)) {
            mcast->is_behind = mcast->is_behind || lane->has_more;
            *taken += lane->count;
            co_mcast_deliver_lane(mcast, lane);
            co_receive_lane_give(lane);
        }
    }
    return 0;
}

void co_threads_close(struct co_mcast *mcast)
{
    for (unsigned i = 0; i < CO_MCAST_LANES_MAX; i++) {
        co_receive_lane_close(mcast->lanes[i]);
        mcast->lanes[i] = NULL;
    }
    if (mcast->sender_batch.auth != NULL) {
        co_auth_close(mcast->sender_batch.auth);
        co_send_batch_close(&mcast->sender_batch);
        mcast->sender_batch = (struct co_send_batch){0};
    }
}
