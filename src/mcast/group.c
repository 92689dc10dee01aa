// SPDX-License-Identifier: BSD-3-Clause
//
// A team's members on this endpoint from the first word of one of them: set-up, timers, and the way out. A closed group
// lingers while it keeps copies for its neighbour, and then among the closed ones that memory is left for, because a
// neighbour whose report was lost may still ask what we have. Warm; set-up allocates, nothing else does.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcast/endpoint.h"
#include "mcast/ack/ack.h"
#include "mcast/ack/ack_request.h"
#include "mcast/collect.h"
#include "mcast/group.h"
#include "mcast/liveness/liveness_deadline.h"
#include "mcast/operation.h"
#include "mcast/operation_progress.h"
#include "mcast/receive/deliver.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/control_send.h"

#define LINGER_NS (UINT64_C(10) * 1000000000)

void co_group_activate(struct co_mcast_group *group)
{
    if (!group->is_active) {
        group->is_active = true;
        group->next_active = group->mcast->active;
        group->mcast->active = group;
    }
    group->mcast->timer_ns = 0;
}

bool co_group_is_idle(const struct co_mcast_group *group)
{
    return group->oldest == NULL && group->report_due_ns == CO_NEVER && group->unreported_done == 0;
}

#define CHUNKS_PER_CREDIT 3 // in flight for each child: its reports, by the quarter, take a tenth of what chunks take

static uint32_t *take(uint32_t **storage, size_t words)
{
    uint32_t *part = *storage;
    *storage += words;
    return part;
}

// One allocation, which begins with `members`.
static int allocate_arrays(struct co_mcast_group *group, int count, int radix)
{
    size_t n = (size_t)count, words = 15 * n + 1 + 2 * ((n + 1) / 2) + 2 * ((n + 3) / 4);
    group->tree = co_credit_tree_of(count, radix);
    uint32_t *storage = calloc(words, sizeof(*storage));
    if (storage == NULL) {
        return -ENOMEM;
    }
    group->storage_bytes = sizeof(*group) + words * sizeof(*storage);
    group->members = (int *)take(&storage, n);
    group->first_unit = take(&storage, n + 1);
    group->received = take(&storage, n);
    group->reported = take(&storage, n);
    group->reported_heard = take(&storage, n);
    group->staged = take(&storage, n);
    group->latest = take(&storage, n);
    group->credit_every = take(&storage, n);
    group->unheard = take(&storage, n);
    group->seen_in_turn = take(&storage, n);
    group->lost_of = take(&storage, n);
    group->lost_known = take(&storage, n);
    group->lost_judged = take(&storage, n);
    group->child_received = take(&storage, n);
    group->child_heard = take(&storage, n);
    group->news.sources = (uint16_t *)take(&storage, (n + 1) / 2);
    group->rests.sources = (uint16_t *)take(&storage, (n + 1) / 2);
    group->news.has = (bool *)take(&storage, (n + 3) / 4);
    group->rests.has = (bool *)take(&storage, (n + 3) / 4);
    return 0;
}

static void fill(struct co_mcast_group *group)
{
    for (int i = 0; i < group->count; i++) {
        group->members[i] = co_seed_rank(group->seed, i);
    }
    const struct co_mcast_config *config = &group->mcast->config;
    size_t shared = config->shared_window_bytes == 0 ? config->window_bytes : config->shared_window_bytes;
    co_send_window_open(&group->window, (uint32_t)(config->window_bytes / config->chunk_bytes),
                        (uint32_t)(shared / config->chunk_bytes),
                        (uint32_t)(CO_SEND_RATE_START_BYTES / config->chunk_bytes),
                        CHUNKS_PER_CREDIT * (uint32_t)group->tree.children_most, group->mcast->transport->holds_back);
    group->senders = 1;
    group->quantum = group->window.alone.most / 4;
    group->left = (group->self + group->count - 1) % group->count;
    group->right = (group->self + 1) % group->count;
    group->report_due_ns = group->ack_request_due_ns = group->pace_due_ns = CO_NEVER;
    group->early_end = &group->early_first;
}

int co_group_open(struct co_mcast *mcast, struct co_mcast_seed *seed)
{
    struct co_mcast_group *group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return -ENOMEM;
    }
    group->mcast = mcast;
    group->seed = seed;
    group->team_id = seed->team_id;
    group->count = seed->count;
    group->self = seed->self;
    int status = allocate_arrays(group, group->count, (int)mcast->config.ack_radix);
    if (status < 0) {
        free(group);
        return status;
    }
    fill(group);
    seed->group = group;
    return 0;
}

int co_mcast_group_open(struct co_mcast_group **out, struct co_mcast *mcast, struct co_mcast_seed *seed,
                        const int *units)
{
    for (int i = 0; units != NULL && i < seed->count; i++) {
        if (units[i] < 1) {
            return -EINVAL; // an empty block would never be complete
        }
    }
    int status = seed->broken != 0 ? seed->broken : seed->group == NULL ? co_group_open(mcast, seed) : 0;
    if (status < 0) {
        return status;
    }
    struct co_mcast_group *group = seed->group;
    for (int i = 0; i < group->count; i++) {
        group->first_unit[i + 1] = group->first_unit[i] + (uint32_t)(units == NULL ? 1 : units[i]);
    }
    *out = group;
    return 0;
}

size_t co_mcast_group_bytes(const struct co_mcast_group *group)
{
    return group->storage_bytes;
}

void co_group_free(struct co_mcast_group *group)
{
    co_early_drop_all(group);
    group->is_closing = true;
    co_retransmit_drop(group);
    co_seed_free(group->mcast, group->seed);
    free(group->members);
    free(group);
}

void co_group_linger(struct co_mcast_group *group)
{
    struct co_mcast *mcast = group->mcast;
    group->is_lingering = true;
    group->next_lingering = NULL;
    *mcast->lingering_end = group;
    mcast->lingering_end = &group->next_lingering;
    mcast->lingering_count++;
    mcast->lingering_bytes += group->storage_bytes;
    struct co_mcast_group *eldest = mcast->lingering_first;
    // An active one's turn comes with the next one.
    while (mcast->lingering_count > CO_LINGERING_GROUPS && mcast->lingering_bytes > CO_LINGERING_BYTES &&
           !eldest->is_active) {
        mcast->lingering_first = eldest->next_lingering;
        mcast->lingering_count--;
        mcast->lingering_bytes -= eldest->storage_bytes;
        co_group_free(eldest);
        eldest = mcast->lingering_first;
    }
}

void co_mcast_group_close(struct co_mcast_group *group)
{
    co_early_drop_all(group);
    group->is_closing = true;
    if (group->unreported_done > 0) {
        co_ack_send(group, group->left, 0);
    }
    co_group_activate(group); // progress moves it on to the lingering ones
}

// Copies kept by a closed group are given up when the neighbour has not asked for so long: he is gone, or has them.
static void expire_kept(struct co_mcast_group *group)
{
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->state == 1 && op->is_released && group->mcast->now_ns - op->last_event_ns > LINGER_NS) {
            op->right_has_it = true;
        }
    }
}

// Credit is reported by quarters of the share that a sender has of the window.
static void adapt_quantum(struct co_mcast_group *group)
{
    if (group->newest != NULL) {
        group->senders = (uint32_t)co_operation_senders(group->newest);
        const struct co_send_limit *limit = co_send_window_limit(&group->window, group->senders);
        uint32_t share = co_send_window_share(limit->most, group->senders);
        group->quantum = share / 4 > 0 ? share / 4 : 1;
    }
}

// The team can do nothing more: every operation under way fails, and so will every later one. The others learn of it
// now, or by the answer to whatever they ask next.
void co_group_break(struct co_mcast_group *group, int error)
{
    if (group->broken != 0) {
        return;
    }
    group->broken = error;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        co_operation_fail(op, error);
        op->right_has_it = true;
    }
    for (int i = 0; i < group->count; i++) {
        if (i != group->self && !group->mcast->peers[group->members[i]].is_dead) {
            co_control_send_member(group, i, CO_CONTROL_ABORT, 0, 0, NULL, 0);
        }
    }
    co_group_activate(group);
}

void co_mcast_group_fail(struct co_mcast_group *group, int error)
{
    co_group_break(group, error);
}

// A member that is gone matters as long as something is under way; after the last operation it may well be gone.
static void break_by_dead_members(struct co_mcast_group *group)
{
    for (int i = 0; i < group->count; i++) {
        if (group->mcast->peers[group->members[i]].is_dead && group->oldest != NULL) {
            co_group_break(group, -ECONNRESET);
        }
    }
}

void co_group_progress(struct co_mcast_group *group)
{
    adapt_quantum(group);
    if (group->mcast->dead_peers > 0) {
        break_by_dead_members(group);
    }
    co_liveness_deadline_check(group);
    if (group->has_failing) {
        co_operations_fail_again(group);
    }
    if (group->is_closing) {
        expire_kept(group);
    }
    co_nack_send_due(group);
    co_collect_due(group);
    co_operations_settle(group);
    co_ack_send_due(group);
    co_ack_request_send_due(group);
}

uint64_t co_group_timer_ns(struct co_mcast_group *group)
{
    uint64_t due = group->report_due_ns < group->ack_request_due_ns ? group->report_due_ns : group->ack_request_due_ns;
    uint64_t repair_due = co_nack_due_ns(group), collect_due = co_collect_due_ns(group);
    uint64_t deadline_due = co_liveness_deadline_due_ns(group);
    due = collect_due < due ? collect_due : due;
    due = deadline_due < due ? deadline_due : due;
    due = group->pace_due_ns < due ? group->pace_due_ns : due;
    return repair_due < due ? repair_due : due;
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
