// SPDX-License-Identifier: BSD-3-Clause
//
// Messages on their way. To a rank that never receives from anybody a message arrives when it is sent: only the order
// of each sender matters there, and that is kept. To one that does it is held until it is clear that the receive that
// would take it is the one that did, as far as the trace tells.
#include <errno.h>
#include <stdlib.h>

#include "tools/trace/replay/replay_state.h"

static void *receive_key(struct co_replay_rank *rank, uint32_t number)
{
    return co_hash_map_get(&rank->receives, (uint64_t)number + 1);
}

// The receive has a message: who waits for it goes on, and both are over.
static void finish(struct co_replay *replay, struct co_replay_place *place, struct co_queue_item *receive,
                   struct co_queue_item *message)
{
    struct co_replay_rank *rank = &replay->ranks[place->rank];
    struct co_replay_receive *known = receive_key(rank, receive->number);
    replay->result->matches++;
    replay->result->otherwise += receive->got_source != CO_CALL_NOT_KNOWN &&
                                 (receive->got_source != message->source ||
                                  (receive->got_tag != CO_CALL_NOT_KNOWN && receive->got_tag != message->tag));
    co_replay_fit(replay, place, receive, message);
    if (known != NULL) {
        known->item = NULL;
    }
    if (rank->wait == CO_WAIT_RECEIVE && rank->wait_receive == receive->number) {
        rank->wait = CO_WAIT_NOT;
        co_replay_wake(replay, rank, replay->clock_ns);
    }
    co_queue_item_free(&place->queue, receive);
    co_queue_item_free(&place->queue, message);
}

static void arrive(struct co_replay *replay, struct co_replay_place *place, struct co_queue_item *message)
{
    struct co_replay_rank *rank = &replay->ranks[place->rank];
    struct co_queue_item *receive = co_queue_arrive(&place->queue, message);
    co_replay_count_depth(replay, rank);
    if (receive != NULL) {
        rank->posted--;
        finish(replay, place, receive, message);
        return;
    }
    rank->unexpected++;
    replay->result->unexpected++;
    if (rank->wait == CO_WAIT_PROBE) {
        rank->wait = CO_WAIT_NOT; // it looks again
        co_replay_wake(replay, rank, replay->clock_ns);
    }
}

static void arrive_held(struct co_replay *replay, struct co_replay_place *place, struct co_queue_item *message)
{
    co_queue_list_remove(&place->queue.held, message);
    replay->ranks[place->rank].unexpected--;
    arrive(replay, place, message);
}

static bool is_first_of_sender(const struct co_queue_item *message)
{
    for (const struct co_queue_item *other = message->previous; other != NULL; other = other->previous) {
        if (other->source == message->source) {
            return false;
        }
    }
    return true;
}

static bool suits(const struct co_queue_item *receive, const struct co_queue_item *message)
{
    return receive->got_source == CO_CALL_NOT_KNOWN ||
           (receive->got_source == message->source &&
            (receive->got_tag == CO_CALL_NOT_KNOWN || receive->got_tag == message->tag));
}

// Held messages that a posted receive is known to get arrive.
static void settle(struct co_replay *replay, struct co_replay_place *place)
{
    struct co_queue_item *message = place->queue.held.first;
    while (message != NULL) {
        struct co_queue_item *next = message->next;
        if (is_first_of_sender(message)) {
            const struct co_queue_item *receive = co_queue_find_posted(&place->queue, message->source, message->tag);
            if (receive != NULL && suits(receive, message)) {
                arrive_held(replay, place, message);
                next = place->queue.held.first;
            }
        }
        message = next;
    }
}

// A message that such a receive gets was sent before it was posted: it arrives, and what its sender sent before.
static void draw(struct co_replay *replay, struct co_replay_place *place, int32_t source, int32_t tag,
                 const struct co_queue_item *receive)
{
    struct co_queue_item *wanted = place->queue.held.first;
    while (wanted != NULL && !(co_queue_fits(source, tag, wanted->source, wanted->tag) && suits(receive, wanted))) {
        wanted = wanted->next;
    }
    int32_t sender = wanted == NULL ? 0 : wanted->source;
    bool is_there = wanted == NULL;
    for (struct co_queue_item *message = place->queue.held.first, *next; !is_there && message != NULL; message = next) {
        next = message->next;
        is_there = message == wanted;
        if (message->source == sender) {
            arrive_held(replay, place, message);
        }
    }
}

void co_replay_send(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event)
{
    struct co_replay_place *from = co_replay_place_of(replay, rank, event->comm, event->call);
    int32_t peer =
        from == NULL || from->comm == NULL ? -1 : co_replay_world_rank(co_replay_peers(from->comm), event->peer);
    struct co_replay_result *result = replay->result;
    if (event->tag < 0) {
        return; // no program can send that
    }
    result->sends++;
    if (peer >= 0 && (uint32_t)peer < result->talk_ranks) {
        result->talk[(uint64_t)(uint32_t)rank->rank * result->talk_ranks + (uint32_t)peer]++;
    }
    if (from != NULL) {
        from->has_talked = true;
    }
    if (peer < 0 || (uint32_t)peer >= replay->size || !replay->ranks[peer].is_traced) {
        result->sent_outside++;
        co_replay_misfit(from == NULL ? NULL : from->comm);
        return;
    }
    struct co_replay_rank *to = &replay->ranks[peer];
    struct co_replay_place *place = co_replay_place_in(replay, to, co_replay_peers(from->comm));
    struct co_queue_item *message =
        place == NULL ? NULL : co_queue_item_new(&place->queue, (int32_t)from->own, event->tag);
    if (message == NULL) {
        replay->error = -ENOMEM;
    } else if (!to->takes_from_anybody) {
        arrive(replay, place, message);
    } else {
        co_queue_list_add(&place->queue.held, message);
        to->unexpected++;
        settle(replay, place);
        if (to->wait == CO_WAIT_PROBE) {
            to->wait = CO_WAIT_NOT;
            co_replay_wake(replay, to, replay->clock_ns);
        }
    }
}

void co_replay_post(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event)
{
    if (event->peer < CO_CALL_ANY || event->tag < CO_CALL_ANY) {
        return; // no program can ask for that
    }
    struct co_replay_place *place = co_replay_place_of(replay, rank, event->comm, event->call);
    struct co_queue_item *receive = place == NULL ? NULL : co_queue_item_new(&place->queue, event->peer, event->tag);
    struct co_replay_receive *known = calloc(1, sizeof *known);
    if (receive == NULL || known == NULL) {
        replay->error = -ENOMEM;
        free(known);
        return;
    }
    receive->number = event->number;
    receive->got_source = event->got_source;
    receive->got_tag = event->got_tag;
    *known = (struct co_replay_receive){.place = place, .item = receive};
    if (co_hash_map_put(&rank->receives, (uint64_t)event->number + 1, known) != 0) {
        free(known);
    }
    draw(replay, place, receive->source, receive->tag, receive);
    struct co_queue_item *message = co_queue_post(&place->queue, receive);
    co_replay_count_depth(replay, rank);
    if (message != NULL) {
        rank->unexpected--;
        finish(replay, place, receive, message);
        return;
    }
    rank->posted++;
    settle(replay, place);
}

// Whether somebody in the trace can send what the receive waits for.
static bool can_come(const struct co_replay *replay, const struct co_replay_place *place, int32_t source)
{
    int32_t world_rank = place->comm == NULL ? -1 : co_replay_world_rank(co_replay_peers(place->comm), source);
    return source == CO_CALL_ANY
               ? place->comm != NULL
               : world_rank >= 0 && (uint32_t)world_rank < replay->size && replay->ranks[world_rank].is_traced &&
                     replay->ranks[world_rank].wait != CO_WAIT_OVER;
}

// What a message must have that a receive gets which asked for this, and got that.
static int32_t known_or(int32_t number, int32_t asked)
{
    return number >= 0 ? number : asked >= 0 ? asked : 0;
}

// The message that nobody in the trace has sent.
static void arrive_from_outside(struct co_replay *replay, struct co_replay_place *place, int32_t source, int32_t tag)
{
    struct co_queue_item *message = co_queue_item_new(&place->queue, source, tag);
    if (message == NULL) {
        replay->error = -ENOMEM;
        return;
    }
    replay->result->from_outside++;
    co_replay_misfit(place->comm);
    arrive(replay, place, message);
}

static void forget(struct co_replay_rank *rank, uint32_t number)
{
    free(co_hash_map_remove(&rank->receives, (uint64_t)number + 1));
}

// Equal receives that were posted before get theirs first. What no message can help is taken away.
static void bring(struct co_replay *replay, struct co_replay_rank *rank, struct co_replay_receive *known)
{
    struct co_replay_place *place = known->place;
    const struct co_queue_item item = *known->item;
    for (uint32_t tries = place->queue.posted.count; known->item != NULL && tries > 0; tries--) {
        arrive_from_outside(replay, place, known_or(item.got_source, item.source), known_or(item.got_tag, item.tag));
    }
    if (known->item != NULL) {
        co_queue_cancel(&place->queue, known->item);
        co_queue_item_free(&place->queue, known->item);
        rank->posted--;
    }
}

void co_replay_done(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event)
{
    struct co_replay_receive *known = receive_key(rank, event->number);
    const struct co_queue_item *item = known == NULL ? NULL : known->item;
    if (item != NULL) {
        int32_t source = item->got_source != CO_CALL_NOT_KNOWN ? item->got_source : item->source;
        if (!rank->is_let_go && can_come(replay, known->place, source)) {
            rank->wait = CO_WAIT_RECEIVE;
            rank->wait_receive = event->number;
            return;
        }
        bring(replay, rank, known);
    }
    forget(rank, event->number);
}

void co_replay_cancel(struct co_replay_rank *rank, const struct co_event *event)
{
    struct co_replay_receive *known = receive_key(rank, event->number);
    if (known != NULL && known->item != NULL) {
        co_queue_cancel(&known->place->queue, known->item);
        co_queue_item_free(&known->place->queue, known->item);
        rank->posted--;
    }
    forget(rank, event->number);
}

bool co_replay_probe(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event)
{
    struct co_replay_place *place = co_replay_place_of(replay, rank, event->comm, event->call);
    struct co_queue_item asked = {.got_source = event->got_source, .got_tag = event->got_tag};
    if (place == NULL || event->peer < CO_CALL_ANY || event->tag < CO_CALL_ANY) {
        return true;
    }
    struct co_queue_item *message = co_queue_probe(&place->queue, event->peer, event->tag);
    if (message == NULL || !suits(&asked, message)) {
        draw(replay, place, event->peer, event->tag, &asked);
        message = co_queue_probe(&place->queue, event->peer, event->tag);
    }
    if (message == NULL) {
        int32_t source = event->got_source != CO_CALL_NOT_KNOWN ? event->got_source : event->peer;
        if (!rank->is_let_go && can_come(replay, place, source)) {
            rank->wait = CO_WAIT_PROBE;
            return false;
        }
        arrive_from_outside(replay, place, known_or(event->got_source, event->peer),
                            known_or(event->got_tag, event->tag));
        message = co_queue_probe(&place->queue, event->peer, event->tag);
    }
    if (message != NULL && event->op == CO_EVENT_TAKE) {
        co_queue_take(&place->queue, message, event->peer, event->tag);
        rank->unexpected--;
        replay->result->matches++;
        co_queue_item_free(&place->queue, message);
    }
    return true;
}

bool co_replay_release(struct co_replay *replay, struct co_replay_rank *rank)
{
    size_t position = 0;
    struct co_replay_place *place;
    while ((place = co_hash_map_next(&rank->by_comm, &position, NULL)) != NULL) {
        if (place->queue.held.first != NULL) {
            while (place->queue.held.first != NULL) {
                arrive_held(replay, place, place->queue.held.first);
            }
            return true;
        }
    }
    return false;
}
