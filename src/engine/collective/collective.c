// SPDX-License-Identifier: BSD-3-Clause
//
// What a collective consists of on this rank: a plan of at most four steps, each one operation of shared memory or of
// the network. Nodes are levels: ranks of a node share memory, the first rank of the team on each node (its leader)
// speaks for it on the network. Runs under the engine's lock.
#include "engine/collective/collective.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "engine/collective/unequal_blocks.h"
#include "engine/collective/task.h"
#include "engine/collective/team.h"
#include "engine/engine_state.h"
#include "engine/progress/team_failure.h"
#include "mcast/mcast.h"
#include "shm/shm.h"

static int add_step(struct co_task *task, enum co_step step, int shm_root)
{
    task->shm_root[task->steps] = shm_root;
    task->plan[task->steps++] = step;
    return 0;
}

static void plan_bcast(struct co_task *task)
{
    const struct co_team *team = task->team;
    bool is_leader = team->slot == 0;
    int root_node = team->rank_node[task->request.root];
    if (team->node == root_node) {
        if (team->node_size > 1) {
            add_step(task, CO_STEP_SHM_BCAST, team->rank_slot[task->request.root]);
        }
        if (is_leader && team->facts.nodes > 1) {
            add_step(task, CO_STEP_NET_BCAST, 0);
        }
        return;
    }
    if (is_leader) {
        add_step(task, CO_STEP_NET_BCAST, 0);
    }
    if (team->node_size > 1) {
        add_step(task, CO_STEP_SHM_BCAST, 0); // from the leader
    }
}

static size_t own_place(const struct co_task *task)
{
    const struct co_team *team = task->team;
    return ((size_t)team->node_first[team->node] + (size_t)team->slot) * task->request.bytes;
}

static int plan_allgather(struct co_task *task)
{
    struct co_team *team = task->team;
    if (team->facts.nodes == 1) {
        if (team->size > 1) {
            add_step(task, CO_STEP_SHM_ALLGATHER, 0);
        } else if (task->mine != task->buffer) {
            co_memory_copy(task->buffer, task->mine, task->request.bytes);
        }
        return 0;
    }
    if (team->slot == 0) {
        task->gathered = task->buffer;
        if (!team->is_node_ordered) {
            task->gathered = malloc(co_task_total_bytes(task));
            if (task->gathered == NULL) {
                return -ENOMEM;
            }
        }
    }
    if (team->node_size > 1) {
        add_step(task, CO_STEP_SHM_GATHER, 0);
    }
    if (team->slot == 0) {
        add_step(task, CO_STEP_NET_ALLGATHER, 0);
    }
    if (team->node_size > 1) {
        add_step(task, CO_STEP_SHM_BCAST, 0);
    }
    return 0;
}

static int next_block(const struct co_task *task)
{
    int block = task->block + 1;
    while (block < task->team->size && task->blocks[block].bytes == 0) {
        block++;
    }
    return block;
}

static void drop_gathered(struct co_task *task)
{
    if (task->gathered != task->buffer) {
        free(task->gathered);
    }
    task->gathered = NULL;
}

// The words are here.
static bool members_agree(struct co_task *task)
{
    uint64_t own = task->words[task->team->rank];
    bool agree = own == co_unequal_blocks_word(task->blocks, task->team->size);
    for (int rank = 0; rank < task->team->size; rank++) {
        agree = agree && task->words[rank] == own;
    }
    drop_gathered(task);
    task->stride = 0;
    task->is_row = true;
    task->block = -1;
    return agree;
}

int co_collective_plan_next(struct co_task *task)
{
    if (task->words != NULL && !task->is_row && !members_agree(task)) {
        return -EMSGSIZE;
    }
    int block = task->is_row ? next_block(task) : task->team->size;
    if (block == task->team->size) {
        return 0;
    }
    task->was_cut = task->was_cut || task->whole != NULL;
    free(task->whole);
    task->whole = NULL;
    task->block = block;
    task->request.root = block;
    task->request.bytes = task->blocks[block].bytes;
    task->buffer = task->blocks[block].buffer;
    task->steps = task->at = 0;
    plan_bcast(task);
    return 0;
}

// Which broadcasts there are depends on all lengths, and leaders number them: where members have different ones each
// would wait for another one. So they first exchange a word, by an allgather: two operations in memory.
static int plan_words(struct co_task *task)
{
    const struct co_team *team = task->team;
    task->words = calloc((size_t)team->size, sizeof *task->words);
    if (task->words == NULL) {
        return -ENOMEM;
    }
    task->words[team->rank] = co_unequal_blocks_word(task->blocks, team->size);
    task->buffer = (unsigned char *)task->words;
    task->mine = (unsigned char *)&task->words[team->rank];
    task->stride = task->request.bytes = sizeof *task->words;
    return plan_allgather(task);
}

// As equal blocks.
static int plan_padded(struct co_task *task, size_t largest)
{
    const struct co_team *team = task->team;
    task->packed = malloc(largest * (size_t)team->size);
    if (task->packed == NULL) {
        return -ENOMEM;
    }
    co_unequal_blocks_pack_own(task->packed, largest, task->blocks, team->rank);
    task->stride = task->request.bytes = largest;
    task->buffer = task->packed;
    task->mine = task->packed + (size_t)team->rank * largest;
    return plan_allgather(task);
}

// What one member collects stands one behind the other on its way.
static int plan_all_at_once(struct co_task *task, size_t total)
{
    const struct co_team *team = task->team;
    task->buffer = co_unequal_blocks_first(task->blocks, team->size);
    if (co_mcast_group_collects(team->group, total) && !co_unequal_blocks_are_in_a_row(task->blocks, team->size)) {
        task->packed = task->buffer = malloc(total);
        if (task->packed == NULL) {
            return -ENOMEM;
        }
        co_unequal_blocks_pack_own(task->packed, 0, task->blocks, team->rank);
    }
    return add_step(task, CO_STEP_NET_ALLGATHERV, 0);
}

static int plan_unequal_blocks(struct co_task *task)
{
    const struct co_team *team = task->team;
    struct co_unequal_blocks_shape shape = co_unequal_blocks_measure(task->blocks, team->size);
    if (team->is_flat) {
        return plan_all_at_once(task, shape.total);
    }
    if (team->facts.nodes == 1 && shape.senders > 1) {
        return add_step(task, CO_STEP_SHM_ALLGATHERV, 0);
    }
    if (co_unequal_blocks_are_padded(team, &shape)) {
        return plan_padded(task, shape.largest);
    }
    if (shape.senders > 1) {
        return plan_words(task);
    }
    task->is_row = true;
    task->block = -1;
    return co_collective_plan_next(task);
}

// The caller is in this process.
static unsigned char *in_our_memory(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

int co_collective_plan(struct co_task *task)
{
    const struct co_task_request *request = &task->request;
    if (request->bytes == 0) {
        return 0;
    }
    task->buffer = in_our_memory(request->buffer);
    if (co_call_has_root((enum co_call)request->call)) {
        plan_bcast(task);
        return 0;
    }
    task->is_numbered = task->team->node_size > 1;
    task->number_before = task->is_numbered ? co_shm_team_call_begins(task->team->shm) : 0;
    if (task->blocks != NULL) {
        return plan_unequal_blocks(task);
    }
    task->mine = request->mine != 0 ? in_our_memory(request->mine)
                                    : task->buffer + (size_t)task->team->rank * (size_t)request->bytes;
    return plan_allgather(task);
}

static int begin_net_allgather(struct co_task *task, uint64_t now_ns)
{
    if (task->team->node_size == 1) {
        unsigned char *place = task->gathered + own_place(task);
        if (place != task->mine) {
            co_memory_copy(place, task->mine, task->request.bytes);
        }
    }
    return co_mcast_allgather_start(&task->net, task->team->group, task->gathered, task->request.bytes, now_ns);
}

// Ranks of a flat team are its nodes in their order.
static int begin_net_allgatherv(struct co_task *task, uint64_t now_ns)
{
    int size = task->team->size;
    struct co_mcast_place *places = malloc((size_t)size * sizeof *places);
    if (places == NULL) {
        return -ENOMEM;
    }
    co_unequal_blocks_place(places, task->blocks, size, task->packed != NULL ? NULL : task->buffer);
    int status = co_mcast_allgatherv_start(&task->net, task->team->group, task->buffer, places, now_ns);
    free(places);
    return status;
}

static void begin_gather(struct co_task *task)
{
    unsigned char *node_part = NULL;
    const unsigned char *mine = task->mine;
    if (task->team->slot == 0) {
        node_part = task->gathered + own_place(task);
        mine = mine == node_part ? NULL : mine;
    }
    co_shm_gather_start(&task->shm, task->team->shm, 0, mine, node_part, task->request.bytes);
}

int co_collective_begin(struct co_task *task, uint64_t now_ns)
{
    struct co_team *team = task->team;
    switch (task->plan[task->at]) {
    case CO_STEP_SHM_BCAST:
        co_shm_bcast_start(&task->shm, team->shm, task->shm_root[task->at], task->buffer, co_task_total_bytes(task));
        task->shm.bcast = task->request.call == CO_CALL_BCAST ? task->bcast : 0;
        return 0;
    case CO_STEP_NET_BCAST:
        return co_mcast_bcast_start(&task->net, team->group, team->rank_node[task->request.root], task->buffer,
                                    task->request.bytes, now_ns);
    case CO_STEP_SHM_ALLGATHER: {
        bool in_place = task->mine == task->buffer + (size_t)team->rank * task->request.bytes;
        co_shm_allgather_start(&task->shm, team->shm, in_place ? NULL : task->mine, task->buffer, task->request.bytes);
        return 0;
    }
    case CO_STEP_SHM_ALLGATHERV:
        co_shm_allgatherv_start(&task->shm, team->shm, task->blocks);
        return 0;
    case CO_STEP_SHM_GATHER:
        begin_gather(task);
        return 0;
    case CO_STEP_NET_ALLGATHERV:
        return begin_net_allgatherv(task, now_ns);
    default:
        return begin_net_allgather(task, now_ns);
    }
}

// From node order to rank order, on a leader whose team's ranks do not stand node by node.
static void restore_rank_order(struct co_task *task)
{
    const struct co_team *team = task->team;
    for (int rank = 0; rank < team->size; rank++) {
        size_t from = (size_t)team->node_first[team->rank_node[rank]] + (size_t)team->rank_slot[rank];
        co_memory_copy(task->buffer + (size_t)rank * task->request.bytes, task->gathered + from * task->request.bytes,
                       task->request.bytes);
    }
}

// A bcast goes on with the length that its root gave. `whole`: all of its bytes, where the caller has no room for them;
// ours from now on. NULL: what has come is in the buffer.
static void take_length(struct co_task *task, size_t bytes, void *whole)
{
    if (whole != NULL) {
        task->whole = task->buffer = whole;
    }
    task->request.bytes = bytes;
}

// Of an allgather in which one alone has bytes, and more of them than we have room for: those that fit.
static void keep_what_fits(struct co_task *task)
{
    size_t bytes;
    void *whole = co_mcast_op_take_whole(task->net, &bytes);
    if (whole != NULL) {
        co_memory_copy(task->buffer, whole, task->request.bytes);
        free(whole);
        task->was_cut = true;
    }
}

static int poll_net(struct co_task *task)
{
    int state = co_mcast_op_state(task->net);
    if (state == 0) {
        // relaxed: written under the same lock
        int broken = co_load_relaxed(&task->team->engine->network_error);
        return co_mcast_op_is_being_read(task->net) ? 0 : broken;
    }
    if (state > 0 && task->plan[task->at] == CO_STEP_NET_BCAST) {
        size_t bytes;
        void *whole = co_mcast_op_take_whole(task->net, &bytes);
        if (whole != NULL) {
            co_memory_copy(task->buffer, whole, task->request.bytes);
        }
        take_length(task, bytes, whole);
    } else if (state > 0 && task->plan[task->at] == CO_STEP_NET_ALLGATHERV) {
        keep_what_fits(task);
    }
    co_mcast_op_release(task->net);
    task->net = NULL;
    if (state > 0 && task->plan[task->at] == CO_STEP_NET_ALLGATHER && task->gathered != task->buffer) {
        restore_rank_order(task);
    }
    return state;
}

static int poll_shm(struct co_task *task, bool *has_moved)
{
    uint64_t before = co_shm_op_moved(&task->shm);
    int state = co_shm_op_progress(&task->shm);
    state = state == 0 ? co_shm_op_look_at_lengths(&task->shm) : state;
    *has_moved = *has_moved || co_shm_op_moved(&task->shm) != before;
    if (state > 0 && (task->is_row || co_call_has_root((enum co_call)task->request.call))) {
        take_length(task, task->shm.bytes, task->shm.whole);
        task->shm.whole = NULL;
    } else if (state == CO_SHM_TRUNCATED) {
        return -EMSGSIZE;
    }
    return state > 0 || co_team_failure(task->team) == 0 ? state : co_team_failure(task->team); // the cause first
}

// 0: the step is under way, 1: done, negative: failed.
int co_collective_poll(struct co_task *task, bool *has_moved)
{
    return co_step_is_in_memory(task->plan[task->at]) ? poll_shm(task, has_moved) : poll_net(task);
}

void co_collective_finish(struct co_task *task, bool is_well)
{
    const struct co_team *team = task->team;
    if (task->is_numbered) {
        int most = team->size + (team->facts.nodes > 1 ? 2 : 0); // the words of plan_words beside all blocks
        co_shm_team_call_ends(team->shm, task->number_before, most);
    }
    if (task->packed != NULL && is_well) {
        co_unequal_blocks_unpack_others(task->packed, task->stride, task->blocks, team->size, team->rank);
    }
    drop_gathered(task);
    free(task->words);
    free(task->shm.whole);
    free(task->whole);
    free(task->packed);
    task->shm.whole = NULL;
    task->whole = task->packed = NULL;
    task->words = NULL;
}
