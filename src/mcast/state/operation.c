// SPDX-License-Identifier: BSD-3-Clause
//
// An operation as its parts see it: which blocks it has, whose they are, and whether its bytes may be read. Nothing is
// concluded here (operation_progress.c). Hot.
#include "mcast/state/operation.h"

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/send/allgather_schedule.h"

struct co_mcast_op *co_operation_find(struct co_mcast_group *group, uint32_t number)
{
    if (group->newest == NULL || co_serial_before(group->newest->number, number)) {
        return NULL;
    }
    struct co_mcast_op *op = co_operations_unfinished(group);
    op = op == NULL || co_serial_before(number, op->number) ? group->oldest : op;
    while (op != NULL && op->number != number) {
        op = op->next;
    }
    return op;
}

struct co_receive_block *co_operation_block(struct co_mcast_op *op, int source)
{
    if (op->root >= 0) {
        return source == op->root ? &op->blocks[0] : NULL;
    }
    return source < op->block_count ? &op->blocks[source] : NULL;
}

static bool had_nothing_of(const struct co_mcast_group *group, uint32_t number, int source)
{
    int root = group->recent_roots[number % CO_RECENT_OPERATIONS];
    bool is_known = group->next_operation - number - 1 < CO_RECENT_OPERATIONS;
    return is_known && root >= 0 && root != source;
}

bool co_operation_has_nothing_of(struct co_mcast_group *group, uint32_t number, int source)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    const struct co_receive_block *block = op == NULL ? NULL : co_operation_block(op, source);
    if (op == NULL) {
        return had_nothing_of(group, number, source);
    }
    return block == NULL || block->chunks == 0;
}

int co_operation_source(const struct co_mcast_op *op, int block)
{
    return op->root >= 0 ? op->root : block;
}

int co_operation_speaker(const struct co_mcast_op *op)
{
    return !op->is_either_way ? -1 : op->root >= 0 ? op->root : co_group_way_judge(op->group);
}

uint8_t co_operation_way_said(const struct co_mcast_op *op, int source)
{
    return source == co_operation_speaker(op) ? op->way_said : CO_WAY_UNSAID;
}

void co_operation_hear_way(struct co_mcast_op *op, int source, uint8_t way)
{
    if (op->awaits_way && source == co_operation_speaker(op)) {
        op->awaits_way = false;
        op->way_said = way;
        co_agreed_ways_hear(&op->group->ways, op->number, (enum co_way)way);
    }
}

static int chains_of(const struct co_mcast_op *op)
{
    return co_chain_count(op->group->count, op->group->mcast->config.chains);
}

int co_operation_senders(const struct co_mcast_op *op)
{
    int chains = op->root >= 0 ? 1 : chains_of(op);
    return op->senders < chains ? op->senders : chains;
}

static uint32_t shown_of(const struct co_receive_block *block)
{
    bool has_ended = block->next_psn == block->chunks || co_receive_block_is_complete(block);
    return has_ended ? UINT32_MAX : block->next_psn > block->count ? block->next_psn : block->count;
}

void co_operation_show(struct co_mcast_op *op, struct co_receive_block *block)
{
    uint32_t before = block->shown;
    if (op->turns.senders > 0) {
        block->shown = shown_of(block);
        co_send_turns_show(&op->turns, before, block->shown);
    }
}

void co_operation_all_sent(struct co_mcast_op *op, struct co_receive_block *block)
{
    co_receive_block_all_sent(block, op->group->mcast->now_ns);
    co_operation_show(op, block);
    op->group->is_quiet = false;
}

int co_operation_predecessor(const struct co_mcast_op *op)
{
    int member = op->group->self;
    do {
        member = co_chain_predecessor(member, op->group->count, chains_of(op));
    } while (member >= 0 && op->blocks[member].chunks == 0);
    return member;
}

int co_operation_successor(const struct co_mcast_op *op)
{
    return op->root >= 0 ? -1 : co_chain_successor(op->group->self, op->group->count, chains_of(op));
}

bool co_operation_has_bytes(const struct co_mcast_op *op)
{
    return op->state >= 0 && (!op->is_released || op->is_kept);
}

bool co_operation_is_for_sender(const struct co_mcast_op *op)
{
    const struct co_mcast *mcast = op->group->mcast;
    return mcast->sender_batch.auth != NULL && !co_load_relaxed(&mcast->sender_rests) && // relaxed: a hint
           op->send_chunks * mcast->config.chunk_bytes >= CO_MCAST_SENDER_BYTES;
}

struct co_mcast_op *co_operation_for_sender(struct co_mcast_group *group)
{
    struct co_mcast_op *op = co_operations_unfinished(group);
    while (op != NULL && !co_operation_has_to_send(op)) {
        op = op->next;
    }
    return op != NULL && op->may_send && co_operation_is_for_sender(op) ? op : NULL;
}

void co_operation_count_bitmap(struct co_mcast_op *op, size_t bytes)
{
    struct co_mcast *mcast = op->group->mcast;
    op->bitmap_bytes += bytes;
    mcast->bitmap_bytes += bytes;
    co_counter_raise(CO_COUNT_BITMAP_HIGH, mcast->bitmap_bytes);
}

int co_mcast_op_state(const struct co_mcast_op *op)
{
    return op->state;
}

void co_mcast_op_release(struct co_mcast_op *op)
{
    op->is_released = true;
    op->group->mcast->timer_ns = 0;
}
