// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks out of a buffer: first transmissions to the subgroups within the window, and repairs to one peer. Payload
// leaves from where it stands; heads and tags are built beside it for one batch at a time. Hot.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/send/control_send.h"

#define PACED_LEAST 4     // chunks: fewer are not worth a turn
#define ENDS_AGAIN_MOST 6 // times that the end of a block is said again: then silence tells

int co_send_batch_open(struct co_send_batch *batch, struct co_auth *auth, unsigned room)
{
    batch->auth = auth;
    batch->heads = calloc(room, sizeof(*batch->heads));
    batch->tails = calloc(room, sizeof(*batch->tails));
    batch->datagrams = calloc(room, sizeof(*batch->datagrams));
    return batch->heads == NULL || batch->tails == NULL || batch->datagrams == NULL ? -ENOMEM : 0;
}

void co_send_batch_close(struct co_send_batch *batch)
{
    free(batch->heads);
    free(batch->tails);
    free(batch->datagrams);
}

// Chunks `first` on of a block in the operation's buffer; `as` says whose they are and why they are sent. Looks at
// nothing of the operation that changes while it is under way: the sending thread does it without the engine.
static void fill_batch(struct co_send_batch *batch, const struct co_mcast_op *op, const struct co_receive_block *block,
                       const struct co_chunk *as, uint32_t first, unsigned count)
{
    struct co_mcast_group *group = op->group;
    const struct co_mcast *mcast = group->mcast;
    bool is_own = block == co_operation_block((struct co_mcast_op *)op, group->self);
    const struct co_region *region = is_own ? op->region : NULL;
    size_t full = mcast->config.chunk_bytes;
    struct co_chunk chunk = *as;
    chunk.chunk_bytes = (uint16_t)full;
    chunk.team = (uint32_t)group->team_id;
    chunk.operation = op->number;
    chunk.block_bytes = block->bytes;
    for (unsigned i = 0; i < count; i++) {
        chunk.psn = first + i;
        size_t start = (size_t)chunk.psn * full;
        size_t bytes = block->bytes - start < full ? block->bytes - start : full;
        const uint8_t *payload = op->buffer + block->offset + start;
        uint8_t nonce[CO_AUTH_NONCE_BYTES];
        co_wire_chunk_encode(batch->heads[i], &chunk);
        co_wire_chunk_nonce(nonce, &chunk);
        co_auth_seal(batch->auth, co_chunk_domain(&chunk), group->members[chunk.source], group->team_id, nonce,
                     batch->heads[i], CO_WIRE_HEAD_BYTES, payload, bytes, batch->tails[i]);
        batch->datagrams[i] = (struct co_tx_datagram){.head = batch->heads[i],
                                                      .payload = payload,
                                                      .tail = batch->tails[i],
                                                      .region = region,
                                                      .head_bytes = CO_WIRE_HEAD_BYTES,
                                                      .payload_bytes = (uint32_t)bytes,
                                                      .tail_bytes = (uint32_t)mcast->tag_bytes,
                                                      .immediate = chunk.psn};
    }
}

// At most a batch. Returns how many left, or -errno.
static int send_some(struct co_mcast_op *op, const struct co_receive_block *block, const struct co_chunk *as,
                     uint32_t first, uint32_t count, struct co_destination to)
{
    struct co_mcast *mcast = op->group->mcast;
    if (count > mcast->batch_room) {
        count = mcast->batch_room;
    }
    fill_batch(&mcast->batch, op, block, as, first, count);
    int sent = mcast->transport->ops->send(mcast->transport, to, mcast->batch.datagrams, count);
    if (sent >= 0 && (uint32_t)sent < count) {
        co_counter_add(CO_COUNT_BACKPRESSURE, 1);
        mcast->wants_write = true;
    }
    return sent;
}

int co_transmit_repairs(struct co_mcast_op *op, const struct co_retransmit *repair)
{
    struct co_destination to = {CO_TO_PEER, (unsigned)op->group->members[repair->to]};
    struct co_chunk as = {.source = repair->source, .is_repair = true, .label = repair->label};
    return send_some(op, co_operation_block(op, repair->source), &as, repair->first, repair->count, to);
}

void co_repair_tag(struct co_mcast_op *op, const struct co_retransmit *repair, uint32_t psn,
                   uint8_t tag[CO_AUTH_TAG_MAX])
{
    struct co_mcast *mcast = op->group->mcast;
    struct co_chunk as = {.source = repair->source, .is_repair = true, .label = repair->label};
    fill_batch(&mcast->batch, op, co_operation_block(op, repair->source), &as, psn, 1);
    memcpy(tag, mcast->batch.tails[0], mcast->tag_bytes);
}

// To the collector, until the queue is full. Returns how many left.
uint32_t co_contribution_send(struct co_mcast_op *op, const struct co_receive_block *part, uint32_t first)
{
    struct co_destination to = {CO_TO_PEER, (unsigned)op->group->members[op->root]};
    struct co_chunk as = {.source = (uint16_t)op->group->self, .is_contribution = true};
    uint32_t at = first;
    while (at < part->chunks) {
        int sent = send_some(op, part, &as, at, part->chunks - at, to);
        if (sent <= 0) {
            break;
        }
        at += (uint32_t)sent;
    }
    return at - first;
}

static uint8_t credit_shift(const struct co_mcast_op *op)
{
    return co_send_window_credit_shift(&op->group->window, (uint32_t)co_operation_senders(op));
}

static size_t bytes_of(const struct co_mcast_op *op, uint32_t first, uint32_t count, size_t chunk_bytes)
{
    const struct co_receive_block *block = co_operation_block((struct co_mcast_op *)op, op->group->self);
    size_t end = (size_t)(first + count) * chunk_bytes;
    return (end < block->bytes ? end : block->bytes) - (size_t)first * chunk_bytes;
}

static unsigned subgroup_of(const struct co_mcast *mcast, uint32_t psn)
{
    return psn / mcast->batch_room % mcast->config.subgroups;
}

// Follows the last chunk of a longer block, so that receivers need no timer to know that a missing tail is lost. That
// chunk has often filled the local queue: then again when there is room.
void co_operation_announce_end(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    struct co_destination to = {CO_TO_GROUP, subgroup_of(mcast, op->send_chunks - 1)};
    if (op->send_chunks >= CO_WIRE_ANNOUNCED_CHUNKS) {
        op->owes_end = co_control_send(mcast, group->team_id, group->self, to, CO_CONTROL_END_OF_BLOCK, op->number, 0,
                                       NULL, 0) == 0;
        op->ends += !op->owes_end;
        op->end_said_ns = mcast->now_ns;
        mcast->wants_write = mcast->wants_write || op->owes_end;
    }
}

// Nothing was heard for one, two, four... times the patience, and as much has passed since it was said: who was away
// for longer than all of these says it once.
uint64_t co_operation_end_due_ns(struct co_mcast_op *op)
{
    struct co_send_window *window = &op->group->window;
    uint32_t senders = (uint32_t)co_operation_senders(op);
    if (op->ends > ENDS_AGAIN_MOST || op->owes_end) {
        return CO_NEVER;
    }
    uint64_t patience_ns = co_send_window_patience_ns(window, senders);
    uint64_t silent_ns = co_send_window_overdue_ns(window, senders) - patience_ns + (patience_ns << (op->ends - 1));
    uint64_t said_ns = op->end_said_ns + (op->ends < 2 ? patience_ns : patience_ns << (op->ends - 2));
    return silent_ns > said_ns ? silent_ns : said_ns;
}

void co_operation_take_turns(struct co_mcast_op *op)
{
    uint32_t place = 0, longest = 1;
    if (op->parts != NULL || op->root >= 0 || op->senders <= CO_SEND_RATE_MANY ||
        co_operation_senders(op) < op->senders) {
        return;
    }
    for (int i = 0; i < op->block_count; i++) {
        place += i < op->group->self && op->blocks[i].chunks > 0;
        longest = op->blocks[i].chunks > longest ? op->blocks[i].chunks : longest;
    }
    uint32_t share = co_send_window_share(op->group->window.alone.most, (uint32_t)op->senders);
    uint32_t unit = co_send_window_turn(&op->group->window, (uint32_t)op->senders);
    unit = unit < longest ? unit : longest;
    op->turns = (struct co_send_turns){.senders = (uint32_t)op->senders,
                                       .place = place,
                                       .unit = unit,
                                       .flight = 2 * unit < share ? 2 * unit : share,
                                       .reach = unit,
                                       .since_ns = op->group->mcast->now_ns};
}

// As far as own progress goes.
static void reach(struct co_mcast_op *op)
{
    uint32_t turn_end = op->next_psn - op->next_psn % op->turns.unit + op->turns.unit;
    if (op->turns.reach == turn_end) {
        return;
    }
    op->turns.reach = turn_end;
    op->turns.come = 0;
    for (int i = 0; i < op->block_count; i++) {
        if (i != op->group->self && op->blocks[i].chunks > 0) {
            co_send_turns_show(&op->turns, 0, op->blocks[i].shown);
        }
    }
}

// When those whose turn it is are waited for no longer: they may be late, or gone.
static uint64_t turn_due_ns(const struct co_mcast_op *op)
{
    uint64_t latest_ns = op->last_sent_ns > op->heard_ns ? op->last_sent_ns : op->heard_ns;
    latest_ns = latest_ns > op->turns.since_ns ? latest_ns : op->turns.since_ns;
    return latest_ns + co_send_window_patience_ns(&op->group->window, op->turns.senders);
}

// Own chunks whose turn it is.
static uint32_t whose_turn(struct co_mcast_op *op)
{
    reach(op);
    return co_send_turns_room(&op->turns, op->next_psn, co_send_turns_most(&op->group->window.shared.rate));
}

static bool waits_for_turn(struct co_mcast_op *op)
{
    return op->turns.senders > 0 && whose_turn(op) == 0;
}

// Of `room` by the window alone. By turns a few may be in flight, whatever the window says, for that tells nothing
// before the first word of members, and comes too late after it.
static uint32_t turns_room(struct co_mcast_op *op, uint32_t room)
{
    struct co_send_window *window = &op->group->window;
    uint32_t turn = whose_turn(op);
    if (turn == 0) {
        return op->group->mcast->now_ns >= turn_due_ns(op) ? room : 0;
    }
    uint32_t in_flight = co_send_window_in_flight(window), owed = window->sent - window->credited;
    uint32_t share = co_send_window_share(window->alone.most, op->turns.senders);
    uint32_t few = in_flight < op->turns.flight ? op->turns.flight - in_flight : 0;
    uint32_t more = room > few ? room : few, memory = owed < share ? share - owed : 0;
    more = more < memory ? more : memory;
    return more < turn ? more : turn;
}

// Chunks that may leave now. A window that opened by a crumb waits for more, so that batches stay large; what nobody
// seems to hear is given up in time (send_rate.h).
static uint32_t window_room(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    uint32_t senders = (uint32_t)co_operation_senders(op), bound = co_send_window_bound(&group->window, senders);
    uint32_t room = co_send_window_room(&group->window, senders, group->mcast->now_ns);
    uint32_t batch = group->mcast->batch_room < bound / 4 ? group->mcast->batch_room : bound / 4;
    uint32_t left = op->send_chunks - op->next_psn, in_flight = co_send_window_in_flight(&group->window);
    if (op->turns.senders > 0) {
        return turns_room(op, room);
    }
    bool is_worth_it = room >= left || room >= batch || in_flight == 0 || in_flight >= bound;
    return is_worth_it ? room : 0;
}

// Chunks of the own block that have arrived beyond those of the others on average, of those under way. Blocks that end
// one after the other leave ports idle at the end: each member's own, once the others have ended before it. Of what is
// in flight half is taken for arrived.
static int32_t lead_of(const struct co_mcast_op *op)
{
    if (op->root >= 0 || op->begun_chunks == 0) {
        return 0;
    }
    uint32_t in_flight = co_send_window_in_flight(&op->group->window);
    uint32_t arrived = op->next_psn > in_flight / 2 ? op->next_psn - in_flight / 2 : 0;
    return (int32_t)(arrived - op->arrived_chunks * op->send_chunks / op->begun_chunks);
}

// When what holds the own block up ends by time: turns, the window, or both.
static uint64_t stalled_due_ns(struct co_mcast_op *op)
{
    struct co_send_window *window = &op->group->window;
    uint32_t senders = (uint32_t)co_operation_senders(op);
    uint64_t give_up_ns = co_send_rate_give_up_ns(&co_send_window_limit(window, senders)->rate, senders);
    if (!waits_for_turn(op)) {
        return give_up_ns;
    }
    uint64_t turn_ns = turn_due_ns(op);
    bool is_open = co_send_window_room(window, senders, op->group->mcast->now_ns) > 0;
    return is_open || turn_ns > give_up_ns ? turn_ns : give_up_ns;
}

// Likewise by the pace too; 0: none before pace_due_ns, or credit.
static uint32_t room_of(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    uint64_t now_ns = group->mcast->now_ns;
    group->window.sending = (uint32_t)op->blocks_missing + 1; // the own block is not missing
    group->window.by_turns = op->turns.flight;                // 0 without turns
    uint32_t senders = (uint32_t)co_operation_senders(op), sending = co_send_window_sending(&group->window, senders);
    struct co_send_rate *rate = &co_send_window_limit(&group->window, senders)->rate;
    rate->lead = lead_of(op);
    rate->busy_ns = group->mcast->heard_ns;
    uint32_t room = window_room(op);
    bool is_idle = co_send_window_in_flight(&group->window) == 0;
    uint32_t least = room < PACED_LEAST ? room : PACED_LEAST,
             allowed = co_send_rate_allows(rate, sending, is_idle, now_ns);
    if (group->held_ns != 0 && now_ns > group->held_ns) {
        co_send_queue_late(&rate->queue, (now_ns - group->held_ns) / CO_NS_PER_US);
    }
    bool wants_credit = room == 0 && !waits_for_turn(op);
    if (wants_credit && !group->wants_credit) {
        co_counter_add(CO_COUNT_WINDOW_STALLS, 1);
    }
    group->wants_credit = wants_credit;
    group->is_stalled = room == 0;
    uint64_t due_ns = room == 0         ? stalled_due_ns(op)
                      : allowed < least ? co_send_rate_due_ns(rate, sending, least)
                                        : CO_NEVER;
    group->pace_due_ns = due_ns > now_ns ? due_ns : CO_NEVER; // overdue: only credit helps
    group->held_ns = room > 0 && allowed < least ? due_ns : 0;
    return allowed < least ? 0 : allowed < room ? allowed : room;
}

bool co_operation_has_room(struct co_mcast_op *op)
{
    return room_of(op) > 0;
}

// What of the own block may leave now: at most a batch, whole batches to one subgroup. False: the window is closed.
static bool next_part(struct co_mcast_op *op, struct co_send_part *part)
{
    const struct co_mcast *mcast = op->group->mcast;
    uint32_t left = op->send_chunks - op->next_psn, room = room_of(op);
    if (room == 0) {
        return false;
    }
    uint32_t count = left < room ? left : room, batch = mcast->batch_room - op->next_psn % mcast->batch_room;
    *part = (struct co_send_part){.op = op,
                                  .first = op->next_psn,
                                  .count = count < batch ? count : batch,
                                  .credit_shift = credit_shift(op),
                                  .begun_ns = mcast->now_ns,
                                  .subgroup = subgroup_of(mcast, op->next_psn)};
    return true;
}

bool co_transmit_account(const struct co_send_part *part)
{
    struct co_mcast_op *op = part->op;
    struct co_mcast *mcast = op->group->mcast;
    if (part->sent <= 0) {
        return false;
    }
    uint32_t sent = (uint32_t)part->sent;
    co_counter_add(CO_COUNT_DATA_SENT, sent);
    co_counter_add(CO_COUNT_DATA_SENT_BYTES, bytes_of(op, part->first, sent, mcast->config.chunk_bytes));
    op->group->mcast->sent_turn++;
    op->next_psn += sent;
    co_send_window_sent(&op->group->window, (uint32_t)co_operation_senders(op), sent, op->group->delivered,
                        op->next_psn == op->send_chunks, part->begun_ns);
    op->last_sent_ns = op->last_event_ns = mcast->now_ns;
    mcast->events++;
    mcast->advances++;
    if (op->next_psn == op->send_chunks) {
        op->end_at = op->group->window.sent;
        co_operation_announce_end(op);
    }
    return sent == part->count;
}

void co_operation_transmit(struct co_mcast_op *op)
{
    struct co_send_part part;
    while (op->next_psn < op->send_chunks && next_part(op, &part)) {
        struct co_destination to = {CO_TO_GROUP, part.subgroup};
        struct co_chunk as = {.source = (uint16_t)op->group->self, .credit_shift = part.credit_shift};
        part.sent = send_some(op, co_operation_block(op, op->group->self), &as, part.first, part.count, to);
        if (!co_transmit_account(&part)) {
            return;
        }
    }
}

bool co_mcast_send_begin(struct co_mcast *mcast, uint64_t now_ns)
{
    mcast->now_ns = now_ns;
    for (struct co_mcast_group *group = mcast->active; group != NULL; group = group->next_active) {
        struct co_mcast_op *op = co_operation_for_sender(group);
        if (op != NULL && next_part(op, &mcast->part)) {
            op->is_sending = true;
            return true;
        }
    }
    return false;
}

void co_mcast_send_run(struct co_mcast *mcast)
{
    struct co_send_part *part = &mcast->part;
    struct co_destination to = {CO_TO_GROUP, part->subgroup};
    struct co_chunk as = {.source = (uint16_t)part->op->group->self, .credit_shift = part->credit_shift};
    fill_batch(&mcast->sender_batch, part->op, co_operation_block(part->op, part->op->group->self), &as, part->first,
               part->count);
    part->sent = mcast->transport->ops->send(mcast->transport, to, mcast->sender_batch.datagrams, part->count);
}
