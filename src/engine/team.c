// SPDX-License-Identifier: BSD-3-Clause
//
// A communicator's engine side: who sits on which node, and what the members have in common. Warm: programs make and
// free thousands of communicators.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "engine/engine_state.h"

static void free_team(struct co_team *team)
{
    free(team->rank_node);
    free(team->rank_slot);
    free(team->node_units);
    free(team->node_first);
    free(team->neighbours);
    free(team);
}

// Numbers the nodes by the first member that sits on each, and the members on each node by rank.
static void place_ranks(struct co_team *team, const int *world_ranks, int *nodes_seen)
{
    const struct co_engine *engine = team->engine;
    int nodes = 0;
    for (int rank = 0; rank < team->size; rank++) {
        int job_node = engine->node_of_rank[world_ranks[rank]];
        if (nodes_seen[job_node] < 0) {
            nodes_seen[job_node] = nodes++;
        }
        int node = nodes_seen[job_node];
        team->rank_node[rank] = node;
        team->rank_slot[rank] = team->node_units[node]++;
    }
    team->facts.nodes = nodes;
    for (int node = 1; node < nodes; node++) {
        team->node_first[node] = team->node_first[node - 1] + team->node_units[node - 1];
    }
}

static void derive_facts(struct co_team *team)
{
    const struct co_engine *engine = team->engine;
    struct co_team_facts *facts = &team->facts;
    facts->ranks = team->size;
    for (int node = 0; node < facts->nodes; node++) {
        if (team->node_units[node] > facts->max_ranks_per_node) {
            facts->max_ranks_per_node = team->node_units[node];
        }
    }
    facts->has_shm = engine->has_shm;
    facts->has_multicast = engine->has_multicast;
    facts->carrier = facts->nodes == 1 ? CO_CARRIER_SHM : engine->has_multicast ? engine->carrier : CO_CARRIER_ANY;
    facts->has_single_copy = engine->has_single_copy;
    facts->is_oversubscribed = engine->is_oversubscribed;
    team->node = team->rank_node[team->rank];
    team->slot = team->rank_slot[team->rank];
    team->node_size = team->node_units[team->node];
    team->is_flat = facts->nodes > 1 && facts->max_ranks_per_node == 1;
    team->runs_inline = facts->nodes == 1 && team->size > 1 && engine->shm != NULL;
    team->is_node_ordered = true;
    for (int rank = 0; rank < team->size; rank++) {
        team->is_node_ordered =
            team->is_node_ordered && team->node_first[team->rank_node[rank]] + team->rank_slot[rank] == rank;
    }
}

static int allocate(struct co_team *team)
{
    size_t size = (size_t)team->size;
    team->rank_node = calloc(size, sizeof(int));
    team->rank_slot = calloc(size, sizeof(int));
    team->node_units = calloc(size, sizeof(int));
    team->node_first = calloc(size, sizeof(int));
    bool failed =
        team->rank_node == NULL || team->rank_slot == NULL || team->node_units == NULL || team->node_first == NULL;
    return failed ? -ENOMEM : 0;
}

static int open_shm(struct co_team *team, const int *world_ranks)
{
    const struct co_engine *engine = team->engine;
    team->neighbours = calloc((size_t)team->node_size, sizeof(int));
    if (team->neighbours == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < team->size; rank++) {
        if (team->rank_node[rank] == team->node) {
            team->neighbours[team->rank_slot[rank]] = engine->place_of_rank[world_ranks[rank]];
        }
    }
    if (team->node_size < 2 || engine->shm == NULL) {
        return 0;
    }
    return co_shm_team_open(&team->shm, engine->shm, team->id, team->neighbours, team->node_size, team->slot);
}

static int open_group(struct co_team *team, const int *world_ranks)
{
    struct co_engine *engine = team->engine;
    if (team->facts.nodes < 2 || team->slot != 0 || !engine->has_multicast) {
        return 0;
    }
    int *leaders = calloc((size_t)team->facts.nodes, sizeof(int));
    if (leaders == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < team->size; rank++) {
        if (team->rank_slot[rank] == 0) {
            leaders[team->rank_node[rank]] = world_ranks[rank];
        }
    }
    co_trylock_wait(&engine->lock);
    int status = co_mcast_group_open(&team->group, engine->mcast, team->id, leaders, team->node_units,
                                     team->facts.nodes, team->node);
    co_trylock_drop(&engine->lock);
    free(leaders);
    return status;
}

// Memory of this rank; what the members of a node share is counted where it is touched.
static size_t storage_bytes(const struct co_team *team)
{
    size_t bytes = sizeof(*team) + (4 * (size_t)team->size + (size_t)team->node_size) * sizeof(int);
    bytes += team->shm != NULL ? co_shm_team_bytes(team->shm) : 0;
    return bytes + (team->group != NULL ? co_mcast_group_bytes(team->group) : 0);
}

int co_team_open(struct co_team **out, struct co_engine *engine, uint64_t id, const int *world_ranks, int size,
                 int rank)
{
    struct co_team *team = calloc(1, sizeof(*team));
    int *nodes_seen = malloc((size_t)engine->bootstrap.node_count * sizeof(int));
    if (team == NULL || nodes_seen == NULL) {
        free(team);
        free(nodes_seen);
        return -ENOMEM;
    }
    memset(nodes_seen, 0xff, (size_t)engine->bootstrap.node_count * sizeof(int));
    team->engine = engine;
    team->id = id;
    team->size = size;
    team->rank = rank;
    team->newest = &team->oldest;
    int status = allocate(team);
    if (status == 0) {
        place_ranks(team, world_ranks, nodes_seen);
        derive_facts(team);
        status = open_shm(team, world_ranks);
    }
    if (status == 0) {
        status = open_group(team, world_ranks);
        if (status < 0 && team->shm != NULL) {
            co_shm_team_close(team->shm);
        }
    }
    free(nodes_seen);
    if (status < 0) {
        free_team(team);
        return status;
    }
    co_counter_raise(CO_COUNT_COMMUNICATOR_HIGH, storage_bytes(team));
    *out = team;
    return 0;
}

void co_team_reap(struct co_team *team)
{
    if (team->group != NULL) {
        co_mcast_group_close(team->group);
    }
    if (team->shm != NULL) {
        co_shm_team_close(team->shm);
    }
    free_team(team);
}

void co_team_close(struct co_team *team)
{
    struct co_engine *engine = team->engine;
    co_trylock_wait(&engine->lock);
    team->is_closing = true;
    if (co_load_acquire(&team->outstanding) == 0) { // acquire K2
        co_team_reap(team);
    }
    co_trylock_drop(&engine->lock);
}

const struct co_team_facts *co_team_facts(const struct co_team *team)
{
    return &team->facts;
}

enum co_reason co_team_decide(const struct co_team *team, enum co_call call, size_t bytes)
{
    return co_decide(&team->engine->tune, &team->facts, call, bytes, team->engine->policy[call]);
}
