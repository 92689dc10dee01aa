// SPDX-License-Identifier: BSD-3-Clause
//
// What there is of a communicator before its first collective: facts, counted over its members once, and a seat in the
// node's shared memory. Decisions are made of these alone. Warm; co_team_decide is hot.
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_state.h"

// Of our node: who is first there, and how many there are.
struct neighbourhood {
    int first, count;
};

static struct neighbourhood survey(struct co_team_facts *facts, const struct co_engine *engine, const int *world_ranks,
                                   int node, int *units)
{
    struct neighbourhood ours = {-1, 0};
    for (int rank = 0; rank < facts->ranks; rank++) {
        int there = engine->node_of_rank[world_ranks[rank]];
        facts->nodes += units[there] == 0;
        units[there]++;
        if (units[there] > facts->max_ranks_per_node) {
            facts->max_ranks_per_node = units[there];
        }
        if (there == node && ours.count++ == 0) {
            ours.first = world_ranks[rank];
        }
    }
    return ours;
}

int co_team_seed_open(struct co_team_seed *seed, struct co_engine *engine, uint64_t id, const int *world_ranks,
                      int size, int rank)
{
    int *units = calloc((size_t)engine->bootstrap.node_count, sizeof(int));
    if (units == NULL) {
        return -ENOMEM;
    }
    *seed = (struct co_team_seed){.id = id, .rank = rank, .seat = CO_SHM_NO_SEAT};
    struct co_team_facts *facts = &seed->facts;
    facts->ranks = size;
    facts->has_shm = engine->has_shm;
    facts->has_multicast = engine->has_multicast;
    facts->has_single_copy = engine->has_single_copy;
    facts->is_oversubscribed = engine->is_oversubscribed;
    int self = world_ranks[rank];
    struct neighbourhood ours = survey(facts, engine, world_ranks, engine->node_of_rank[self], units);
    free(units);
    facts->carrier = facts->nodes == 1 ? CO_CARRIER_SHM : engine->has_multicast ? engine->carrier : CO_CARRIER_ANY;
    seed->is_spoken_to = facts->nodes > 1 && facts->has_multicast && ours.first == self;
    if (ours.count < 2 || engine->shm == NULL) {
        return 0;
    }
    int seat = co_shm_seat_take(engine->shm, id, engine->place_of_rank[ours.first], ours.count);
    seed->seat = seat < 0 ? CO_SHM_NO_SEAT : seat;
    return seat < 0 ? seat : 0;
}

void co_team_seed_close(const struct co_team_seed *seed, struct co_engine *engine)
{
    if (seed->seat != CO_SHM_NO_SEAT) {
        co_shm_seat_leave(engine->shm, seed->seat);
    }
}

// Only who is not spoken to opens its team late, and has neighbours then: they tell the other nodes.
void co_team_seed_break(struct co_team_seed *seed, struct co_engine *engine, int error)
{
    seed->broken = error;
    if (seed->seat != CO_SHM_NO_SEAT) {
        co_shm_seat_break(engine->shm, seed->seat, error);
    }
}

enum co_reason co_team_decide(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                              size_t bytes)
{
    return co_decide(&engine->tune, facts, call, bytes, engine->policy[call]);
}
