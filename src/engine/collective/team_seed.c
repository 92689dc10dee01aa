// SPDX-License-Identifier: BSD-3-Clause
//
// What there is of a communicator before its first collective: facts, counted over its members once, a seat in the
// node's shared memory, and the network's seed (mcast/state/seed.h). Decisions are made of the facts alone
// (engine/decide/team_decide.c). Warm.
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_state.h"
#include "mcast/mcast.h"
#include "shm/shm.h"

// Of our node: who is first there, how many there are, and its number among the team's nodes.
struct neighbourhood {
    int first, count, node;
};

// Fills in who is first on each of the nodes, which are numbered by that.
static struct neighbourhood survey(struct co_team_facts *facts, const struct co_engine *engine, const int *world_ranks,
                                   int node, int *units, int *leaders)
{
    struct neighbourhood ours = {-1, 0, -1};
    for (int rank = 0; rank < facts->ranks; rank++) {
        int there = engine->node_of_rank[world_ranks[rank]];
        if (there == node && ours.count++ == 0) {
            ours.first = world_ranks[rank];
            ours.node = facts->nodes;
        }
        if (units[there]++ == 0) {
            leaders[facts->nodes++] = world_ranks[rank];
        }
        if (units[there] > facts->max_ranks_per_node) {
            facts->max_ranks_per_node = units[there];
        }
    }
    return ours;
}

static int open_net(struct co_team_seed *seed, struct co_engine *engine, const int *leaders, int node)
{
    co_trylock_wait(&engine->lock);
    int status = co_mcast_seed_open(&seed->net, engine->mcast, seed->id, leaders, seed->facts.nodes, node);
    co_trylock_drop(&engine->lock);
    return status;
}

static void close_net(const struct co_team_seed *seed, struct co_engine *engine)
{
    if (seed->net != NULL) {
        co_trylock_wait(&engine->lock);
        co_mcast_seed_close(engine->mcast, seed->net);
        co_trylock_drop(&engine->lock);
    }
}

static int take_seat(struct co_team_seed *seed, struct co_engine *engine, const struct neighbourhood *ours)
{
    if (ours->count < 2 || engine->shm == NULL) {
        return 0;
    }
    int seat = co_shm_seat_take(engine->shm, seed->id, engine->local_rank_of[ours->first], ours->count);
    seed->seat = seat < 0 ? CO_SHM_NO_SEAT : seat;
    return seat < 0 ? seat : 0;
}

int co_team_seed_open(struct co_team_seed *seed, struct co_engine *engine, uint64_t id, const int *world_ranks,
                      int size, int rank)
{
    int *units = calloc(2 * (size_t)engine->bootstrap.node_count, sizeof(int));
    if (units == NULL) {
        return -ENOMEM;
    }
    int *leaders = units + engine->bootstrap.node_count;
    *seed = (struct co_team_seed){.id = id, .rank = rank, .seat = CO_SHM_NO_SEAT};
    struct co_team_facts *facts = &seed->facts;
    facts->ranks = size;
    facts->has_shm = engine->has_shm;
    facts->has_multicast = engine->has_multicast;
    facts->has_nearer_native = engine->has_nearer_native;
    facts->has_single_copy = engine->has_single_copy;
    facts->is_oversubscribed = engine->is_oversubscribed;
    facts->has_proxies = engine->proxies != NULL && size <= engine->proxies->members_most;
    int self = world_ranks[rank], status = 0;
    struct neighbourhood ours = survey(facts, engine, world_ranks, engine->node_of_rank[self], units, leaders);
    facts->transport = facts->nodes == 1       ? CO_TRANSPORT_SHM
                       : engine->has_multicast ? engine->transport_kind
                                               : CO_TRANSPORT_ANY;
    if (facts->nodes > 1 && facts->has_multicast && ours.first == self) {
        status = open_net(seed, engine, leaders, ours.node);
    }
    free(units);
    if (status == 0) {
        status = take_seat(seed, engine, &ours);
        if (status < 0) {
            close_net(seed, engine);
        }
    }
    return status;
}

void co_team_seed_decline(const struct co_engine *engine, uint64_t id, const int *world_ranks, int size, int rank)
{
    int node = engine->node_of_rank[world_ranks[rank]], first = -1, count = 0;
    for (int i = size - 1; i >= 0; i--) {
        if (engine->node_of_rank[world_ranks[i]] == node) {
            first = engine->local_rank_of[world_ranks[i]];
            count++;
        }
    }
    if (count > 1 && engine->shm != NULL) {
        co_shm_seat_decline(engine->shm, id, first);
    }
}

size_t co_team_seed_bytes(const struct co_team_seed *seed)
{
    return seed->net == NULL ? 0 : co_mcast_seed_bytes(seed->net);
}

void co_team_seed_close(const struct co_team_seed *seed, struct co_engine *engine)
{
    if (seed->seat != CO_SHM_NO_SEAT) {
        co_shm_seat_leave(engine->shm, seed->seat);
    }
    close_net(seed, engine);
}

// Who has neighbours tells them, and the first one of a node the other nodes.
void co_team_seed_break(struct co_team_seed *seed, struct co_engine *engine, int error)
{
    seed->broken = error;
    if (seed->seat != CO_SHM_NO_SEAT) {
        co_shm_seat_break(engine->shm, seed->seat, error);
    }
    if (seed->net != NULL) {
        co_trylock_wait(&engine->lock);
        co_mcast_seed_fail(engine->mcast, seed->net, error);
        co_trylock_drop(&engine->lock);
    }
}
