// SPDX-License-Identifier: BSD-3-Clause
//
// A communicator's engine side once a collective of it is taken: who sits on which node, and what carries the bytes.
// Before that there is only its seed (team_seed.c). Warm: programs make and free thousands of communicators.
#include "engine/collective/team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "engine/decide/trials.h"
#include "engine/engine_state.h"
#include "mcast/mcast.h"
#include "shm/shm.h"

static void free_team(struct co_team *team)
{
    co_team_trials_close(&team->trials);
    free(team->rank_node);
    free(team->rank_slot);
    free(team->node_units);
    free(team->node_first);
    free(team->neighbours);
    free(team);
}

// Numbers the nodes by the first member that sits on each, and the members on each node by rank.
static void number_ranks(struct co_team *team, const int *world_ranks, int *nodes_seen)
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
    for (int node = 1; node < nodes; node++) {
        team->node_first[node] = team->node_first[node - 1] + team->node_units[node - 1];
    }
}

static void derive_local_rank(struct co_team *team)
{
    const struct co_engine *engine = team->engine;
    const struct co_team_facts *facts = &team->facts;
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

static int open_shm(struct co_team *team, const int *world_ranks, int seat)
{
    const struct co_engine *engine = team->engine;
    team->neighbours = calloc((size_t)team->node_size, sizeof(int));
    if (team->neighbours == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < team->size; rank++) {
        if (team->rank_node[rank] == team->node) {
            team->neighbours[team->rank_slot[rank]] = engine->local_rank_of[world_ranks[rank]];
        }
    }
    return seat == CO_SHM_NO_SEAT
               ? 0
               : co_shm_team_open(&team->shm, engine->shm, seat, team->neighbours, team->node_size, team->slot);
}

// Another node's datagram may have opened it already.
static int open_group(struct co_team *team, struct co_mcast_seed *net)
{
    if (net == NULL) {
        return 0;
    }
    struct co_engine *engine = team->engine;
    co_trylock_wait(&engine->lock);
    int status = co_mcast_group_open(&team->group, engine->mcast, net, team->node_units);
    co_trylock_drop(&engine->lock);
    return status;
}

// Memory of this rank; what the members of a node share is counted where it is touched.
static size_t team_bytes(const struct co_team *team)
{
    size_t bytes = sizeof(*team) + (4 * (size_t)team->size + (size_t)team->node_size) * sizeof(int);
    bytes += team->shm != NULL ? co_shm_team_bytes(team->shm) : 0;
    return bytes + (team->group != NULL ? co_mcast_group_bytes(team->group) : 0);
}

int co_team_open(struct co_team **out, struct co_engine *engine, const struct co_team_seed *seed,
                 const int *world_ranks)
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
    team->id = seed->id;
    team->facts = seed->facts;
    team->size = seed->facts.ranks;
    team->rank = seed->rank;
    team->newest = &team->oldest;
    team->bcasts = (struct co_bcasts){.called = seed->skipped, .skipped = seed->skipped};
    int status = allocate(team);
    if (status == 0) {
        number_ranks(team, world_ranks, nodes_seen);
        derive_local_rank(team);
        status = open_group(team, seed->net);
    }
    if (status == 0) {
        status = open_shm(team, world_ranks, seed->seat);
    }
    free(nodes_seen);
    if (status < 0) {
        free_team(team);
        return status;
    }
    co_counter_raise(CO_COUNT_COMMUNICATOR_HIGH, team_bytes(team));
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
