// SPDX-License-Identifier: BSD-3-Clause
//
// One message says what a member has: which operations are complete (the handshake, for the left neighbour, who may
// then let go of the bytes) and how many chunks of a source its subtree has (credit, for the source). Sent when a
// quantum is full, at once when the neighbour is waiting for a large operation, lazily otherwise, and always when
// nudged. Whoever waits nudges, with patience that doubles, so a lost report only costs time. Warm.
#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "mcast/credit_tree.h"
#include "mcast/endpoint.h"

#define LAZY_NS UINT64_C(5000000)   // an owed report leaves after this even without company
#define LAZY_OPERATIONS 16          // or after so many operations
#define CREDIT_NS UINT64_C(2000000) // a credit below the quantum
#define CREDIT_CHUNKS 4             // a quantum of a slow link, whose time a rest waits for
#define REST_MOST_NS UINT64_C(20000000)
#define NUDGE_MOST_NS UINT64_C(100000000)
#define CREDIT_ENTRIES_MAX ((CO_CONTROL_MAX - 16) / 8)

static void report_within(struct co_mcast_group *group, uint64_t delay_ns)
{
    uint64_t due = group->mcast->now_ns + delay_ns;
    if (due < group->report_due_ns) {
        group->report_due_ns = due;
    }
    co_group_activate(group);
}

void co_report_done(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (group->count < 2) {
        return;
    }
    group->unreported_done++;
    bool left_waits = op->bytes > group->mcast->config.eager_bytes && op->root != group->self;
    report_within(group, left_waits || group->unreported_done >= LAZY_OPERATIONS ? 0 : LAZY_NS);
}

// Chunks of `source` that we and everybody below us in its tree have.
static uint32_t subtree_received(const struct co_mcast_group *group, int source)
{
    int radix = (int)group->mcast->config.ack_radix;
    int children = co_credit_children(group->self, source, group->count, radix);
    uint32_t least = source == group->self ? group->window.sent : group->received[source];
    for (int slot = 0; slot < children; slot++) {
        least = co_serial_min(least, group->child_received[(size_t)source * (size_t)group->child_room + (size_t)slot]);
    }
    return least;
}

// Chunks of `source` that were sent before the newest that was heard of it, and are not received: lost, late, or of
// operations that we have yet to begin.
static uint32_t gaps_of(const struct co_mcast_group *group, int source)
{
    uint32_t gaps = group->staged[source];
    if (co_group_is_deaf(group, source)) {
        return UINT16_MAX; // nothing is on its way to us
    }
    for (const struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        const struct co_receive_block *block =
            op->blocks_missing > 0 ? co_operation_block((struct co_mcast_op *)op, source) : NULL;
        if (block != NULL) {
            // A later operation has been heard, or there was silence for so long that nothing can be on its way.
            bool is_over = co_serial_before(op->number, group->latest[source]) || block->in_tail;
            uint32_t heard = is_over ? block->chunks : block->next_psn;
            gaps += heard > block->count ? heard - block->count : 0;
        }
    }
    return gaps;
}

// Chunks of `source` that we and everybody below us either have or will not get but by repair.
static uint32_t subtree_heard(const struct co_mcast_group *group, int source)
{
    int radix = (int)group->mcast->config.ack_radix;
    int children = co_credit_children(group->self, source, group->count, radix);
    uint32_t least = source == group->self ? group->window.sent : group->received[source] + gaps_of(group, source);
    for (int slot = 0; slot < children; slot++) {
        least = co_serial_min(least, group->child_heard[(size_t)source * (size_t)group->child_room + (size_t)slot]);
    }
    return least;
}

static void fill_done(const struct co_mcast_group *group, struct co_progress_body *body)
{
    body->done_before = group->next_operation;
    body->done_mask = 0;
    bool found = false;
    for (const struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        bool is_complete = op->blocks_missing == 0;
        if (!found && !is_complete) {
            found = true;
            body->done_before = op->number;
        } else if (found && is_complete) {
            uint32_t bit = op->number - body->done_before - 1;
            body->done_mask |= bit < 32 ? UINT32_C(1) << bit : 0;
        }
    }
}

void co_report_send(struct co_mcast_group *group, int member, uint32_t echo)
{
    struct co_progress_body body = {.lost = group->lost + group->lost_of[member], .echo = echo};
    fill_done(group, &body);
    struct co_credit_entry entries[CREDIT_ENTRIES_MAX];
    unsigned count = 0;
    int radix = (int)group->mcast->config.ack_radix;
    for (int source = 0; source < group->count && count < CREDIT_ENTRIES_MAX; source++) {
        if (source != group->self && co_credit_parent(group->self, source, group->count, radix) == member) {
            uint32_t received = subtree_received(group, source);
            uint32_t heard = subtree_heard(group, source), gaps = heard - received;
            gaps = gaps > UINT16_MAX ? UINT16_MAX : gaps;
            entries[count++] = (struct co_credit_entry){(uint16_t)source, (uint16_t)gaps, received};
            group->reported[source] = received;
            group->reported_heard[source] = heard;
        }
    }
    uint8_t bytes[CO_CONTROL_MAX];
    size_t size = co_wire_progress_encode(bytes, &body, entries, count);
    bool is_first = echo == 0 && member == group->left && group->unreported_done > 0; // of a handshake
    (is_first ? co_control_send_once : co_control_send_member)(group, member, CO_CONTROL_PROGRESS,
                                                               group->next_operation, (uint16_t)count, bytes, size);
    if (member == group->left) {
        group->unreported_done = 0;
    }
}

static uint32_t quantum_of(const struct co_mcast_group *group, int source)
{
    uint32_t every = group->credit_every[source];
    return every > 0 && every < group->quantum ? every : group->quantum;
}

// On a slow link a rest is the rule, and a quantum on its way: twice its time, or who has many children hears of
// nothing but rests.
static uint64_t rest_ns(const struct co_mcast_group *group)
{
    uint64_t ns = 2 * CREDIT_CHUNKS * group->widest_gap_ns;
    return ns < CREDIT_NS ? CREDIT_NS : ns > REST_MOST_NS ? REST_MOST_NS : ns;
}

// Credit that has grown by a quantum goes to its parent; less than that waits for company or for the timer.
static void report_credit(struct co_mcast_group *group, bool is_due)
{
    int radix = (int)group->mcast->config.ack_radix;
    bool has_rest = false;
    for (int source = 0; source < group->count; source++) {
        if (source == group->self) {
            continue;
        }
        uint32_t received = subtree_received(group, source) - group->reported[source];
        uint32_t was_heard = group->reported_heard[source];
        uint32_t heard = co_serial_max(was_heard, subtree_heard(group, source)) - was_heard;
        uint32_t grown = heard > received ? heard : received;
        if (grown >= quantum_of(group, source) || (is_due && grown > 0)) {
            co_report_send(group, co_credit_parent(group->self, source, group->count, radix), 0);
        } else if (grown > 0) {
            has_rest = true;
        }
    }
    if (has_rest) {
        report_within(group, rest_ns(group));
    }
}

void co_report_due(struct co_mcast_group *group)
{
    bool is_due = group->report_due_ns <= group->mcast->now_ns;
    if (is_due) {
        group->report_due_ns = CO_NEVER;
        if (group->unreported_done > 0) {
            co_report_send(group, group->left, 0);
        }
    }
    if (group->has_news || is_due) {
        group->has_news = false;
        report_credit(group, is_due);
    }
}

bool co_report_right_has(const struct co_mcast_group *group, uint32_t number)
{
    if (co_serial_before(number, group->right_done_before)) {
        return true;
    }
    uint32_t bit = number - group->right_done_before - 1;
    return number != group->right_done_before && bit < 32 && (group->right_done_mask >> bit & 1);
}

static void take_handshake(struct co_mcast_group *group, const struct co_progress_body *body)
{
    if (co_serial_before(body->done_before, group->right_done_before)) {
        return; // overtaken by a later report
    }
    group->right_done_before = body->done_before;
    group->right_done_mask = body->done_mask;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (!op->right_has_it && co_report_right_has(group, op->number)) {
            op->right_has_it = true;
            group->mcast->advances++;
            op->last_event_ns = group->mcast->now_ns;
            group->nudges = 0;
        } else if (op->state == 1) {
            op->last_event_ns = group->mcast->now_ns; // alive, and may still ask for the copy
        }
    }
}

static void take_credit(struct co_mcast_group *group, int from, const struct co_credit_entry *entry)
{
    int radix = (int)group->mcast->config.ack_radix;
    if (entry->source >= group->count || from == entry->source ||
        co_credit_parent(from, entry->source, group->count, radix) != group->self) {
        return;
    }
    int slot = co_credit_child_slot(from, entry->source, group->count, radix);
    size_t index = (size_t)entry->source * (size_t)group->child_room + (size_t)slot;
    uint32_t *received = &group->child_received[index], *heard = &group->child_heard[index];
    if (!co_serial_before(entry->received, *received)) {
        *received = entry->received;
        *heard = entry->received + entry->gaps;
    }
    group->has_news = true; // those above us in that source's tree may have to hear
    co_group_activate(group);
}

// What a member lost counts from the last judgement on: each has its own history, and who lost most before is seldom
// who loses now.
static void take_lost(struct co_mcast_group *group, int from, uint32_t lost)
{
    group->lost_known[from] = co_serial_max(group->lost_known[from], lost);
    uint32_t since = group->lost_known[from] - group->lost_judged[from];
    group->window.lost = since > group->window.lost ? since : group->window.lost;
}

void co_report_credit(struct co_mcast_group *group, bool is_asked)
{
    uint32_t credited = subtree_received(group, group->self), heard = subtree_heard(group, group->self);
    if (credited != group->window.credited || heard != group->window.heard) {
        if (co_send_window_credit(&group->window, group->senders, credited, heard, group->delivered, is_asked,
                                  group->mcast->now_ns)) {
            memcpy(group->lost_judged, group->lost_known, (size_t)group->count * sizeof(*group->lost_judged));
        }
        group->nudges = 0;
        group->mcast->advances++;
    }
}

void co_report_take(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body)
{
    struct co_progress_body progress;
    co_wire_progress_decode(&progress, body);
    if (from == group->right) { // he may be ahead: operations that we have not begun count too
        take_handshake(group, &progress);
    }
    for (unsigned i = 0; i < control->entries; i++) {
        struct co_credit_entry entry;
        co_wire_credit_decode(&entry, body, i);
        take_credit(group, from, &entry);
    }
    take_lost(group, from, progress.lost);
    co_report_credit(group, progress.echo != 0);
    if (progress.echo != 0 && progress.echo == group->nudge_sequence) {
        co_round_trip_sample(&group->mcast->trip, group->mcast->now_ns - group->nudged_ns);
        group->nudge_sequence = 0;
    }
}

// The neighbour reports a large operation at once; *is_large: we wait for such a report. *ripe_ns: since when, as long
// as we may know, the first of what we wait for has had its time on the path.
static bool waits_for_right(struct co_mcast_group *group, bool *is_large, uint64_t *ripe_ns)
{
    bool waits = false;
    *is_large = false;
    for (const struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (!op->right_has_it && op->blocks_missing == 0 && op->state >= 0) {
            uint64_t patience_ns = co_send_window_patience_ns(&group->window, group->senders);
            uint64_t op_ripe_ns = op->send_chunks > 0 ? op->last_sent_ns + patience_ns : 0;
            *ripe_ns = op_ripe_ns < *ripe_ns ? op_ripe_ns : *ripe_ns;
            waits = true;
            *is_large = *is_large || op->state == 0;
        }
    }
    return waits;
}

// For the credit of `source`, or for the handshake (CO_NUDGE_NO_SOURCE).
static void nudge(struct co_mcast_group *group, int member, uint32_t source)
{
    co_control_send_member(group, member, CO_CONTROL_NUDGE, source, 0, NULL, 0);
    group->nudge_sequence = (uint32_t)group->mcast->control_sequence;
    group->nudged_ns = group->mcast->now_ns;
}

// Children in the tree of `source` whose credit is behind what we have (or, at the source, have sent).
static void nudge_laggards(struct co_mcast_group *group, int source)
{
    int radix = (int)group->mcast->config.ack_radix;
    int children = co_credit_children(group->self, source, group->count, radix);
    int position = co_credit_position(group->self, source, group->count);
    uint32_t own = source == group->self ? group->window.sent : group->received[source];
    for (int slot = 0; slot < children; slot++) {
        size_t index = (size_t)source * (size_t)group->child_room + (size_t)slot;
        if (co_serial_before(group->child_received[index], own)) {
            nudge(group, (source + position * radix + 1 + slot) % group->count, (uint32_t)source);
        }
    }
}

// A report lost further down is asked for again by passing the nudge on to those who hold our own credit back.
void co_nudge_take(struct co_mcast_group *group, int from, const struct co_control *control)
{
    co_report_send(group, from, (uint32_t)control->sequence);
    uint32_t source = control->operation;
    int radix = (int)group->mcast->config.ack_radix;
    if (source < (uint32_t)group->count && (int)source != group->self &&
        co_credit_parent(group->self, (int)source, group->count, radix) == from) {
        nudge_laggards(group, (int)source);
        co_repair_nudged(group, (int)source);
    }
}

void co_nudge_due(struct co_mcast_group *group)
{
    uint64_t ripe_ns = group->is_stalled ? co_send_window_overdue_ns(&group->window, group->senders) : CO_NEVER;
    bool is_large, for_right = waits_for_right(group, &is_large, &ripe_ns);
    if (!for_right && !group->is_stalled) {
        group->nudge_due_ns = CO_NEVER;
        group->nudges = 0;
        return;
    }
    uint64_t now_ns = group->mcast->now_ns;
    uint64_t answer_ns = is_large || group->is_stalled ? CREDIT_NS : LAZY_NS;
    uint64_t patience = (answer_ns + co_control_timeout_ns(group->mcast)) << (group->nudges < 5 ? group->nudges : 5);
    patience = patience > NUDGE_MOST_NS ? NUDGE_MOST_NS : patience;
    if (group->nudge_due_ns == CO_NEVER) {
        group->nudge_due_ns = now_ns + patience;
        return;
    }
    group->nudge_due_ns = ripe_ns > group->nudge_due_ns ? ripe_ns : group->nudge_due_ns;
    if (now_ns < group->nudge_due_ns) {
        return;
    }
    if (for_right) {
        nudge(group, group->right, CO_NUDGE_NO_SOURCE);
    }
    if (group->is_stalled) {
        nudge_laggards(group, group->self);
    }
    group->nudges++;
    group->nudge_due_ns = now_ns + patience;
}
