// SPDX-License-Identifier: BSD-3-Clause
//
// The beginning of an operation, the same on every member and in the same order: its shape, its memory (one
// allocation), its place in the group's list, and what had come for it before. Hot for small operations.
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "mcast/send/chain_schedule.h"
#include "mcast/endpoint.h"
#include "mcast/ack/ack.h"
#include "mcast/collect.h"
#include "mcast/group.h"
#include "mcast/mcast_receive.h"
#include "mcast/operation.h"
#include "mcast/operation_progress.h"
#include "mcast/operation_memory.h"
#include "mcast/receive/deliver.h"
#include "mcast/receive/early_chunks.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/retransmit.h"

static bool right_fetches(const struct co_mcast_op *op)
{
    return op->group->count > 1 && op->root != op->group->right;
}

struct shape {
    int root, blocks;
    int parts; // of a collected allgather: all members' at the collector, the own one elsewhere
    size_t unit_bytes, bytes;
};

// Where a block, or behind the blocks a part, stands in the buffer.
static size_t place_of(const struct co_mcast_group *group, const struct shape *shape, int index, size_t *bytes)
{
    int member = index;
    if (shape->root >= 0 && index == 0) {
        *bytes = shape->bytes;
        return 0;
    }
    if (shape->root >= 0) {
        member = shape->parts == 1 ? group->self : index - 1;
    }
    *bytes = (group->first_unit[member + 1] - group->first_unit[member]) * shape->unit_bytes;
    return group->first_unit[member] * shape->unit_bytes;
}

static size_t bitmap_words(const struct co_mcast_group *group, const struct shape *shape)
{
    size_t words = 0, bytes;
    for (int i = 0; i < shape->blocks + shape->parts; i++) {
        place_of(group, shape, i, &bytes);
        words += co_chunk_bitmap_words(co_wire_chunk_count(bytes, (uint32_t)group->mcast->config.chunk_bytes));
    }
    return words;
}

// One allocation: the struct, its blocks and parts, their bitmaps.
static struct co_mcast_op *allocate(struct co_mcast_group *group, const struct shape *shape, uint64_t now_ns)
{
    int all = shape->blocks + shape->parts;
    size_t head = sizeof(struct co_mcast_op) + (size_t)all * sizeof(struct co_receive_block);
    head = (head + 7) & ~(size_t)7;
    size_t bitmap = bitmap_words(group, shape) * sizeof(uint64_t);
    struct co_mcast_op *op = calloc(1, head + bitmap);
    if (op == NULL) {
        return NULL;
    }
    op->group = group;
    co_operation_count_bitmap(op, bitmap);
    op->blocks = (struct co_receive_block *)(op + 1);
    op->parts = shape->parts > 0 ? op->blocks + shape->blocks : NULL;
    uint64_t *bits = (uint64_t *)((char *)op + head);
    for (int i = 0; i < all; i++) {
        size_t bytes, offset = place_of(group, shape, i, &bytes);
        uint32_t chunks = co_wire_chunk_count(bytes, (uint32_t)group->mcast->config.chunk_bytes);
        co_receive_block_open(&op->blocks[i], bits, offset, bytes, chunks, now_ns);
        bits += co_chunk_bitmap_words(chunks);
    }
    return op;
}

static void append(struct co_mcast_group *group, struct co_mcast_op *op)
{
    if (group->oldest == NULL) {
        group->oldest = op;
    } else {
        group->newest->next = op;
    }
    group->newest = op;
    group->is_quiet = false;
    co_group_activate(group);
}

// Places what came before it.
static void early_replay(struct co_mcast_op *op)
{
    struct co_early_chunk *next;
    for (struct co_early_chunk *early = co_early_take(op->group, op->number); early != NULL; early = next) {
        next = early->next;
        if (op->state == 0) {
            co_mcast_take_chunk(op, &early->chunk, early->payload, early->bytes);
        }
        co_early_give(early);
    }
    co_deliver_count(op->group->mcast);
}

static void begin(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (op->parts != NULL) {
        co_collect_start(op);
    } else if (op->root < 0 || op->root == group->self) {
        co_operation_own_block_is_here(op);
        op->may_send = op->root >= 0 || co_chain_predecessor(group->self, group->count, co_operation_senders(op)) < 0;
    }
    if (group->early_first != NULL) {
        early_replay(op);
    }
    co_landing_begin(op);
    co_retransmit_open(op);
    co_operations_settle(group);
    group->mcast->timer_ns = group->mcast->now_ns;
}

static int start(struct co_mcast_op **out, struct co_mcast_group *group, const struct shape *shape, void *buffer,
                 uint64_t now_ns)
{
    uint64_t largest = (uint64_t)UINT32_MAX / 2 * group->mcast->config.chunk_bytes;
    if (shape->bytes == 0 || shape->bytes > largest || shape->bytes > CO_WIRE_BLOCK_BYTES_MAX) {
        return -EINVAL;
    }
    if (group->started == UINT32_MAX) {
        return -EOVERFLOW; // all numbers are used up: the next ones would repeat nonces under the team's keys
    }
    struct co_mcast_op *op = allocate(group, shape, now_ns);
    if (op == NULL) {
        return -ENOMEM;
    }
    group->mcast->now_ns = now_ns;
    op->number = group->next_operation++;
    group->started++;
    op->root = shape->root;
    op->buffer = buffer;
    op->bytes = shape->bytes;
    op->block_count = op->blocks_missing = shape->blocks;
    op->last_event_ns = now_ns;
    op->right_has_it = !right_fetches(op) || co_ack_right_has(group, op->number);
    append(group, op);
    co_log(CO_LOG_TRACE, CO_SUBSYS_MCAST, "team %08x operation %u begins: %d block%s from %s %d, %zu bytes",
           (unsigned)group->team_id, op->number, op->block_count, op->block_count == 1 ? "" : "s",
           op->root >= 0 ? "member" : "all", op->root >= 0 ? op->root : group->count, op->bytes);
    if (group->broken != 0) {
        co_operation_fail(op, group->broken);
        op->right_has_it = true;
        *out = op;
        return 0;
    }
    if (group->mcast->transport->ops->region_open != NULL) {
        co_operation_memory_open(op);
    }
    begin(op);
    *out = op;
    return 0;
}

int co_mcast_bcast_start(struct co_mcast_op **out, struct co_mcast_group *group, int root, void *buffer, size_t bytes,
                         uint64_t now_ns)
{
    struct shape shape = {.root = root, .blocks = 1, .bytes = bytes};
    return start(out, group, &shape, buffer, now_ns);
}

int co_mcast_allgather_start(struct co_mcast_op **out, struct co_mcast_group *group, void *buffer, size_t unit_bytes,
                             uint64_t now_ns)
{
    struct shape shape = {.root = -1,
                          .blocks = group->count,
                          .unit_bytes = unit_bytes,
                          .bytes = unit_bytes * group->first_unit[group->count]};
    if (co_collect_is_worth_it(group, shape.bytes)) {
        shape.root = co_collect_member(group);
        shape.blocks = 1;
        shape.parts = shape.root == group->self ? group->count : 1;
    }
    return start(out, group, &shape, buffer, now_ns);
}
