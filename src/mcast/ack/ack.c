// SPDX-License-Identifier: BSD-3-Clause
//
// One message says what a member has: which operations are complete (the handshake, for the left neighbour, who may
// then let go of the bytes) and how many chunks of a source its subtree has (credit, for the source). Sent when a
// quantum is full, at once when the neighbour is waiting for a large operation, lazily otherwise, and always when
// asked (ack_request.c). Warm.
#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/ack/ack.h"
#include "mcast/state/group.h"
#include "mcast/state/operation.h"
#include "mcast/send/control_send.h"

#define LAZY_OPERATIONS 16 // or after so many operations
#define CREDIT_CHUNKS 4    // a quantum of a slow link, whose time a rest waits for
#define GATHERED_PART 4
#define GATHERED_COST 20
#define DEAF UINT16_MAX // as a number of gaps
#define REST_MOST_NS UINT64_C(20000000)
#define CREDIT_ENTRIES_MAX ((CO_CONTROL_MAX - 16) / 8)

static void report_within(struct co_mcast_group *group, uint64_t delay_ns)
{
    uint64_t due = group->mcast->now_ns + delay_ns;
    if (due < group->report_due_ns) {
        group->report_due_ns = due;
    }
    co_group_activate(group);
}

void co_ack_operation_done(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (group->count < 2) {
        return;
    }
    group->unreported_done++;
    bool left_waits = op->bytes > group->mcast->config.eager_bytes && op->root != group->self;
    report_within(group, left_waits || group->unreported_done >= LAZY_OPERATIONS ? 0 : CO_ACK_LAZY_NS);
}

// Every source is told by every member itself.
static bool is_flat(const struct co_mcast_group *group)
{
    return group->tree.base >= group->count;
}

// Chunks of `source` that we and everybody below us in its tree have.
static uint32_t subtree_received(const struct co_mcast_group *group, int source)
{
    struct co_credit_children at = co_credit_children(co_credit_position(&group->tree, group->self, source));
    uint32_t least = source == group->self ? group->window.sent : group->received[source];
    while (co_credit_next(&group->tree, &at)) {
        least = co_serial_min(least, group->child_received[at.child]);
    }
    return least;
}

// Chunks of `source` that were sent before the newest that was heard of it, and are not received: lost, late, or of
// operations that we have yet to begin.
static uint32_t gaps_of(const struct co_mcast_group *group, int source)
{
    uint32_t gaps = group->staged[source];
    if (co_group_is_deaf(group, source)) {
        return DEAF; // nothing is on its way to us
    }
    for (const struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
        const struct co_receive_block *block =
            op->blocks_missing > 0 ? co_operation_block((struct co_mcast_op *)op, source) : NULL;
        if (block != NULL) {
            // A later operation has been heard, or there was silence for so long that nothing can be on its way.
            bool is_over = co_serial_before(op->number, group->latest[source]) ||
                           (block->in_tail && (is_flat(group) || !co_receive_block_is_long(block)));
            uint32_t heard = is_over ? block->chunks : block->next_psn;
            gaps += heard > block->count ? heard - block->count : 0;
        }
    }
    return gaps < DEAF ? gaps : DEAF - 1;
}

// Chunks of `source` that we and everybody below us either have or will not get but by repair.
static uint32_t subtree_heard(const struct co_mcast_group *group, int source)
{
    struct co_credit_children at = co_credit_children(co_credit_position(&group->tree, group->self, source));
    uint32_t least = source == group->self ? group->window.sent : group->received[source] + gaps_of(group, source);
    while (co_credit_next(&group->tree, &at)) {
        least = co_serial_min(least, group->child_heard[at.child]);
    }
    return least;
}

static void fill_done(const struct co_mcast_group *group, struct co_ack_body *body)
{
    body->done_before = group->next_operation;
    body->done_mask = 0;
    bool found = false;
    for (const struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
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

// A report on its way to a member: full, or complete, it leaves.
struct report {
    struct co_mcast_group *group;
    int member;
    struct co_ack_body body;
    bool is_first_of_handshake;
    unsigned count;
    struct co_credit_entry entries[CREDIT_ENTRIES_MAX];
};

static void report_leave(struct report *report)
{
    struct co_mcast_group *group = report->group;
    uint8_t bytes[CO_CONTROL_MAX];
    size_t size = co_wire_ack_encode(bytes, &report->body, report->entries, report->count);
    (report->is_first_of_handshake ? co_control_send_once : co_control_send_member)(
        group, report->member, CO_CONTROL_ACK, group->next_operation, (uint16_t)report->count, bytes, size);
    report->is_first_of_handshake = false;
    report->body.echo = 0;
    report->count = 0;
}

static void report_add(struct report *report, int source)
{
    struct co_mcast_group *group = report->group;
    if (source == group->self || co_credit_parent(&group->tree, group->self, source) != report->member) {
        return;
    }
    if (report->count == CREDIT_ENTRIES_MAX) {
        report_leave(report);
    }
    uint32_t received = subtree_received(group, source);
    uint32_t heard = subtree_heard(group, source), gaps = heard - received;
    gaps = gaps > DEAF ? DEAF : gaps;
    report->entries[report->count++] = (struct co_credit_entry){(uint16_t)source, (uint16_t)gaps, received};
    group->reported[source] = received;
    group->reported_heard[source] = heard;
}

static void report_add_listed(struct report *report, const struct co_ack_list *list)
{
    for (int i = 0; i < list->count; i++) {
        report_add(report, list->sources[i]);
    }
}

// Asked for, it has all sources whose credit goes that way, since what was said before may be lost.
void co_ack_send(struct co_mcast_group *group, int member, uint32_t echo)
{
    struct report report = {.group = group,
                            .member = member,
                            .body = {.lost = group->lost + group->lost_of[member], .echo = echo},
                            .is_first_of_handshake = echo == 0 && member == group->left && group->unreported_done > 0};
    fill_done(group, &report.body);
    struct co_credit_sources at = co_credit_sources(&group->tree, group->self, member);
    if (echo == 0 && !is_flat(group) && group->news.count + group->rests.count < group->count / at.step) {
        report_add_listed(&report, &group->news);
        report_add_listed(&report, &group->rests);
    } else {
        for (; at.position < group->count; at.position += at.step) {
            report_add(&report, co_credit_position(&group->tree, group->self, at.position));
        }
    }
    report_leave(&report);
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
    return ns < CO_ACK_CREDIT_NS ? CO_ACK_CREDIT_NS : ns > REST_MOST_NS ? REST_MOST_NS : ns;
}

void co_ack_changed(struct co_mcast_group *group, int source)
{
    co_ack_list_add(&group->news, source);
    co_group_activate(group);
}

// Chunks of all that are worth a report: a quarter of a turn of all, or of what is under way a twentieth, which is what
// waiting may cost in the end.
static uint32_t company_of(const struct co_mcast_group *group, int source)
{
    uint32_t turn = quantum_of(group, source) * group->senders / GATHERED_PART;
    size_t chunks = group->newest == NULL ? 0 : group->newest->bytes / group->mcast->config.chunk_bytes;
    return chunks / GATHERED_COST < turn ? (uint32_t)(chunks / GATHERED_COST) : turn;
}

// Where many send, each at its turn, what one is owed leaves soon enough with what the next ones are: such company is
// waited for, by those alone who have nobody below them, or it would add up.
static bool gathers(struct co_mcast_group *group, int source)
{
    struct co_credit_children at = co_credit_children(co_credit_position(&group->tree, group->self, source));
    if (group->senders == 1 || is_flat(group) || co_credit_next(&group->tree, &at)) {
        return false;
    }
    group->gathered_from = group->is_gathering ? group->gathered_from : group->delivered;
    group->is_gathering = group->delivered - group->gathered_from < company_of(group, source);
    return group->is_gathering;
}

// Credit that has grown by a quantum goes to its parent; less than that waits for company or for the timer.
static void report_credit(struct co_mcast_group *group, int source, bool is_due)
{
    if (source == group->self) {
        return;
    }
    uint32_t received = subtree_received(group, source) - group->reported[source];
    uint32_t was_heard = group->reported_heard[source];
    uint32_t heard = co_serial_max(was_heard, subtree_heard(group, source)) - was_heard;
    uint32_t grown = heard > received ? heard : received;
    bool is_ripe = grown >= quantum_of(group, source);
    if (is_due ? grown > 0 : is_ripe && !gathers(group, source)) {
        co_ack_send(group, co_credit_parent(&group->tree, group->self, source), 0);
    } else if (grown > 0) {
        co_ack_list_add(&group->rests, source);
        report_within(group, rest_ns(group));
    }
}

static void report_list(struct co_mcast_group *group, struct co_ack_list *list, bool is_due)
{
    for (int i = 0; i < list->count; i++) {
        report_credit(group, list->sources[i], is_due);
        list->has[list->sources[i]] = false;
    }
    list->count = 0;
}

// Of few members all are looked at with any news, in their order.
static void report_all(struct co_mcast_group *group, bool is_due)
{
    for (int source = 0; source < group->count && (is_due || group->news.count > 0); source++) {
        report_credit(group, source, is_due);
    }
    co_ack_list_clear(&group->news);
    co_ack_list_clear(&group->rests);
}

void co_ack_send_due(struct co_mcast_group *group)
{
    bool is_due = group->report_due_ns <= group->mcast->now_ns;
    if (is_due) {
        group->report_due_ns = CO_NEVER;
        if (group->unreported_done > 0) {
            co_ack_send(group, group->left, 0);
        }
    }
    if (is_flat(group)) {
        report_all(group, is_due);
        return;
    }
    bool was_gathering = group->is_gathering;
    report_list(group, &group->news, is_due);
    if (is_due || (was_gathering && !group->is_gathering)) {
        report_list(group, &group->rests, true);
        group->is_gathering = false;
    }
}

bool co_ack_right_has(const struct co_mcast_group *group, uint32_t number)
{
    if (co_serial_before(number, group->right_done_before)) {
        return true;
    }
    uint32_t bit = number - group->right_done_before - 1;
    return number != group->right_done_before && bit < 32 && (group->right_done_mask >> bit & 1);
}

static void take_handshake(struct co_mcast_group *group, const struct co_ack_body *body)
{
    if (co_serial_before(body->done_before, group->right_done_before)) {
        return; // overtaken by a later report
    }
    group->right_done_before = body->done_before;
    group->right_done_mask = body->done_mask;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (!op->right_has_it && co_ack_right_has(group, op->number)) {
            co_operation_right_has_it(op);
            group->mcast->advances++;
            op->last_event_ns = group->mcast->now_ns;
            group->ack_requests = 0;
        } else if (op->state == 1) {
            op->last_event_ns = group->mcast->now_ns; // alive, and may still ask for the copy
        }
    }
}

// Who guesses from silence that nothing is on its way says so of the whole block: at the source that is a word on what
// has been sent by now, and not on what will be. What has been received is no guess, although a sending thread may not
// have accounted for it yet. Who is deaf says it of all.
static uint32_t heard_by(const struct co_mcast_group *group, const struct co_credit_entry *entry)
{
    uint32_t heard = entry->received + entry->gaps;
    bool is_own = entry->source == group->self && entry->gaps != DEAF;
    return is_own ? co_serial_max(entry->received, co_serial_min(heard, group->window.sent)) : heard;
}

static void take_credit(struct co_mcast_group *group, int from, const struct co_credit_entry *entry)
{
    if (entry->source >= group->count || from == entry->source ||
        co_credit_parent(&group->tree, from, entry->source) != group->self) {
        return;
    }
    int child = co_credit_position(&group->tree, from, entry->source);
    uint32_t *received = &group->child_received[child], *heard = &group->child_heard[child];
    if (!co_serial_before(entry->received, *received)) {
        *received = entry->received;
        *heard = heard_by(group, entry);
    }
    co_ack_changed(group, entry->source); // those above us in that source's tree may have to hear
}

// What a member lost counts from the last judgement on: each has its own history, and who lost most before is seldom
// who loses now.
static void take_lost(struct co_mcast_group *group, int from, uint32_t lost)
{
    if (co_serial_before(group->lost_known[from], lost)) {
        group->lost_known[from] = lost;
        group->unlost_blocks = 0;
    }
    uint32_t since = group->lost_known[from] - group->lost_judged[from];
    group->window.lost = since > group->window.lost ? since : group->window.lost;
}

void co_ack_credit(struct co_mcast_group *group, bool is_asked)
{
    uint32_t credited = subtree_received(group, group->self), heard = subtree_heard(group, group->self);
    if (credited != group->window.credited || heard != group->window.heard) {
        if (co_send_window_credit(&group->window, group->senders, credited, heard, group->delivered, is_asked,
                                  group->mcast->now_ns)) {
            memcpy(group->lost_judged, group->lost_known, (size_t)group->count * sizeof(*group->lost_judged));
        }
        group->ack_requests = 0;
        group->mcast->advances++;
    }
}

void co_ack_receive(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body)
{
    struct co_ack_body progress;
    co_wire_ack_decode(&progress, body);
    if (from == group->right) { // he may be ahead: operations that we have not begun count too
        take_handshake(group, &progress);
    }
    for (unsigned i = 0; i < control->entries; i++) {
        struct co_credit_entry entry;
        co_wire_credit_decode(&entry, body, i);
        take_credit(group, from, &entry);
    }
    take_lost(group, from, progress.lost);
    co_ack_credit(group, progress.echo != 0);
    if (progress.echo != 0 && progress.echo == group->ack_request_sequence) {
        co_rtt_sample(&group->mcast->control_rtt, group->mcast->now_ns - group->ack_requested_ns);
        group->ack_request_sequence = 0;
    }
}
