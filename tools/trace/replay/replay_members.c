// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators of castoff's own traces, where each member has the list of members, or, between groups, of the other
// group. Two ranks mean the same one when it comes from the same parent by the same call with the same members, and is
// as many-th such one on both.
#include <errno.h>
#include <stdlib.h>

#include "base/mix_bits.h"
#include "tools/trace/replay/replay_state.h"

static uint64_t fold(uint64_t hash, uint64_t value)
{
    return co_mix_bits(hash * UINT64_C(0x100000001b3) + value + 1);
}

static uint64_t fold_list(uint64_t hash, const int32_t *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hash = fold(hash, (uint64_t)(uint32_t)ranks[i]);
    }
    return fold(hash, count);
}

static uint64_t fold_members(uint64_t hash, const struct co_replay_comm *comm)
{
    for (uint32_t i = 0; i < comm->count; i++) {
        hash = fold(hash, (uint64_t)(uint32_t)co_replay_world_rank(comm, (int32_t)i));
    }
    return fold(hash, comm->count);
}

// How often the rank made one like that before.
static uint64_t count_made(struct co_replay_rank *rank, uint64_t key)
{
    uintptr_t before = (uintptr_t)co_hash_map_remove(&rank->made, key);
    (void)co_hash_map_put(&rank->made, key, (void *)(before + 1));
    return before;
}

static void keep(struct co_replay *replay, uint64_t key, struct co_replay_comm *comm)
{
    if (co_hash_map_put(&replay->by_members, key, comm) == -ENOMEM) {
        replay->error = -ENOMEM;
    }
}

// The side of the rank, whose own group is that of the parent. Both sides are made by whoever comes first.
static struct co_replay_comm *find_side(struct co_replay *replay, struct co_replay_rank *rank,
                                        struct co_replay_comm *own, const int32_t *ranks, uint32_t count)
{
    uint64_t here = fold_list(fold_members(0, own), ranks, count);
    uint64_t there = fold_members(fold_list(0, ranks, count), own), before = count_made(rank, here);
    struct co_replay_comm *side = co_hash_map_get(&replay->by_members, fold(here, before));
    if (side != NULL) {
        return side;
    }
    struct co_replay_comm *other = co_replay_subset(replay, replay->world, ranks, count);
    side = other == NULL ? NULL : co_replay_comm_new(replay, own->count, own->members);
    if (side != NULL) {
        side->other = other;
        other->other = side;
        keep(replay, fold(here, before), side);
        keep(replay, fold(there, before), other);
    }
    return side;
}

static struct co_replay_comm *find_between(struct co_replay *replay, struct co_replay_rank *rank,
                                           struct co_replay_comm *from, const int32_t *ranks, uint32_t count)
{
    if (from == NULL || (from->other != NULL && count > 0)) {
        return NULL; // of one between groups a part: its own group is not told
    }
    if (from->other == NULL) {
        return find_side(replay, rank, from, ranks, count);
    }
    int32_t *others = malloc(((size_t)from->other->count + 1) * sizeof *others);
    if (others == NULL) {
        replay->error = -ENOMEM;
        return NULL;
    }
    for (uint32_t i = 0; i < from->other->count; i++) {
        others[i] = co_replay_world_rank(from->other, (int32_t)i);
    }
    struct co_replay_comm *side = find_side(replay, rank, from, others, from->other->count);
    free(others);
    return side;
}

static struct co_replay_comm *find_within(struct co_replay *replay, struct co_replay_rank *rank,
                                          struct co_replay_comm *from, const struct co_event *event,
                                          const int32_t *ranks, uint32_t count)
{
    uint32_t parent = from == NULL                                        ? 0
                      : from->other != NULL && from->other->id < from->id ? from->other->id + 1 // merged
                                                                          : from->id + 1;
    uint64_t key = fold_list(fold(parent, (uint64_t)(uint32_t)event->peer), ranks, count);
    key = fold(key, count_made(rank, key));
    struct co_replay_comm *comm = co_hash_map_get(&replay->by_members, key);
    if (comm == NULL) {
        comm = count > 0      ? co_replay_subset(replay, replay->world, ranks, count)
               : from != NULL ? co_replay_comm_new(replay, from->count, from->members)
                              : NULL;
        if (comm != NULL) {
            keep(replay, key, comm);
        }
    }
    return comm;
}

void co_replay_attach_members(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event,
                              const int32_t *ranks, uint32_t count)
{
    const struct co_replay_place *parent =
        event->comm < CO_COMM_WORLD ? NULL : co_hash_map_get(&rank->places, event->comm);
    struct co_replay_comm *from = parent == NULL ? NULL : parent->comm;
    struct co_replay_comm *comm = event->flags == CO_COMM_BETWEEN
                                      ? find_between(replay, rank, from, ranks, count)
                                      : find_within(replay, rank, from, event, ranks, count);
    if (comm == NULL) {
        co_replay_lose(replay, rank, event->number, event->call, CO_WHY_NOT_TOLD);
    } else {
        (void)co_replay_attach(replay, rank, event->number, comm);
    }
}
