// SPDX-License-Identifier: BSD-3-Clause
//
// Small allgathers by way of one member, the collector: everybody sends it the own block, and it broadcasts all of them
// together. One multicast and a datagram from each of the others in place of P multicasts: every host but the collector
// takes one datagram in place of P - 1. That is worth the turn, and the bytes that are carried twice, as long as these
// are few for the (P - 1)(P - 2) deliveries that are saved: docs/design.md has where that was measured. From the
// broadcast on it is a Bcast.
//
// A contribution needs no answer of its own: the broadcast is the answer. Until it comes the contribution is sent
// again, with patience that doubles; it stands in the operation's buffer all the time. Nothing here asks for credit.
// The collector has nothing to send to those it waits for, and only who sends to a dead member is told of it: those who
// are late are asked now and then. Who is asked and gives nothing to the operation, by its own call's arguments, says
// that members disagree, so that nobody waits for ever. Hot.
#include <errno.h>
#include <stdio.h>

#include "base/counters.h"
#include "base/mix_bits.h"
#include "mcast/state/endpoint.h"
#include "mcast/collect.h"
#include "mcast/ack/ack.h"
#include "mcast/receive/placement.h"
#include "mcast/send/control_send.h"

#define DELIVERY_BYTES 1400 // of an operation, that a saved delivery makes good
#define PATIENCE_LEAST_NS UINT64_C(1000000)
#define PATIENCE_MOST_NS UINT64_C(100000000)
#define QUEUE_FULL_NS UINT64_C(100000)
#define LATE_NS UINT64_C(100000000)

bool co_mcast_group_collects(const struct co_mcast_group *group, size_t bytes)
{
    size_t members = (size_t)group->count, saved = (members - 1) * (members - 2);
    return members > 2 && bytes <= group->mcast->config.collect_bytes && bytes <= saved * DELIVERY_BYTES;
}

// Not the same one for every team of the same members.
int co_collect_member(const struct co_mcast_group *group)
{
    return (int)(group->team_id % (uint64_t)group->count);
}

// 0 ... 255. Members whose contributions met in the collector's queue must not meet there again and again.
static uint64_t chance(const struct co_mcast_op *op)
{
    return co_mix_bits((uint64_t)op->group->self << 32 ^ op->number ^ (uint64_t)op->contributions << 48) >> 56;
}

static void contribute(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    uint64_t now_ns = group->mcast->now_ns;
    op->contributed += co_contribution_send(op, &op->parts[0], op->contributed);
    if (op->contributed < op->parts[0].chunks) {
        op->contribution_due_ns = now_ns + QUEUE_FULL_NS; // goes on there
        return;
    }
    op->contributed = 0;
    uint64_t patience = 2 * co_control_timeout_ns(group->mcast);
    patience = patience < PATIENCE_LEAST_NS ? PATIENCE_LEAST_NS : patience;
    for (unsigned i = 0; i < op->contributions && patience < PATIENCE_MOST_NS; i++) {
        patience *= 2;
    }
    patience = patience < PATIENCE_MOST_NS ? patience : PATIENCE_MOST_NS;
    op->contribution_due_ns = now_ns + patience + patience * chance(op) / 256;
    op->contributions++;
}

// By the arguments of our own call. True where that is forgotten.
static bool may_contribute(struct co_mcast_group *group, uint32_t number)
{
    const struct co_mcast_op *op = co_operation_find(group, number);
    if (op == NULL) { // over: a collected one has been the collector's broadcast
        return group->next_operation - number - 1 >= CO_RECENT_OPERATIONS ||
               group->recent_roots[number % CO_RECENT_OPERATIONS] == co_collect_member(group);
    }
    return op->parts != NULL && op->parts[0].chunks > 0;
}

int co_collect_request_take(struct co_mcast_group *group, const struct co_control *control)
{
    if (control->source != co_collect_member(group)) {
        co_counter_add(CO_COUNT_DROP_STRAY, 1);
        return 0;
    }
    if (co_serial_before(control->operation, group->next_operation) && !may_contribute(group, control->operation)) {
        return -EMSGSIZE;
    }
    co_ack_send(group, control->source, 0);
    return 0;
}

void co_collect_start(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (op->root != group->self) {
        if (op->parts[0].chunks > 0) {
            contribute(op);
        }
        return;
    }
    op->send_chunks = op->blocks[0].chunks; // later blocks of ours wait for this one
    op->parts[group->self].count = op->parts[group->self].chunks;
    op->parts_missing = op->senders - (op->parts[group->self].chunks > 0);
    op->contribution_due_ns = group->mcast->now_ns + LATE_NS;
}

int co_collect_place(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes)
{
    struct co_mcast_group *group = op->group;
    if (op->parts != NULL && op->root != group->self) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1); // somebody has turned it aside: it is not for us
        return 0;
    }
    struct co_receive_block *part = op->parts == NULL ? NULL : &op->parts[chunk->source];
    if (part == NULL || part->bytes != chunk->block_bytes) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1); // authentic: the program gave different sizes on different ranks
        return -EMSGSIZE;
    }
    if (!co_receive_block_accept(part, chunk->psn, false, group->mcast->now_ns)) {
        co_counter_add(CO_COUNT_DATA_DUPLICATE, 1);
        return 0;
    }
    co_placement_copy(op, part, chunk, payload, bytes);
    return co_receive_block_is_complete(part) && --op->parts_missing == 0;
}

static void contribution_request_late(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    for (int i = 0; i < group->count; i++) {
        if (!co_receive_block_is_complete(&op->parts[i])) {
            co_control_send_member(group, i, CO_CONTROL_CONTRIBUTION_REQUEST, op->number, 0, NULL, 0);
        }
    }
}

// The first chunk of the broadcast says that the collector has everything; there, the whole block does.
static bool is_answered(const struct co_mcast_op *op)
{
    return op->state != 0 || op->blocks[0].count > 0;
}

static void act(struct co_mcast_op *op, bool *has_requested)
{
    if (op->root == op->group->self) {
        if (!*has_requested) { // once for all that are outstanding: who is late for one is late for the next
            contribution_request_late(op);
        }
        *has_requested = true;
        op->contribution_due_ns = op->group->mcast->now_ns + LATE_NS;
        return;
    }
    if (op->contributed == 0) {
        co_counter_add(CO_COUNT_CONTRIBUTED_AGAIN, 1);
    }
    contribute(op);
}

void co_collect_due(struct co_mcast_group *group)
{
    bool has_requested = false;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->contribution_due_ns != 0 && is_answered(op)) {
            op->contribution_due_ns = 0;
        } else if (op->contribution_due_ns != 0 && op->contribution_due_ns <= group->mcast->now_ns) {
            act(op, &has_requested);
        }
    }
}

uint64_t co_collect_due_ns(const struct co_mcast_group *group)
{
    uint64_t due = CO_NEVER;
    for (const struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->contribution_due_ns != 0 && op->contribution_due_ns < due) {
            due = op->contribution_due_ns;
        }
    }
    return due;
}

bool co_collect_describe(const struct co_mcast_op *op, char *text, size_t room)
{
    for (int i = 0; op->parts_missing > 0 && i < op->group->count; i++) {
        if (!co_receive_block_is_complete(&op->parts[i])) {
            snprintf(text, room, "operation %u: contribution of rank %d, %u of %u chunks here", op->number,
                     op->group->members[i], op->parts[i].count, op->parts[i].chunks);
            return true;
        }
    }
    return false;
}
