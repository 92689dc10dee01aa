// SPDX-License-Identifier: BSD-3-Clause
//
// The endpoint: opens and closes, and answers what is asked of it. It is moved by mcast_progress.c. Cold.
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "base/log.h"
#include "mcast/state/endpoint.h"
#include "mcast/group_end.h"
#include "mcast/mcast_receive.h"
#include "mcast/operation_memory.h"
#include "mcast/operation_progress.h"
#include "mcast/probe.h"
#include "mcast/receive/early_chunks.h"
#include "mcast/threads.h"
#include "mcast/wire/datagram_trace.h"

static int allocate(struct co_mcast *mcast)
{
    const struct co_mcast_config *config = &mcast->config;
    mcast->batch_room = mcast->transport->max_batch > 0 ? mcast->transport->max_batch : 1;
    mcast->kept.most = config->staging_bytes / 2;
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
    co_kept_free_idle(&mcast->kept);
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
    co_mcast_receive_open(mcast);
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
            co_operation_right_has_it(op);
            op->is_released = true;
        }
        co_operations_settle(group);
        co_group_free(group);
    }
    release(mcast);
}

void co_mcast_abort(struct co_mcast *mcast, int error)
{
    size_t position = 0;
    uint64_t key;
    struct co_mcast_seed *seed;
    while ((seed = co_hash_map_next(&mcast->seeds, &position, &key)) != NULL) {
        for (; seed != NULL; seed = seed->next_alike) {
            if (seed->group != NULL) {
                co_group_abort(seed->group, error);
            }
        }
    }
    if (mcast->transport->ops->hang_up != NULL) {
        mcast->transport->ops->hang_up(mcast->transport);
    }
}

void co_mcast_set_liveness_proof(struct co_mcast *mcast, enum co_liveness_proof proof)
{
    mcast->config.liveness_proof = proof;
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
