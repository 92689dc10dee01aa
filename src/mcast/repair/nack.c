// SPDX-License-Identifier: BSD-3-Clause
//
// The slow path, the asker's side: exact missing ranges are asked of the left neighbour in the ring (S1, section 3.3),
// now and then of the block's owner, should the neighbour be stuck. Requests are numbered, answers name the number:
// that gives the time an answer takes, waiting behind other traffic included, and shows what was lost again. Cold
// without loss.
#include "base/counters.h"
#include "base/log.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/state/operation.h"
#include "mcast/repair/loss_detector.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/rdma_repair_read.h"
#include "mcast/send/control_send.h"

// Before the first answer nothing is known of the queues that it waits in.
#define RETRY_UNKNOWN_NS UINT64_C(20000000)
#define SPACING_UNKNOWN_NS UINT64_C(5000000) // before two chunks have come in a row
#define RETRY_LEAST_NS UINT64_C(500000)
#define RETRY_MOST_NS UINT64_C(100000000)
#define RETRIES_TO_SOURCE 6 // every so many requests of the neighbour go unanswered, one goes to the owner
#define CUTOFF_MOST 25      // times its floor
#define TURNS 2             // of all who send: then each has had its own
#define REORDER_NS UINT64_C(100000)
#define REQUESTS_UNANSWERED 24  // more would fill the neighbour's queue; answers to more could not be told apart
#define CHOKED_NS RETRY_MOST_NS // after the last of them: then they are lost, or their answers, and nobody else may ask

static uint64_t within(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
    return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

static struct co_loss_timing repair_timing(const struct co_mcast_group *group)
{
    const struct co_mcast *mcast = group->mcast;
    const struct co_rtt *answer = &mcast->nack_rtt;
    uint64_t retry =
        answer->smoothed_ns == 0 ? RETRY_UNKNOWN_NS : co_rtt_timeout_ns(answer, RETRY_LEAST_NS, RETRY_MOST_NS);
    return (struct co_loss_timing){
        .retry_ns = retry,
        .probe_ns = answer->smoothed_ns == 0 ? retry : within(2 * answer->smoothed_ns, RETRY_LEAST_NS, retry),
        .rtt_ns = answer->smoothed_ns,
        .busy_ns = mcast->spare_ns > mcast->heard_ns ? mcast->spare_ns : mcast->heard_ns,
        .budget = mcast->repair_window.now,
        .reorder_ns = REORDER_NS * (mcast->config.subgroups > 1 ? 5 : 1)};
}

static bool many_send(const struct co_mcast_op *op)
{
    return op->root < 0 && op->senders > CO_SEND_RATE_MANY;
}

// Where many send, what is awaited may stand behind what the others have sent: silence is that of the port.
static uint64_t cutoff_ns(const struct co_mcast_op *op)
{
    const struct co_mcast *mcast = op->group->mcast;
    uint64_t least = mcast->config.cutoff_ns, gap = op->group->widest_gap_ns;
    uint64_t spacing = mcast->spacing_ns == 0 ? SPACING_UNKNOWN_NS : mcast->spacing_ns;
    gap = many_send(op) && spacing > gap ? spacing : gap;
    return within(2 * (mcast->nack_rtt.smoothed_ns + gap), least, CUTOFF_MOST * least);
}

static bool left_is_dead(const struct co_mcast_group *group)
{
    return group->mcast->peers[group->members[group->left]].is_dead;
}

// Where calls were unequal before, the owner knows whether there is a block at all; the neighbour alone is sure to keep
// it.
static int holder_to_ask(const struct co_mcast_group *group, int source, const struct co_receive_block *block,
                         const struct co_loss_timing *timing)
{
    bool is_doubtful = timing->is_doubtful && block->count == 0 && block->retries % 2 == 0;
    bool is_owners = is_doubtful || block->retries % RETRIES_TO_SOURCE == RETRIES_TO_SOURCE - 1;
    return left_is_dead(group) || is_owners ? source : group->left;
}

// False: the queue is full, and the request has not left.
static bool request_block(struct co_mcast_op *op, int index, const struct co_loss_timing *timing)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    struct co_receive_block *block = &op->blocks[index];
    struct co_nack_range ranges[CO_NACK_RANGES_MAX];
    struct co_nack request = {.ranges = ranges, .room = CO_NACK_RANGES_MAX};
    struct co_receive_block before = *block;
    if (co_loss_detector_find(block, timing, mcast->now_ns, &request) == 0) {
        return true;
    }
    if (request.lost > 0) {
        co_repair_window_lost(&mcast->repair_window, request.lost, request.is_cut);
    }
    group->requests++;
    group->requested_ns[group->requests % CO_NACKS_TIMED] = mcast->now_ns;
    group->requested_of[group->requests % CO_NACKS_KEPT] = op->number;
    int holder = holder_to_ask(group, co_operation_source(op, index), block, timing);
    bool is_deaf = timing->is_deaf && !block->is_heard;
    struct co_nack_body nack = {.source = (uint16_t)co_operation_source(op, index),
                                .why = is_deaf             ? CO_NACK_DEAF
                                       : request.is_proven ? CO_NACK_LOST
                                                           : CO_NACK_GUESS,
                                .label = holder == group->left ? co_wire_nack_label(group->requests) : 0,
                                .can_read = co_rdma_repair_can_read(group, holder, &request)};
    uint8_t body[CO_CONTROL_MAX];
    size_t bytes = co_wire_nack_encode(body, &nack, ranges, request.count);
    if (co_control_send_member(group, holder, CO_CONTROL_NACK, op->number, (uint16_t)request.count, body, bytes) == 0) {
        *block = before;
        group->requests--;
        mcast->wants_write = true;
        return false;
    }
    for (unsigned i = 0; is_deaf && i < request.count; i++) {
        mcast->repairs_owed += ranges[i].count;
    }
    co_counter_add(CO_COUNT_NACKS_SENT, 1);
    mcast->events++;
    return true;
}

// Is it certain that an answer with this number is to that request, and no copy of one that had the same label?
static bool is_answer_to(const struct co_mcast_group *group, uint32_t number, uint32_t operation)
{
    uint32_t before = number - CO_WIRE_NACK_LABELS;
    return group->requested_of[number % CO_NACKS_KEPT] == operation &&
           (number < CO_WIRE_NACK_LABELS || group->requested_of[before % CO_NACKS_KEPT] != operation);
}

// Who answers does so in the order of the requests, so the answer to one says that what is still missing of earlier
// ones has been lost, or waits until the neighbour has it. One that brings nothing new shows how slow the way is, where
// nobody can have sent it again.
static void answered(struct co_mcast_group *group, uint32_t operation, uint8_t label, bool is_new)
{
    if (label == 0) {
        return;
    }
    uint32_t age = (group->requests - label) % CO_WIRE_NACK_LABELS, number = group->requests - age;
    bool is_ours = age < CO_NACKS_TIMED && (is_new || is_answer_to(group, number, operation));
    if (is_ours && co_serial_before(group->answered, number)) {
        uint64_t asked_ns = group->requested_ns[number % CO_NACKS_TIMED];
        co_rtt_sample(&group->mcast->nack_rtt, group->mcast->now_ns - asked_ns);
        group->answered = number;
    }
}

// What was asked for and came by multicast after all still stands in the port, before what is to come: as long as it
// arrives nobody is silent. No more of it counts than was asked for, since anybody can send old chunks again.
void co_nack_repair_came(struct co_mcast_group *group, const struct co_chunk *chunk, bool is_new)
{
    struct co_mcast *mcast = group->mcast;
    if (mcast->repairs_owed > 0) {
        mcast->repairs_owed--;
        mcast->repaired_ns = mcast->now_ns;
        mcast->spare_ns = is_new ? mcast->spare_ns : mcast->now_ns;
    }
    answered(group, chunk->operation, chunk->label, is_new);
}

void co_nack_deferred_receive(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    struct co_nack_body nack;
    co_wire_nack_decode(&nack, body);
    if (control->source == group->left) {
        answered(group, control->operation, nack.label, true);
    }
    struct co_mcast_op *op = co_operation_find(group, control->operation);
    struct co_receive_block *block = op == NULL ? NULL : co_operation_block(op, nack.source);
    if (block != NULL && block->asked_missing > 0) {
        struct co_nack_range known = {0, 0};
        block->is_deferred = true;
        if (control->entries > 0) {
            co_wire_range_decode(&known, body, 0);
        }
        co_receive_block_told(block, known.count, group->mcast->now_ns);
        co_operation_show(op, block);
        group->is_quiet = false;
    }
}

// What one source is heard by again is most likely what all are heard by. Of whom that is not so it takes as many
// blocks as it did before to know.
static void hear_again(struct co_mcast_group *group)
{
    for (int i = 0; i < group->count; i++) {
        group->unheard[i] = 0;
    }
    for (struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
        for (int i = 0; i < op->block_count && op->blocks_missing > 0; i++) {
            co_receive_block_awaits(&op->blocks[i], group->mcast->now_ns);
        }
    }
}

// Blocks of the source follow each other: with each that begins, what is due by silence is worked out anew.
static bool has_kept_block(const struct co_mcast_group *group, int source)
{
    struct co_mcast_op *op = group->last_kept == NULL ? NULL : group->oldest;
    while (op != NULL && op != group->last_kept && co_operation_block(op, source) == NULL) {
        op = op->next;
    }
    return op != NULL && co_operation_block(op, source) != NULL;
}

// A source sends its blocks in order: what it sends now says that everything before has left. Only what is new says
// anything of now: anybody can send old chunks again. One that a repair had brought before still proves that multicast
// comes here; who sends it again makes us as patient with a deaf block as with any other, no more.
void co_nack_chunk_arrived(struct co_mcast_group *group, const struct co_chunk *chunk, bool is_new)
{
    if (co_group_is_deaf(group, chunk->source)) {
        co_log(CO_LOG_DEBUG, CO_SUBSYS_MCAST, "multicast of rank %d comes again", group->members[chunk->source]);
        hear_again(group);
    }
    group->unheard[chunk->source] = group->unheard_run = 0;
    if (!is_new) {
        return;
    }
    group->mcast->peers[group->members[chunk->source]].heard_ns = group->mcast->heard_ns = group->mcast->now_ns;
    group->credit_every[chunk->source] = chunk->credit_shift == 0 ? 0 : UINT32_C(1) << (chunk->credit_shift - 1);
    if (!co_serial_before(group->latest[chunk->source], chunk->operation)) {
        return;
    }
    group->latest[chunk->source] = chunk->operation;
    group->is_quiet = group->is_quiet && !has_kept_block(group, chunk->source);
    for (struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
        struct co_receive_block *block = co_operation_block(op, chunk->source);
        if (co_serial_before(op->number, chunk->operation) && block != NULL) {
            co_operation_all_sent(op, block);
        }
    }
}

// Until when nothing more is asked but by the clock, since too much is unanswered.
static uint64_t choked_until(const struct co_mcast_group *group)
{
    bool is_choked = !left_is_dead(group) && group->requests - group->answered >= REQUESTS_UNANSWERED;
    return is_choked ? group->requested_ns[group->requests % CO_NACKS_TIMED] + CHOKED_NS : 0;
}

// Chunks of others that may come between two of this block.
static uint32_t others_turns(const struct co_mcast_op *op, const struct co_receive_block *block)
{
    uint32_t unit = op->turns.unit > 0 && block->next_psn % op->turns.unit == 0 ? op->turns.unit : 1;
    return TURNS * (uint32_t)op->senders * unit;
}

// What is so of the source now; every block of the group is to be met once in a turn, the oldest first.
static void look_at_source(const struct co_mcast_op *op, int source, const struct co_receive_block *block,
                           struct co_loss_timing *timing)
{
    struct co_mcast_group *group = op->group;
    bool is_repaired_alone = !block->is_heard && block->count >= CO_WIRE_ANNOUNCED_CHUNKS;
    timing->cutoff_ns = cutoff_ns(op);
    timing->heard_ns = group->mcast->peers[group->members[source]].heard_ns;
    timing->is_next = group->seen_in_turn[source] != group->turn;
    timing->request = group->requests + 1;
    timing->answered = group->answered;
    timing->is_choked = group->mcast->now_ns < choked_until(group);
    timing->is_deaf = co_group_is_deaf(group, source) || is_repaired_alone;
    timing->repaired_ns = co_group_is_deaf(group, source) ? group->mcast->repaired_ns : 0;
    timing->is_suspect = many_send(op) ? op->heard_ns == 0 : group->unheard[source] > 0;
    timing->is_doubtful = group->has_unequal_calls && op->root >= 0;
    timing->is_in_turn = many_send(op) && group->mcast->delivered - block->heard_at < others_turns(op, block);
    group->seen_in_turn[source] = group->turn;
}

// What later blocks have to know of this one.
static void pass_by(const struct co_receive_block *block, struct co_loss_timing *timing)
{
    timing->under_way += co_receive_block_under_way(block);
    timing->is_behind = timing->is_behind || co_receive_block_is_awaited(block);
}

// A collector's own block has yet to be put together, but nobody else has it.
static bool awaits_block(const struct co_mcast_op *op, int index)
{
    return !co_receive_block_is_complete(&op->blocks[index]) && co_operation_source(op, index) != op->group->self;
}

// Something is missing of it, or is said to be, and what is due depends on more than the silence of its source.
static bool is_in_trouble(const struct co_receive_block *block)
{
    return block->next_psn > block->count || block->asked_missing > 0 || block->in_tail || block->is_ack_requested;
}

uint64_t co_nack_due_ns(struct co_mcast_group *group)
{
    uint64_t due = CO_NEVER;
    if (group->is_quiet && group->quiet_until_ns > group->mcast->now_ns) {
        return group->quiet_until_ns;
    }
    struct co_loss_timing timing = repair_timing(group);
    group->turn++;
    for (const struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
        for (int i = 0; i < op->block_count && op->state == 0 && op->blocks_missing > 0; i++) {
            if (!awaits_block(op, i)) {
                continue;
            }
            look_at_source(op, co_operation_source(op, i), &op->blocks[i], &timing);
            uint64_t block_due = co_loss_detector_due_ns(&op->blocks[i], &timing);
            due = block_due < due ? block_due : due;
            due = timing.is_choked && choked_until(group) < due ? choked_until(group) : due;
            pass_by(&op->blocks[i], &timing);
        }
    }
    group->quiet_until_ns = due;
    return due;
}

void co_nack_send_due(struct co_mcast_group *group)
{
    bool is_quiet = group->is_quiet && group->quiet_until_ns > group->mcast->now_ns, is_trouble = false;
    if (group->mcast->is_behind || is_quiet) {
        return;
    }
    struct co_loss_timing timing = repair_timing(group);
    group->turn++;
    group->is_quiet = false;
    for (struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
        for (int i = 0; i < op->block_count && op->state == 0 && op->blocks_missing > 0; i++) {
            if (!awaits_block(op, i)) {
                continue;
            }
            look_at_source(op, co_operation_source(op, i), &op->blocks[i], &timing);
            *(op->root >= 0 ? &group->lost_of[op->root] : &group->lost) +=
                co_loss_detector_count_lost(&op->blocks[i], timing.reorder_ns, group->mcast->now_ns);
            if (co_loss_detector_due_ns(&op->blocks[i], &timing) <= group->mcast->now_ns &&
                !request_block(op, i, &timing)) {
                return;
            }
            is_trouble = is_trouble || is_in_trouble(&op->blocks[i]);
            pass_by(&op->blocks[i], &timing);
        }
    }
    group->is_quiet = !is_trouble;
    group->quiet_until_ns = 0;
}

// The source waits for credit. Its silence is no gap between two chunks: what we lack of what it has sent is lost.
void co_nack_source_waits(struct co_mcast_group *group, int source)
{
    for (struct co_mcast_op *op = co_operations_unfinished(group); op != NULL; op = op->next) {
        struct co_receive_block *block = co_operation_block(op, source);
        if (block != NULL && !co_receive_block_is_complete(block)) {
            block->is_ack_requested = true;
            group->is_quiet = false;
            co_group_activate(group);
            return;
        }
    }
}

static void is_deaf_to(struct co_mcast_group *group, int source)
{
    co_log(CO_LOG_DEBUG, CO_SUBSYS_MCAST, "multicast of rank %d does not come: its data is fetched",
           group->members[source]);
    group->unheard[source] = CO_DEAF_BLOCKS;
    group->is_quiet = false;
}

// Where many send, that nothing comes of anybody shows in one operation, and not in the third. Those that it still
// waits for are asked for as before.
static void look_back(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    uint32_t others = (uint32_t)op->senders - (op->send_chunks > 0);
    bool is_deaf = op->root < 0 && op->blocks_missing == 0 && others >= CO_DEAF_TO_ALL && group->unheard_run >= others;
    for (int i = 0; i < group->count && is_deaf; i++) {
        if (i != group->self && !co_group_is_deaf(group, i)) {
            is_deaf_to(group, i);
        }
    }
}

// Of a block that came by repair alone nobody has heard the source: when that is so again and again, its multicast
// does not come here.
void co_nack_block_arrived(struct co_mcast_op *op, int source)
{
    struct co_mcast_group *group = op->group;
    if (co_operation_block(op, source)->is_heard) {
        group->unheard_run = 0;
    } else {
        group->unheard_run++;
        if (!co_group_is_deaf(group, source) && ++group->unheard[source] == CO_DEAF_BLOCKS) {
            is_deaf_to(group, source);
        }
    }
    look_back(op);
    for (struct co_mcast_op *later = op->next; later != NULL; later = later->next) {
        struct co_receive_block *block = co_operation_block(later, source);
        if (block != NULL && !co_receive_block_is_complete(block)) {
            co_receive_block_is_next(block, group->mcast->now_ns);
            block->heard_at = group->mcast->delivered;
            group->is_quiet = false;
            return;
        }
    }
}
