// SPDX-License-Identifier: BSD-3-Clause
//
// What of the own block may leave now: what the window bears, turns and the pace allow; and when to look again where
// nothing may. Hot.
#include "mcast/send/send_room.h"

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"

#define PACED_LEAST 4 // chunks: fewer are not worth a turn

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

// Of `room` by the window alone, when it is the turn of `turn` chunks. By turns a few may be in flight, whatever the
// window says, for that tells nothing before the first word of members, and comes too late after it.
static uint32_t turns_room(struct co_mcast_op *op, uint32_t room, uint32_t turn)
{
    struct co_send_window *window = &op->group->window;
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

// Chunks that may leave as far as the window and turns say, when it is the turn of `turn`. A window that opened by a
// crumb waits for more, so that batches stay large; what nobody seems to hear is given up in time (send_rate.h).
static uint32_t window_room(struct co_mcast_op *op, uint32_t turn)
{
    struct co_mcast_group *group = op->group;
    uint32_t senders = (uint32_t)co_operation_senders(op), bound = co_send_window_bound(&group->window, senders);
    uint32_t room = co_send_window_room(&group->window, senders, group->mcast->now_ns);
    uint32_t batch = group->mcast->batch_room < bound / 4 ? group->mcast->batch_room : bound / 4;
    uint32_t left = op->send_chunks - op->next_psn, in_flight = co_send_window_in_flight(&group->window);
    if (op->turns.senders > 0) {
        return turns_room(op, room, turn);
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
static uint64_t stalled_due_ns(struct co_mcast_op *op, bool waits_for_turn)
{
    struct co_send_window *window = &op->group->window;
    uint32_t senders = (uint32_t)co_operation_senders(op);
    uint64_t give_up_ns = co_send_rate_give_up_ns(&co_send_window_limit(window, senders)->rate, senders);
    if (!waits_for_turn) {
        return give_up_ns;
    }
    uint64_t turn_ns = turn_due_ns(op);
    bool is_open = co_send_window_room(window, senders, op->group->mcast->now_ns) > 0;
    return is_open || turn_ns > give_up_ns ? turn_ns : give_up_ns;
}

uint32_t co_operation_room(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    uint64_t now_ns = group->mcast->now_ns;
    group->window.sending = (uint32_t)op->blocks_missing + 1; // the own block is not missing
    group->window.by_turns = op->turns.flight;                // 0 without turns
    uint32_t senders = (uint32_t)co_operation_senders(op), sending = co_send_window_sending(&group->window, senders);
    struct co_send_rate *rate = &co_send_window_limit(&group->window, senders)->rate;
    rate->lead = lead_of(op);
    rate->busy_ns = group->mcast->heard_ns;
    uint32_t turn = op->turns.senders > 0 ? whose_turn(op) : UINT32_MAX, room = window_room(op, turn);
    bool is_idle = co_send_window_in_flight(&group->window) == 0;
    uint32_t least = room < PACED_LEAST ? room : PACED_LEAST,
             allowed = co_send_rate_allows(rate, sending, is_idle, now_ns);
    if (group->held_ns != 0 && now_ns > group->held_ns) {
        co_path_queue_late(&rate->queue, (now_ns - group->held_ns) / CO_NS_PER_US);
    }
    bool wants_credit = room == 0 && turn > 0;
    if (wants_credit && senders == 1) { // of several, the others may be what held it up
        co_send_window_stalled(&group->window);
    }
    if (wants_credit && !group->wants_credit) {
        co_counter_add(CO_COUNT_WINDOW_STALLS, 1);
    }
    group->wants_credit = wants_credit;
    group->is_stalled = room == 0;
    uint64_t due_ns = room == 0         ? stalled_due_ns(op, turn == 0)
                      : allowed < least ? co_send_rate_due_ns(rate, sending, least)
                                        : CO_NEVER;
    group->pace_due_ns = due_ns > now_ns ? due_ns : CO_NEVER; // overdue: only credit helps
    group->held_ns = room > 0 && allowed < least ? due_ns : 0;
    return allowed < least ? 0 : allowed < room ? allowed : room;
}
