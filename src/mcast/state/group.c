// SPDX-License-Identifier: BSD-3-Clause
//
// A team's members on this endpoint from the first word of one of them: set-up, and whether there is anything to do.
// Its turns are mcast_progress.c's, its end is group_end.c. Warm; set-up allocates, nothing else does.
#include "mcast/state/group.h"

#include <errno.h>
#include <stdlib.h>

#include "mcast/state/endpoint.h"

#define CHUNKS_PER_CREDIT 3 // in flight for each child: its reports, by the quarter, take a tenth of what chunks take

void co_group_activate(struct co_mcast_group *group)
{
    if (!group->is_active) {
        group->is_active = true;
        group->next_active = group->mcast->active;
        group->mcast->active = group;
    }
    group->mcast->timer_ns = 0;
}

static uint32_t *take(uint32_t **storage, size_t words)
{
    uint32_t *part = *storage;
    *storage += words;
    return part;
}

// One allocation, which begins with `members`.
static int allocate_arrays(struct co_mcast_group *group, int count, int radix)
{
    size_t n = (size_t)count, words = 15 * n + 1 + 2 * ((n + 1) / 2) + 2 * ((n + 3) / 4);
    group->tree = co_credit_tree_of(count, radix);
    uint32_t *storage = calloc(words, sizeof(*storage));
    if (storage == NULL) {
        return -ENOMEM;
    }
    group->storage_bytes = sizeof(*group) + words * sizeof(*storage);
    group->members = (int *)take(&storage, n);
    group->first_unit = take(&storage, n + 1);
    group->received = take(&storage, n);
    group->reported = take(&storage, n);
    group->reported_heard = take(&storage, n);
    group->staged = take(&storage, n);
    group->latest = take(&storage, n);
    group->credit_every = take(&storage, n);
    group->unheard = take(&storage, n);
    group->seen_in_turn = take(&storage, n);
    group->lost_of = take(&storage, n);
    group->lost_known = take(&storage, n);
    group->lost_judged = take(&storage, n);
    group->child_received = take(&storage, n);
    group->child_heard = take(&storage, n);
    group->news.sources = (uint16_t *)take(&storage, (n + 1) / 2);
    group->rests.sources = (uint16_t *)take(&storage, (n + 1) / 2);
    group->news.has = (bool *)take(&storage, (n + 3) / 4);
    group->rests.has = (bool *)take(&storage, (n + 3) / 4);
    return 0;
}

static void fill(struct co_mcast_group *group)
{
    for (int i = 0; i < group->count; i++) {
        group->members[i] = co_seed_rank(group->seed, i);
    }
    const struct co_mcast_config *config = &group->mcast->config;
    size_t shared = config->shared_window_bytes == 0 ? config->window_bytes : config->shared_window_bytes;
    co_send_window_open(&group->window, (uint32_t)(config->window_bytes / config->chunk_bytes),
                        (uint32_t)(shared / config->chunk_bytes),
                        (uint32_t)(CO_SEND_RATE_START_BYTES / config->chunk_bytes),
                        CHUNKS_PER_CREDIT * (uint32_t)group->tree.children_most, group->mcast->transport->holds_back);
    group->senders = 1;
    group->quantum = group->window.alone.most / 4;
    group->left = (group->self + group->count - 1) % group->count;
    group->right = (group->self + 1) % group->count;
    group->report_due_ns = group->ack_request_due_ns = group->pace_due_ns = group->end_due_ns = CO_NEVER;
}

int co_group_open(struct co_mcast *mcast, struct co_mcast_seed *seed)
{
    struct co_mcast_group *group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return -ENOMEM;
    }
    group->mcast = mcast;
    group->seed = seed;
    group->team_id = seed->team_id;
    group->count = seed->count;
    group->self = co_seed_member(seed, mcast->config.world_rank);
    int status = allocate_arrays(group, group->count, (int)mcast->config.ack_radix);
    if (status < 0) {
        free(group);
        return status;
    }
    fill(group);
    seed->group = group;
    return 0;
}

int co_mcast_group_open(struct co_mcast_group **out, struct co_mcast *mcast, struct co_mcast_seed *seed,
                        const int *units)
{
    for (int i = 0; units != NULL && i < (int)seed->count; i++) {
        if (units[i] < 1) {
            return -EINVAL; // an empty block would never be complete
        }
    }
    int status = seed->broken != 0 ? seed->broken : seed->group == NULL ? co_group_open(mcast, seed) : 0;
    if (status < 0) {
        return status;
    }
    struct co_mcast_group *group = seed->group;
    for (int i = 0; i < group->count; i++) {
        group->first_unit[i + 1] = group->first_unit[i] + (uint32_t)(units == NULL ? 1 : units[i]);
    }
    *out = group;
    return 0;
}

size_t co_mcast_group_bytes(const struct co_mcast_group *group)
{
    return group->storage_bytes;
}
