// SPDX-License-Identifier: BSD-3-Clause
//
// A communicator's engine side: who sits on which node, what the members have in common, and the collectives. The hot
// path is here: a team on one node with nothing outstanding runs its operation on the caller's stack, without lock,
// queue or allocation.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_state.h"

#define INLINE_POLLS 200 // before a waiting call looks beyond its own operation
#define INLINE_YIELDS 32 // likewise, when each turn yields the processor

static void free_team(struct co_team *team)
{
    free(team->rank_node);
    free(team->rank_slot);
    free(team->node_units);
    free(team->node_first);
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
    facts->has_single_copy = engine->has_single_copy;
    facts->is_oversubscribed = engine->is_oversubscribed;
    team->node = team->rank_node[team->rank];
    team->slot = team->rank_slot[team->rank];
    team->node_size = team->node_units[team->node];
    team->is_flat = facts->nodes > 1 && facts->max_ranks_per_node == 1;
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

// Ranks of our node, in team order, as positions on the node of the job.
static int open_shm(struct co_team *team, const int *world_ranks)
{
    const struct co_engine *engine = team->engine;
    if (team->node_size < 2 || engine->shm == NULL) {
        return 0;
    }
    int *members = calloc((size_t)team->node_size, sizeof(int));
    if (members == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < team->size; rank++) {
        if (team->rank_node[rank] != team->node) {
            continue;
        }
        int on_node = 0;
        for (int other = 0; other < world_ranks[rank]; other++) {
            on_node += engine->node_of_rank[other] == engine->node_of_rank[world_ranks[rank]];
        }
        members[team->rank_slot[rank]] = on_node;
    }
    int status = co_shm_team_open(&team->shm, engine->shm, team->id, members, team->node_size, team->slot);
    free(members);
    return status;
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
    *out = team;
    return 0;
}

void co_team_close(struct co_team *team)
{
    struct co_engine *engine = team->engine;
    struct co_wait wait;
    co_wait_begin(engine, &wait, "MPI_Comm_free");
    // A request that the program has yet to complete may still be under way; it needs the team until it ends.
    while (co_load_acquire(&team->outstanding) > 0 && co_load_relaxed(&team->broken) == 0) { // acquire K2
        co_engine_wait_turn(engine, &wait);
    }
    co_wait_end(engine);
    co_trylock_wait(&engine->lock);
    if (team->group != NULL) {
        co_mcast_group_close(team->group);
    }
    co_trylock_drop(&engine->lock);
    if (team->shm != NULL) {
        co_shm_team_close(team->shm);
    }
    free_team(team);
}

const struct co_team_facts *co_team_facts(const struct co_team *team)
{
    return &team->facts;
}

enum co_reason co_team_decide(const struct co_team *team, enum co_call call, size_t bytes)
{
    return co_decide(&team->engine->tune, &team->facts, call, bytes, team->engine->policy[call]);
}

// Nothing outstanding on a team of one node: nobody else touches its shared memory, so no lock is needed.
static bool can_run_inline(struct co_team *team)
{
    return team->facts.nodes == 1 && co_load_acquire(&team->outstanding) == 0; // acquire K2
}

// The first part of a wait looks at nothing but the operation. With more ranks than cores the one we wait for needs
// our processor: every turn gives it up.
static int poll_inline(const struct co_team *team, struct co_shm_op *op)
{
    int polls = team->facts.is_oversubscribed ? INLINE_YIELDS : INLINE_POLLS;
    for (int turn = 0; turn < polls; turn++) {
        int state = co_shm_op_progress(op);
        if (state != 0) {
            return state;
        }
        if (team->facts.is_oversubscribed) {
            sched_yield();
        } else {
            co_cpu_relax();
        }
    }
    return 0;
}

static int run_inline(struct co_team *team, struct co_shm_op *op, const char *call)
{
    int state = poll_inline(team, op);
    if (state != 0) {
        return state < 0 ? state : 0;
    }
    struct co_wait wait;
    co_wait_begin(team->engine, &wait, call);
    wait.inline_op = op;
    while ((state = co_shm_op_progress(op)) == 0) {
        co_engine_wait_turn(team->engine, &wait);
        if (wait.peer_is_gone) {
            state = -ECONNRESET;
            break;
        }
    }
    co_wait_end(team->engine);
    if (state < 0) {
        co_store_relaxed(&team->broken, state); // relaxed: the next call on this team comes from a thread that knows
    }
    return state < 0 ? state : 0;
}

static int run_blocking(struct co_task *task, const char *call)
{
    struct co_engine *engine = task->team->engine;
    struct co_wait wait;
    co_task_submit(task);
    co_wait_begin(engine, &wait, call);
    while (!co_task_is_done(task)) {
        co_engine_wait_turn(engine, &wait);
    }
    co_wait_end(engine);
    return task->result;
}

int co_team_bcast(struct co_team *team, int root, void *buffer, size_t bytes)
{
    int broken = co_load_relaxed(&team->broken); // relaxed: a hint, the task looks again
    if (broken != 0) {
        return broken;
    }
    if (can_run_inline(team)) {
        struct co_shm_op op;
        co_shm_bcast_start(&op, team->shm, root, buffer, bytes);
        return run_inline(team, &op, "MPI_Bcast");
    }
    struct co_task task = {.team = team, .call = CO_CALL_BCAST, .root = root, .buffer = buffer, .bytes = bytes};
    return run_blocking(&task, "MPI_Bcast");
}

int co_team_allgather(struct co_team *team, const void *mine, void *all, size_t block_bytes)
{
    int broken = co_load_relaxed(&team->broken); // relaxed: a hint, the task looks again
    if (broken != 0) {
        return broken;
    }
    if (can_run_inline(team)) {
        struct co_shm_op op;
        co_shm_allgather_start(&op, team->shm, mine, all, block_bytes);
        return run_inline(team, &op, "MPI_Allgather");
    }
    struct co_task task = {.team = team, .call = CO_CALL_ALLGATHER, .buffer = all, .mine = mine, .bytes = block_bytes};
    return run_blocking(&task, "MPI_Allgather");
}

int co_team_iallgather(struct co_task **out, struct co_team *team, const void *mine, void *all, size_t block_bytes)
{
    struct co_task *task = calloc(1, sizeof(*task));
    if (task == NULL) {
        return -ENOMEM;
    }
    task->team = team;
    task->call = CO_CALL_IALLGATHER;
    task->buffer = all;
    task->mine = mine;
    task->bytes = block_bytes;
    task->is_background = true;
    *out = task;
    co_task_submit(task);
    return 0;
}
