// SPDX-License-Identifier: BSD-3-Clause
//
// Small allgathers by way of one member, the collector: everybody sends it the own block, and it broadcasts all of them
// together. One multicast and a datagram from each of the others in place of P multicasts: every host but the collector
// takes one datagram in place of P - 1. That is worth the turn, and the bytes that are carried twice, as long as these
// are few for the (P - 1)(P - 2) deliveries that are saved: docs/design.md has where that was measured. From the
// broadcast on it is a Bcast.
//
// A contribution needs no answer of its own: the broadcast is the answer. How long that takes tells a member nothing:
// it is the time of the slowest, and of all contributions before the collector's port. There it shows what is late:
// others' contributions come, one behind the other, and then none. So the collector asks for what is missing, when its
// port has been silent for longer than contributions of an operation usually are apart; what it asks for is sent again,
// out of the operation's buffer, where it stands all the time. Only when nothing is heard for long it is sent again
// unasked. Nothing here asks for credit. Who is asked and gives nothing to the operation, by its own call's arguments,
// says that members disagree, so that nobody waits for ever. Hot.
#include <errno.h>
#include <stdio.h>

#include "base/counters.h"
#include "base/mix_bits.h"
#include "mcast/state/endpoint.h"
#include "mcast/collect.h"
#include "mcast/ack/ack.h"
#include "mcast/receive/placement.h"
#include "mcast/send/control_send.h"
#include "mcast/send/usual_time.h"

#define DELIVERY_BYTES 1400                  // of an operation, that a saved delivery makes good
#define UNASKED_LEAST_NS UINT64_C(100000000) // until a contribution is sent again unasked
#define UNASKED_MOST_NS UINT64_C(800000000)
#define QUEUE_FULL_NS UINT64_C(100000)
#define SILENT_LEAST_NS UINT64_C(500000)
#define SILENT_MOST_NS UINT64_C(100000000)
#define SILENT_UNKNOWN_NS UINT64_C(20000000) // before two contributions have come one behind the other
#define START_FACTOR 8                       // nothing has come: all are late, more often than all are lost
#define ASKED_AT_ONCE 8                      // members for one operation, in turn, and operations, the oldest

bool co_collect_may(const struct co_mcast_group *group, size_t bytes)
{
    size_t members = (size_t)group->count, saved = (members - 1) * (members - 2);
    return members > 2 && bytes <= group->mcast->config.collect_bytes && bytes <= saved * DELIVERY_BYTES;
}

bool co_mcast_group_collects(const struct co_mcast_group *group, size_t bytes)
{
    return co_collect_may(group, bytes) &&
           co_agreed_way(&group->ways, group->next_operation, co_way_class(bytes)) != CO_WAY_APART;
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
    op->contribution_ns = op->contribution_ns == 0 ? now_ns : op->contribution_ns;
    const struct co_usual_time *answers = &group->mcast->contribution_answers;
    uint64_t patience = co_usual_time_limit_ns(answers, UNASKED_LEAST_NS, UNASKED_MOST_NS);
    for (unsigned i = 0; i < op->contributions && patience < UNASKED_MOST_NS; i++) {
        patience *= 2;
    }
    patience = patience < UNASKED_MOST_NS ? patience : UNASKED_MOST_NS;
    op->contribution_due_ns = now_ns + patience + patience * chance(op) / 256;
    op->contributions++;
}

static void contribute_again(struct co_mcast_op *op)
{
    if (op->contributed == 0) {
        co_counter_add(CO_COUNT_CONTRIBUTED_AGAIN, 1);
    }
    contribute(op);
}

// The first chunk of the broadcast says that the collector has everything; there, the whole block does.
static bool is_answered(const struct co_mcast_op *op)
{
    return op->state != 0 || op->blocks[0].count > 0;
}

// By the arguments of our own call. True where that is forgotten.
static bool may_contribute(struct co_mcast_group *group, uint32_t number)
{
    const struct co_mcast_op *op = co_operation_find(group, number);
    if (op == NULL) { // over: a collected one has been the collector's broadcast
        return group->next_operation - number - 1 >= CO_RECENT_OPERATIONS ||
               group->recent_roots[number % CO_RECENT_OPERATIONS] == co_group_collector(group);
    }
    return op->parts != NULL && op->parts[0].chunks > 0;
}

int co_collect_request_take(struct co_mcast_group *group, const struct co_control *control)
{
    if (control->source != co_group_collector(group)) {
        co_counter_add(CO_COUNT_DROP_STRAY, 1);
        return 0;
    }
    if (co_serial_before(control->operation, group->next_operation) && !may_contribute(group, control->operation)) {
        return -EMSGSIZE;
    }
    struct co_mcast_op *op = co_operation_find(group, control->operation);
    if (op != NULL && op->contribution_due_ns != 0 && !is_answered(op)) {
        contribute_again(op);
    } else {
        co_ack_send(group, control->source, 0);
    }
    return 0;
}

// How long nothing at all usually comes: the others may be late, or what this member has sent may have yet to leave.
static uint64_t start_ns(const struct co_mcast *mcast, uint64_t silent)
{
    uint64_t least_ns = START_FACTOR * silent < SILENT_MOST_NS ? START_FACTOR * silent : SILENT_MOST_NS;
    return co_usual_time_limit_ns(&mcast->contribution_answers, least_ns, UNASKED_MOST_NS);
}

// At the collector: silence of its port after which those who have not contributed are asked.
static uint64_t silent_ns(const struct co_mcast_op *op)
{
    const struct co_mcast *mcast = op->group->mcast;
    const struct co_usual_time *gaps = &mcast->contribution_gaps;
    uint64_t usual_ns = co_usual_time_limit_ns(gaps, SILENT_LEAST_NS / 2, SILENT_MOST_NS / 2);
    uint64_t silent = gaps->count == 0 ? SILENT_UNKNOWN_NS : 2 * usual_ns;
    silent = op->contribution_ns == 0 ? start_ns(mcast, silent) : silent;
    for (unsigned i = 0; i < op->contributions && silent < SILENT_MOST_NS; i++) {
        silent *= 2;
    }
    return op->contributions == 0 || silent < SILENT_MOST_NS ? silent : SILENT_MOST_NS;
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
    op->contribution_due_ns = group->mcast->now_ns + silent_ns(op);
}

// What came together, or before the operation began, says nothing of the port; nor does what had to be asked for
// (Karn).
static void contribution_came(struct co_mcast_op *op)
{
    struct co_mcast *mcast = op->group->mcast;
    if (op->contribution_ns == 0) {
        co_usual_time_sample(&mcast->contribution_answers, mcast->now_ns - op->parts[op->group->self].last_ns);
    } else if (op->contributions == 0 && mcast->now_ns > op->contribution_ns) {
        co_usual_time_sample(&mcast->contribution_gaps, mcast->now_ns - op->contribution_ns);
    }
    op->contribution_ns = mcast->contribution_ns = mcast->now_ns;
    op->contributions = op->contributions > 0;
    op->contribution_due_ns = mcast->now_ns + silent_ns(op);
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
    contribution_came(op);
    if (chunk->source == co_group_way_judge(group)) {
        co_operation_hear_way(op, op->root, chunk->way);
    }
    return co_receive_block_is_complete(part) && --op->parts_missing == 0;
}

// What the collector asks for keeps this near the time of one that is not lost.
static void answered(struct co_mcast_op *op)
{
    struct co_mcast *mcast = op->group->mcast;
    op->contribution_due_ns = 0;
    if (op->root != op->group->self && op->state >= 0 && op->contribution_ns != 0) {
        co_usual_time_sample(&mcast->contribution_answers, mcast->now_ns - op->contribution_ns);
    }
}

// A few at a time, or a link is full of questions to those who are only late.
static void ask_for_contributions(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    uint32_t from = op->contributed;
    for (int i = 0, asked = 0; i < group->count && asked < ASKED_AT_ONCE; i++) {
        int member = (int)((from + (uint32_t)i) % (uint32_t)group->count);
        if (!co_receive_block_is_complete(&op->parts[member])) {
            co_control_send_member(group, member, CO_CONTROL_CONTRIBUTION_REQUEST, op->number, 0, NULL, 0);
            op->contributed = (uint32_t)member + 1;
            asked++;
        }
    }
    op->contributions++;
}

// As long as contributions of other operations come, those of this one may stand behind them.
static void collector_due(struct co_mcast_op *op)
{
    uint64_t silent = silent_ns(op), busy_ns = op->group->mcast->contribution_ns + silent;
    uint64_t most_ns = op->contribution_ns + START_FACTOR * silent, now_ns = op->group->mcast->now_ns;
    busy_ns = busy_ns < most_ns ? busy_ns : most_ns;
    if (op->contribution_ns != 0 && busy_ns > now_ns) {
        op->contribution_due_ns = busy_ns;
        return;
    }
    ask_for_contributions(op);
    op->contribution_due_ns = now_ns + silent_ns(op);
}

void co_collect_due(struct co_mcast_group *group)
{
    unsigned waiting = 0;
    uint64_t now_ns = group->mcast->now_ns, later_ns = now_ns + SILENT_LEAST_NS;
    for (struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
        if (op->contribution_due_ns == 0) {
            continue;
        }
        bool is_collector = op->root == group->self, is_due = op->contribution_due_ns <= now_ns;
        if (is_answered(op)) {
            answered(op);
        } else if (is_collector && ++waiting > ASKED_AT_ONCE) { // who is late for one is late for the next
            op->contribution_due_ns = is_due ? later_ns : op->contribution_due_ns;
        } else if (is_due && is_collector) {
            collector_due(op);
            later_ns = op->contribution_due_ns;
        } else if (is_due) {
            contribute_again(op);
        }
    }
}

uint64_t co_collect_due_ns(const struct co_mcast_group *group)
{
    uint64_t due = CO_NEVER;
    for (const struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
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
