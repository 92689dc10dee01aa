// SPDX-License-Identifier: BSD-3-Clause
//
// Life of an operation: done for the user when all blocks are here, the own one is sent, and either the neighbour who
// would ask us for repairs has everything (S1, section 3.4, the final handshake) or a copy of the bytes is kept for
// him; freed when he has it and the user has let go. Hot for small operations.
#include "mcast/operation_progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "base/log.h"
#include "mcast/ack/ack.h"
#include "mcast/collect.h"
#include "mcast/send/send_room.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/operation_memory.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/rdma_repair_offer.h"
#include "mcast/repair/rdma_repair_read.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/block_end.h"
#include "mcast/send/control_send.h"

static void activate_successor(struct co_mcast_op *op)
{
    int successor = co_operation_successor(op);
    if (successor >= 0) {
        co_control_send_once(op->group, successor, CO_CONTROL_TOKEN, op->number, 0, NULL, 0);
    }
}

// The activation signal may be lost; the predecessor's complete block says the same.
static void activate_self(struct co_mcast_op *op, int source)
{
    if (op->root < 0 && co_operation_predecessor(op) == source) {
        op->may_send = true;
    }
}

void co_operation_block_arrived(struct co_mcast_op *op, int source)
{
    op->blocks_missing--;
    co_nack_block_arrived(op, source);
    activate_self(op, source);
    if (op->blocks_missing == 0) {
        co_ack_operation_done(op);
    }
}

// The own block stands in the buffer, whole.
void co_operation_own_block_is_here(struct co_mcast_op *op)
{
    struct co_receive_block *block = co_operation_block(op, op->group->self);
    memset(block->arrived, 0xff, co_chunk_bitmap_words(block->chunks) * sizeof(uint64_t));
    block->count = block->chunks;
    block->next_psn = block->chunks;
    op->send_chunks = op->group->count > 1 ? block->chunks : 0;
    op->blocks_missing--;
    if (op->blocks_missing == 0) {
        co_ack_operation_done(op);
    }
}

static void trace_end(const struct co_mcast_op *op)
{
    co_log(CO_LOG_TRACE, CO_SUBSYS_MCAST, "team %08x operation %u ends: %s", (unsigned)op->group->team_id, op->number,
           op->state > 0 ? "done" : strerror(-op->state));
}

// Chunks that nobody will place or send any more are written off, or the credit of those who sent or await them would
// be short for ever: others may complete the operation, and the group goes on.
static void write_off(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    for (int i = 0; i < op->block_count; i++) {
        group->received[co_operation_source(op, i)] += op->blocks[i].chunks - op->blocks[i].count;
        co_ack_changed(group, co_operation_source(op, i));
    }
    group->window.sent += op->send_chunks - op->next_psn;
    op->next_psn = op->send_chunks;
}

void co_operation_fail(struct co_mcast_op *op, int error)
{
    if (op->is_sending || !co_operation_memory_close(op)) {
        op->failure = op->failure == 0 ? error : op->failure; // the buffer is being read
        op->may_send = false;
        op->group->has_failing = true;
    } else if (op->state == 0) {
        op->state = error;
        trace_end(op);
        write_off(op);
        co_operation_hear_way(op, co_operation_speaker(op), CO_WAY_UNSAID); // nobody waits for that
        op->group->mcast->events++;
        op->group->mcast->advances++;
    }
}

void co_operation_is_skipped(struct co_mcast_group *group, int from, uint32_t number)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    bool is_its = op != NULL && op->root == from && op->parts == NULL;
    if (is_its && op->state == 0 && op->blocks[0].count == 0 && co_operation_memory_close(op)) {
        op->state = -ECANCELED;
        op->blocks_missing = 0;
        trace_end(op);
        group->has_unequal_calls = true;
        group->answered = group->requests; // which went to several members
        group->mcast->events++;
        group->mcast->advances++;
    }
}

void co_operations_fail_again(struct co_mcast_group *group)
{
    group->has_failing = false;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->failure != 0) {
            co_operation_fail(op, op->failure);
        }
    }
}

// One behind the other, where they stay as long as they are kept.
static void copy_blocks(struct co_mcast_op *op, uint8_t *copy)
{
    size_t at = 0;
    for (int i = 0; i < op->block_count; i++) {
        struct co_receive_block *block = &op->blocks[i];
        co_memory_copy(copy + at, op->buffer + block->offset, block->bytes);
        block->offset = at;
        at += block->bytes;
    }
}

// Keeps the bytes for the neighbour, so that the user gets the buffer back now.
static bool keep_copy(struct co_mcast_op *op)
{
    struct co_mcast *mcast = op->group->mcast;
    uint8_t *copy = op->bytes > mcast->config.eager_bytes ? NULL : co_kept_take(&mcast->kept, op->bytes);
    if (copy == NULL) {
        return false;
    }
    if (!co_operation_memory_close(op)) {
        co_kept_give(&mcast->kept, copy, op->bytes);
        return false;
    }
    if (op->is_scattered) {
        copy_blocks(op, copy);
    } else {
        co_memory_copy(copy, op->buffer, op->bytes);
    }
    op->buffer = copy;
    op->is_kept = true;
    return true;
}

// At the member that tries which way is the faster one.
static void time_way(const struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (op->timed_ns != 0) {
        co_way_trial_take(&group->trials[co_way_class(op->bytes)], op->root >= 0 ? CO_WAY_COLLECTED : CO_WAY_APART,
                          group->mcast->now_ns - op->timed_ns);
    }
}

static void settle(struct co_mcast_op *op)
{
    if (op->state != 0 || op->blocks_missing > 0 || op->next_psn < op->send_chunks) {
        return;
    }
    if (op->failure == 0 && (op->right_has_it ? co_operation_memory_close(op) : keep_copy(op))) {
        op->state = 1;
        trace_end(op);
        time_way(op);
        op->group->mcast->events++;
        op->group->mcast->advances++;
    }
}

static void send_own_block(struct co_mcast_op *op)
{
    if (!op->may_send) {
        return;
    }
    if (co_operation_is_for_sender(op)) {
        struct co_mcast *mcast = op->group->mcast;
        mcast->has_part_for_sender = mcast->has_part_for_sender || co_operation_room(op) > 0;
        return;
    }
    uint32_t first = op->next_psn;
    co_operation_transmit(op);
    co_retransmit_forward_sent(op, first);
    if (op->next_psn == op->send_chunks) {
        activate_successor(op);
    }
}

void co_operation_part_sent(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (op->failure != 0) {
        co_operation_fail(op, op->failure);
    } else if (op->next_psn == op->send_chunks) {
        activate_successor(op);
    }
    co_operations_settle(group);
}

static void free_operation(struct co_mcast_op *op)
{
    struct co_mcast *mcast = op->group->mcast;
    co_block_end_forget(op);
    co_rdma_repair_withdraw(op); // of a kept copy
    co_rdma_repair_cancel(op);
    if (op->is_kept) {
        co_kept_give(&mcast->kept, op->buffer, op->bytes);
    }
    if (op->wanted != NULL) {
        for (int i = 0; i < op->block_count; i++) {
            free(op->wanted[i]);
        }
        free(op->wanted);
    }
    free(op->whole);
    free(op->resized_bits);
    mcast->bitmap_bytes -= op->bitmap_bytes;
    co_landing_forget(op);
    free(op);
}

static void reads_ended(struct co_mcast_op *op)
{
    op->group->mcast->events++;
    if (op->blocks_missing == 0 && op->state == 0) {
        op->group->mcast->advances++;
        co_ack_operation_done(op);
    }
}

// Until the neighbour has it there is nothing to do for it but to answer him.
static bool is_merely_kept(const struct co_mcast_op *op)
{
    return op->state == 1 && op->is_released && !op->right_has_it && !op->is_sending && !op->owes_end &&
           op->contribution_due_ns == 0 && !co_block_end_is_watched(op);
}

// Moves every operation of the group as far as it goes, oldest first, and frees the ones nobody needs. Own blocks leave
// in order: credit for a later one comes only when all members have begun it, and they may begin it only after the
// earlier one is done, so a later one must never use up the window that the earlier one needs.
void co_operations_settle(struct co_mcast_group *group)
{
    struct co_mcast_op **link = group->last_kept == NULL ? &group->oldest : &group->last_kept->next;
    group->newest = group->last_kept;
    bool is_in_turn = true;
    group->pace_due_ns = CO_NEVER;
    while (*link != NULL) {
        struct co_mcast_op *op = *link;
        if (op->is_sending) {
            is_in_turn = false;
        } else if (is_in_turn && co_operation_has_to_send(op)) {
            send_own_block(op);
            is_in_turn = !co_operation_has_to_send(op);
        }
        if (op->owes_end) {
            co_block_end_say(op);
        }
        if (op->awaits_reads && co_rdma_repair_have_ended(op)) {
            reads_ended(op);
        }
        settle(op);
        bool is_over = op->state < 0 || (op->state == 1 && op->right_has_it);
        if (op->is_released && is_over) {
            *link = op->next;
            free_operation(op);
            continue;
        }
        group->last_kept = group->newest == group->last_kept && is_merely_kept(op) ? op : group->last_kept;
        group->newest = op;
        link = &op->next;
    }
}

void co_mcast_op_describe(const struct co_mcast_op *op, char *text, size_t room)
{
    const struct co_mcast_group *group = op->group;
    if (co_collect_describe(op, text, room)) {
        return;
    }
    for (int i = 0; i < op->block_count; i++) {
        const struct co_receive_block *block = &op->blocks[i];
        if (!co_receive_block_is_complete(block)) {
            snprintf(text, room, "operation %u: block of rank %d, %u of %u chunks here", op->number,
                     group->members[co_operation_source(op, i)], block->count, block->chunks);
            return;
        }
    }
    if (op->next_psn < op->send_chunks) {
        snprintf(text, room, "operation %u: %s, %u of %u chunks sent", op->number,
                 op->may_send ? "credit of the receivers" : "its turn in the chain", op->next_psn, op->send_chunks);
        return;
    }
    snprintf(text, room, "operation %u: rank %d, which has yet to confirm that it has everything", op->number,
             group->members[group->right]);
}
