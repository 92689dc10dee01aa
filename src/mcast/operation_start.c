// SPDX-License-Identifier: BSD-3-Clause
//
// The beginning of an operation, the same on every member and in the same order: its shape, its memory (one
// allocation), its place in the group's list, and what had come for it before. Hot for small operations.
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "mcast/send/allgather_schedule.h"
#include "mcast/send/send_room.h"
#include "mcast/state/endpoint.h"
#include "mcast/ack/ack.h"
#include "mcast/collect.h"
#include "mcast/state/group.h"
#include "mcast/mcast_receive.h"
#include "mcast/state/operation.h"
#include "mcast/operation_progress.h"
#include "mcast/operation_memory.h"
#include "mcast/receive/placement.h"
#include "mcast/receive/early_chunks.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/retransmit.h"

static bool right_may_nack(const struct co_mcast_op *op)
{
    return op->group->count > 1 && op->root != op->group->right;
}

struct shape {
    int root, blocks;
    int parts; // of a collected allgather: all members' at the collector, the own one elsewhere
    int senders;
    size_t unit_bytes, bytes;
    bool is_either_way;                  // of an allgather: as all agree
    const struct co_mcast_place *places; // of an allgather, by member; NULL: units, one behind the other
};

static struct co_mcast_place share_of(const struct co_mcast_group *group, const struct shape *shape, int member)
{
    if (shape->places != NULL) {
        return shape->places[member];
    }
    uint32_t first = group->first_unit[member], end = group->first_unit[member + 1];
    return (struct co_mcast_place){first * shape->unit_bytes, (end - first) * shape->unit_bytes};
}

// Where a block, or behind the blocks a part, stands in the buffer.
static struct co_mcast_place place_of(const struct co_mcast_group *group, const struct shape *shape, int index)
{
    if (shape->root < 0) {
        return share_of(group, shape, index);
    }
    if (index == 0) {
        return (struct co_mcast_place){0, shape->bytes};
    }
    return share_of(group, shape, shape->parts == 1 ? group->self : index - 1);
}

static size_t bitmap_words(const struct co_mcast_group *group, const struct shape *shape)
{
    size_t words = 0;
    for (int i = 0; i < shape->blocks + shape->parts; i++) {
        size_t bytes = place_of(group, shape, i).bytes;
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
        struct co_mcast_place place = place_of(group, shape, i);
        uint32_t chunks = co_wire_chunk_count(place.bytes, (uint32_t)group->mcast->config.chunk_bytes);
        co_receive_block_open(&op->blocks[i], bits, place.offset, place.bytes, chunks, now_ns);
        op->blocks[i].heard_at = group->mcast->delivered;
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
    co_placement_count(op->group->mcast);
}

static void begin(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    co_operation_take_turns(op);
    if (op->parts != NULL) {
        co_collect_start(op);
    } else if (op->root < 0 ? op->blocks[group->self].chunks > 0 : op->root == group->self) {
        co_operation_own_block_is_here(op);
        op->may_send = op->root >= 0 || co_operation_predecessor(op) < 0;
    }
    early_replay(op);
    co_landing_begin(op);
    co_retransmit_open(op);
    co_operations_settle(group);
    group->mcast->timer_ns = group->mcast->now_ns;
}

// What this member says of later ones, if it is the one that does: the trials that tell it are opened with the first.
static uint8_t call_way(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (group->trials == NULL) {
        group->trials = calloc(CO_WAYS_CLASSES, sizeof(*group->trials));
        group->storage_bytes += group->trials == NULL ? 0 : CO_WAYS_CLASSES * sizeof(*group->trials);
    }
    if (group->trials == NULL) {
        return CO_WAY_UNSAID;
    }
    bool is_alone = group->newest == NULL || group->newest->state != 0;
    op->timed_ns = is_alone ? group->mcast->now_ns : 0;
    return (uint8_t)co_way_trial_call(&group->trials[co_way_class(op->bytes)], is_alone);
}

// Who gives nothing to it says nothing, which all know.
static void begin_way(struct co_mcast_op *op, const struct shape *shape)
{
    struct co_mcast_group *group = op->group;
    int judge = co_group_way_judge(group);
    op->is_either_way = shape->is_either_way;
    op->awaits_way = op->is_either_way && share_of(group, shape, judge).bytes > 0;
    co_agreed_ways_begin(&group->ways, op->number, co_way_class(op->bytes), op->awaits_way);
    if (op->awaits_way && judge == group->self) {
        op->way_called = call_way(op);
        co_operation_hear_way(op, judge, op->way_called); // where it goes apart
    }
}

bool co_mcast_group_may_start(const struct co_mcast_group *group)
{
    return group->broken != 0 || co_agreed_ways_are_known(&group->ways, group->next_operation);
}

static int start(struct co_mcast_op **out, struct co_mcast_group *group, const struct shape *shape, void *buffer,
                 uint64_t now_ns)
{
    uint64_t largest = (uint64_t)UINT32_MAX / 2 * group->mcast->config.chunk_bytes;
    if (shape->bytes == 0 || shape->bytes > largest || shape->bytes > CO_WIRE_BLOCK_BYTES_MAX) {
        return -EINVAL;
    }
    if ((uint64_t)group->started + group->skipped >= UINT32_MAX) {
        return -EOVERFLOW; // all numbers are used up: the next ones would repeat nonces under the team's keys
    }
    if (!co_mcast_group_may_start(group)) {
        return -EAGAIN;
    }
    struct co_mcast_op *op = allocate(group, shape, now_ns);
    if (op == NULL) {
        return -ENOMEM;
    }
    group->mcast->now_ns = now_ns;
    op->number = group->next_operation++;
    group->started++;
    op->root = shape->root;
    group->recent_roots[op->number % CO_RECENT_OPERATIONS] = shape->root;
    op->buffer = buffer;
    op->bytes = shape->bytes;
    op->is_scattered = shape->places != NULL && shape->root < 0;
    op->senders = shape->senders;
    op->block_count = shape->blocks;
    op->blocks_missing = shape->root < 0 ? shape->senders : 1;
    op->last_event_ns = now_ns;
    op->right_has_it = !right_may_nack(op) || co_ack_right_has(group, op->number);
    begin_way(op, shape);
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
    struct shape shape = {.root = root, .blocks = 1, .senders = 1, .bytes = bytes};
    return start(out, group, &shape, buffer, now_ns);
}

static int start_gather(struct co_mcast_op **out, struct co_mcast_group *group, struct shape *shape, void *buffer,
                        uint64_t now_ns)
{
    shape->is_either_way = co_collect_may(group, shape->bytes);
    if (co_mcast_group_collects(group, shape->bytes)) {
        shape->root = co_group_collector(group);
        shape->blocks = 1;
        shape->parts = shape->root == group->self ? group->count : 1;
    }
    return start(out, group, shape, buffer, now_ns);
}

int co_mcast_allgather_start(struct co_mcast_op **out, struct co_mcast_group *group, void *buffer, size_t unit_bytes,
                             uint64_t now_ns)
{
    struct shape shape = {.root = -1,
                          .blocks = group->count,
                          .senders = group->count,
                          .unit_bytes = unit_bytes,
                          .bytes = unit_bytes * group->first_unit[group->count]};
    return start_gather(out, group, &shape, buffer, now_ns);
}

int co_mcast_allgatherv_start(struct co_mcast_op **out, struct co_mcast_group *group, void *buffer,
                              const struct co_mcast_place *places, uint64_t now_ns)
{
    struct shape shape = {.root = -1, .blocks = group->count, .places = places};
    int sender = 0;
    for (int i = 0; i < group->count; i++) {
        shape.bytes += places[i].bytes;
        shape.senders += places[i].bytes > 0;
        sender = places[i].bytes > 0 ? i : sender;
    }
    if (shape.senders == 1) {
        return co_mcast_bcast_start(out, group, sender, (char *)buffer + places[sender].offset, shape.bytes, now_ns);
    }
    return start_gather(out, group, &shape, buffer, now_ns);
}
