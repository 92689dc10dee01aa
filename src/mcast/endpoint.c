// SPDX-License-Identifier: BSD-3-Clause
//
// The endpoint: opens and closes, and moves everything in one call: take datagrams, learn of dead peers, let each
// active group act, serve repairs. Without a datagram and before the next timer it costs one poll of the transport.
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "base/log.h"
#include "mcast/wire/datagram_trace.h"
#include "mcast/endpoint.h"
#include "mcast/group.h"
#include "mcast/liveness/liveness_peers.h"
#include "mcast/operation.h"
#include "mcast/operation_progress.h"
#include "mcast/operation_memory.h"
#include "mcast/probe.h"
#include "mcast/receive/deliver.h"
#include "mcast/receive/dispatcher.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/retransmit.h"
#include "mcast/threads.h"

#define POLL_BUDGET 256

static int allocate(struct co_mcast *mcast)
{
    const struct co_mcast_config *config = &mcast->config;
    mcast->batch_room = mcast->transport->max_batch > 0 ? mcast->transport->max_batch : 1;
    mcast->peers = calloc((size_t)config->world_size, sizeof(*mcast->peers));
    int status = co_send_batch_open(&mcast->batch, config->auth, mcast->batch_room);
    if (mcast->peers == NULL || status < 0) {
        return -ENOMEM;
    }
    size_t early_bytes = sizeof(struct co_early_chunk) + config->chunk_bytes;
    return co_fixed_pool_open(&mcast->early, early_bytes, config->staging_bytes / 2 / early_bytes + 1);
}

static void release(struct co_mcast *mcast)
{
    co_probe_close(mcast);
    co_fixed_pool_close(&mcast->early);
    co_hash_map_close(&mcast->seeds);
    free(mcast->peers);
    co_send_batch_close(&mcast->batch);
    co_threads_close(mcast);
    free(mcast);
}

size_t co_mcast_overhead_bytes(const struct co_auth *auth)
{
    return CO_WIRE_HEAD_BYTES + co_auth_tag_bytes(auth);
}

size_t co_mcast_chunk_bytes(const struct co_auth *auth, size_t datagram_bytes)
{
    return datagram_bytes - datagram_bytes % sizeof(uint64_t) - co_mcast_overhead_bytes(auth);
}

enum co_fault_kind co_mcast_classify(struct co_destination to, const struct co_tx_datagram *datagram)
{
    (void)to;
    switch (co_wire_kind(datagram->head, datagram->head_bytes)) {
    case CO_WIRE_CHUNK:
        return co_wire_is_repair(datagram->head) ? CO_FAULT_REPAIR : CO_FAULT_DATA;
    case CO_WIRE_CONTRIBUTION:
        return CO_FAULT_DATA;
    default:
        return CO_FAULT_CONTROL;
    }
}

int co_mcast_open(struct co_mcast **out, const struct co_mcast_config *config)
{
    size_t overhead = co_mcast_overhead_bytes(config->auth);
    if (config->chunk_bytes == 0 || config->chunk_bytes > UINT16_MAX || config->subgroups == 0 ||
        config->world_size > UINT16_MAX || config->chunk_bytes + overhead > config->transport->max_datagram_bytes) {
        return -EINVAL;
    }
    struct co_mcast *mcast = calloc(1, sizeof(*mcast));
    if (mcast == NULL) {
        return -ENOMEM;
    }
    mcast->config = *config;
    mcast->transport = config->transport;
    mcast->tag_bytes = co_auth_tag_bytes(config->auth);
    mcast->probe.state = -EAGAIN;
    mcast->lingering_end = &mcast->lingering_first;
    co_hash_map_open(&mcast->seeds);
    co_repair_window_open(&mcast->repair_window);
    int status = allocate(mcast);
    if (status < 0) {
        release(mcast);
        return status;
    }
    if (co_log_is_on(CO_LOG_TRACE, CO_SUBSYS_MCAST)) {
        co_datagram_trace(mcast->transport, mcast->tag_bytes);
    }
    co_landing_open(mcast);
    *out = mcast;
    return 0;
}

// Groups still lingering, and what they keep, go with the endpoint, and so do seeds that are only there to say that
// their team is broken.
void co_mcast_close(struct co_mcast *mcast)
{
    size_t position = 0;
    uint64_t key;
    struct co_mcast_seed *seed;
    while ((seed = co_hash_map_next(&mcast->seeds, &position, &key)) != NULL) {
        position = 0; // the table may move
        struct co_mcast_group *group = seed->group;
        if (group == NULL) {
            co_seed_free(mcast, seed);
            continue;
        }
        for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
            co_operation_memory_drop(op);
            co_operation_fail(op, -ESHUTDOWN);
            op->right_has_it = op->is_released = true;
        }
        co_operations_settle(group);
        co_group_free(group);
    }
    release(mcast);
}

// Lets every active group act; takes those out of the list that have nothing left to do.
static void progress_groups(struct co_mcast *mcast)
{
    struct co_mcast_group *group = mcast->active;
    mcast->active = NULL;
    uint64_t timer = CO_NEVER;
    while (group != NULL) {
        struct co_mcast_group *next = group->next_active;
        group->is_active = false;
        co_group_progress(group);
        bool is_idle = co_group_is_idle(group);
        if (group->is_active || !is_idle) {
            co_group_activate(group);
            uint64_t due = is_idle ? mcast->now_ns : co_group_timer_ns(group); // idle now: the next turn finds it so
            timer = due < timer ? due : timer;
        } else if (group->is_closing && !group->is_lingering) {
            co_group_linger(group);
        }
        group = next;
    }
    if (mcast->probe.state == 0) {
        uint64_t next = mcast->probe.next_ns > mcast->now_ns ? mcast->probe.next_ns : mcast->probe.deadline_ns;
        timer = next < timer ? next : timer;
    }
    uint64_t doubts_due = co_liveness_peers_due_ns(mcast);
    mcast->timer_ns = doubts_due < timer ? doubts_due : timer;
}

int co_mcast_progress(struct co_mcast *mcast, uint64_t now_ns)
{
    mcast->now_ns = now_ns;
    mcast->events = 0;
    int status = mcast->transport->ops->poll(mcast->transport, POLL_BUDGET, co_dispatcher_deliver, mcast);
    if (status < 0) {
        return status;
    }
    mcast->is_behind = status >= POLL_BUDGET;
    status = co_lanes_progress(mcast);
    co_deliver_count(mcast);
    if (status < 0) {
        return status;
    }
    co_liveness_peers_poll_transport(mcast);
    if (mcast->events == 0 && now_ns < mcast->timer_ns && !mcast->wants_write && mcast->reading_ops == 0) {
        return 0;
    }
    mcast->wants_write = false;
    co_probe_progress(mcast);
    co_liveness_peers_progress(mcast);
    co_retransmit_in_turn(mcast);
    progress_groups(mcast);
    co_retransmit_progress(mcast);
    return mcast->events;
}

void co_mcast_give_up(struct co_mcast *mcast, int error)
{
    size_t position = 0;
    uint64_t key;
    struct co_mcast_seed *seed;
    while ((seed = co_hash_map_next(&mcast->seeds, &position, &key)) != NULL) {
        for (; seed != NULL; seed = seed->next_alike) {
            if (seed->group != NULL) {
                co_group_break(seed->group, error);
            }
        }
    }
    if (mcast->transport->ops->hang_up != NULL) {
        mcast->transport->ops->hang_up(mcast->transport);
    }
}

void co_mcast_expect_signs(struct co_mcast *mcast, enum co_signs signs)
{
    mcast->config.signs = signs;
}

uint64_t co_mcast_advances(const struct co_mcast *mcast)
{
    return mcast->advances;
}

bool co_mcast_is_idle(const struct co_mcast *mcast)
{
    return mcast->active == NULL && mcast->probe.state != 0 && mcast->repair_head == mcast->repair_tail;
}

uint64_t co_mcast_next_timer_ns(const struct co_mcast *mcast, bool *wants_write)
{
    *wants_write = mcast->wants_write;
    uint64_t event = mcast->transport->ops->next_event_ns(mcast->transport);
    return event != 0 && event < mcast->timer_ns ? event : mcast->timer_ns;
}
