// SPDX-License-Identifier: BSD-3-Clause
//
// Staging: chunks of operations that have not been started here are kept, bounded, never dropped as foreign. Hot.
#include "mcast/receive/early_chunks.h"

#include <string.h>

#include "base/memory/memory_copy.h"
#include "base/counters.h"
#include "base/mix_bits.h"
#include "mcast/state/endpoint.h"

static struct co_early_chunk **early_chain(struct co_mcast *mcast, const struct co_mcast_group *group,
                                           const struct co_chunk *chunk)
{
    uint64_t which = (uint64_t)chunk->operation << 32 | chunk->psn;
    return &mcast->early_chains[co_mix_bits(which ^ group->team_id ^ chunk->source) % CO_EARLY_CHAINS];
}

static struct co_early_queue *early_queue(struct co_mcast_group *group, uint32_t operation)
{
    return &group->early[operation % CO_EARLY_QUEUES];
}

static bool is_same_chunk(const struct co_chunk *left, const struct co_chunk *right)
{
    return left->operation == right->operation && left->psn == right->psn && left->source == right->source &&
           left->is_contribution == right->is_contribution;
}

static bool is_kept_already(const struct co_early_chunk *early, const struct co_mcast_group *group,
                            const struct co_chunk *chunk)
{
    while (early != NULL && (early->group != group || !is_same_chunk(&early->chunk, chunk))) {
        early = early->next_in_chain;
    }
    return early != NULL;
}

static bool is_first_transmission(const struct co_chunk *chunk)
{
    return !chunk->is_repair && !chunk->is_contribution;
}

void co_early_give(struct co_early_chunk *early)
{
    struct co_mcast *mcast = early->group->mcast;
    struct co_early_chunk **link = early_chain(mcast, early->group, &early->chunk);
    while (*link != early) {
        link = &(*link)->next_in_chain;
    }
    *link = early->next_in_chain;
    early->group->staged[early->chunk.source] -= is_first_transmission(&early->chunk);
    co_fixed_pool_give(&mcast->early, early);
}

bool co_early_keep(struct co_mcast_group *group, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes)
{
    struct co_mcast *mcast = group->mcast;
    struct co_early_chunk **chain = early_chain(mcast, group, chunk);
    if (is_kept_already(*chain, group, chunk)) { // copies of one would take the room of all
        co_counter_add(CO_COUNT_DATA_DUPLICATE, 1);
        return false;
    }
    struct co_early_chunk *early = co_fixed_pool_take(&mcast->early);
    if (early == NULL) {
        co_counter_add(CO_COUNT_STAGING_FULL, 1);
        return false; // whether it is new is not known: where nothing is kept, every copy would be
    }
    early->next = NULL;
    early->next_in_chain = *chain;
    *chain = early;
    early->group = group;
    early->chunk = *chunk;
    early->bytes = bytes;
    co_memory_copy(early->payload, payload, bytes);
    struct co_early_queue *queue = early_queue(group, chunk->operation);
    *(queue->first == NULL ? &queue->first : &queue->last->next) = early;
    queue->last = early;
    group->staged[chunk->source] += is_first_transmission(chunk);
    co_counter_add(CO_COUNT_DATA_EARLY, 1);
    co_counter_raise(CO_COUNT_STAGING_HIGH, mcast->early.in_use * mcast->early.object_bytes + mcast->kept.in_use);
    return true;
}

struct co_early_chunk *co_early_take(struct co_mcast_group *group, uint32_t operation)
{
    struct co_early_queue *queue = early_queue(group, operation);
    struct co_early_chunk *first = NULL, **end = &first, **link = &queue->first, *last = NULL;
    for (struct co_early_chunk *early = queue->first; early != NULL; early = early->next) {
        if (early->chunk.operation == operation) {
            *end = early;
            end = &early->next;
        } else {
            *link = last = early;
            link = &early->next;
        }
    }
    *end = *link = NULL;
    queue->last = last;
    return first;
}

void co_early_drop_all(struct co_mcast_group *group)
{
    for (int i = 0; i < CO_EARLY_QUEUES; i++) {
        while (group->early[i].first != NULL) {
            struct co_early_chunk *early = group->early[i].first;
            group->early[i].first = early->next;
            co_early_give(early);
        }
    }
}
