// SPDX-License-Identifier: BSD-3-Clause
//
// Sends: eager up to a size, an offer (RTS) above and where credit has run out. What finds no room in the channel waits
// in order; answers and data that a peer waits for pass by. A flood is bounded at its sender: credit counts what may
// wait at a receiver. An offer needs none, because the receiver may want that very message first: it takes no more
// memory there than its send takes here, and a blocking sender has one. Hot; lock held but in co_p2p_send.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/p2p/p2p_state.h"

void co_p2p_queue_open(struct co_p2p_queue *queue)
{
    *queue = (struct co_p2p_queue){.last = &queue->first};
}

static void enqueue(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue, struct co_p2p_queued *item)
{
    item->next = NULL;
    *queue->last = item;
    queue->last = &item->next;
    if (!p2p->peers[peer].is_waiting) {
        p2p->peers[peer].is_waiting = true;
        p2p->waiting++;
    }
}

static bool transmit(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *first,
                     size_t first_bytes, const void *second, size_t second_bytes)
{
    struct co_channel *channel = p2p->config.channel;
    bool has_room = channel->ops->send(channel, peer, packet, first, first_bytes, second, second_bytes);
    p2p->transmitted += has_room;
    return has_room;
}

static size_t cost_of(size_t bytes)
{
    return CO_MESSAGE_COST + bytes;
}

void co_p2p_give_back(struct co_p2p *p2p, int peer, size_t bytes)
{
    p2p->config.channel->ops->give_back(p2p->config.channel, peer, cost_of(bytes));
}

void co_p2p_message_give_back(struct co_p2p *p2p, const struct co_p2p_message *message)
{
    if (message->kind == CO_MESSAGE_EAGER && message->peer != p2p->config.self) {
        co_p2p_give_back(p2p, message->peer, message->bytes);
    }
}

static bool has_credit(struct co_p2p *p2p, int peer, size_t cost)
{
    uint64_t owed = p2p->peers[peer].charged + cost;
    return owed <= p2p->config.credit ||
           owed - p2p->config.channel->ops->given_back(p2p->config.channel, peer) <= p2p->config.credit;
}

static struct co_packet head_of(const struct co_p2p_send *send, enum co_packet_kind kind, size_t bytes)
{
    return (struct co_packet){.context = send->context->id,
                              .source = send->context->rank,
                              .tag = send->tag,
                              .bytes = (uint32_t)bytes,
                              .kind = kind};
}

static void tell_done(struct co_p2p_send *send, int result)
{
    send->result = result;
    if (send->on_done != NULL) {
        send->on_done(send);
    } else {
        co_store_release(&send->is_done, 1); // release P1: the buffer is the caller's
    }
}

// Of those under way; read by others as a hint, written with the lock.
static void count_sends(struct co_p2p *p2p, int change)
{
    co_store_relaxed(&p2p->sends, co_load_relaxed(&p2p->sends) + (unsigned)change);
}

void co_p2p_send_finish(struct co_p2p_send *send, int result)
{
    struct co_p2p_context *context = send->context;
    if (send->handle != 0) {
        co_handles_remove(&context->p2p->sends_named, send->handle);
    }
    count_sends(context->p2p, -1);
    tell_done(send, result);
    co_p2p_context_drop(context);
}

static bool name(struct co_p2p_send *send)
{
    if (send->handle == 0) {
        send->handle = co_handles_add(&send->context->p2p->sends_named, send);
    }
    return send->handle != 0;
}

static void charge(struct co_p2p *p2p, int peer, size_t bytes)
{
    p2p->peers[peer].lacks_credit = false;
    p2p->peers[peer].charged += cost_of(bytes);
}

static bool send_eager(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    struct co_packet_handle handle = {0};
    size_t head = 0;
    if (send->is_synchronous) {
        if (!name(send)) {
            return false;
        }
        handle.operation = send->handle;
        head = sizeof(handle);
    }
    struct co_packet packet =
        head_of(send, send->is_synchronous ? CO_PACKET_EAGER_SYNC : CO_PACKET_EAGER, head + send->bytes);
    if (!transmit(p2p, peer, &packet, &handle, head, send->data, send->bytes)) {
        return false;
    }
    charge(p2p, peer, send->bytes);
    return true;
}

static bool send_offer(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    if (!name(send)) {
        return false;
    }
    struct co_packet_offer offer = {send->handle, send->bytes, (uint64_t)(uintptr_t)send->data};
    struct co_packet packet = head_of(send, CO_PACKET_RTS, sizeof(offer));
    return transmit(p2p, peer, &packet, &offer, sizeof(offer), NULL, 0);
}

// False: it has to wait.
static bool push_message(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    if (send->bytes > p2p->config.eager_most) {
        return send_offer(p2p, peer, send);
    }
    if (!has_credit(p2p, peer, cost_of(send->bytes))) {
        p2p->totals.credit_stalls += !p2p->peers[peer].lacks_credit;
        p2p->peers[peer].lacks_credit = true;
        return send_offer(p2p, peer, send);
    }
    if (!send_eager(p2p, peer, send)) {
        return false;
    }
    if (!send->is_synchronous) {
        co_p2p_send_finish(send, 0);
    }
    return true;
}

// The next bytes that a receive asked for. False: no room.
static bool push_data(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    struct co_packet_handle handle = {send->receive};
    size_t most = p2p->config.channel->payload_most - sizeof(handle);
    while (send->streamed < send->wanted) {
        size_t left = send->wanted - send->streamed, piece = left < most ? left : most;
        struct co_packet packet = head_of(send, CO_PACKET_DATA, sizeof(handle) + piece);
        if (!transmit(p2p, peer, &packet, &handle, sizeof(handle), (const char *)send->data + send->streamed, piece)) {
            return false;
        }
        send->streamed += piece;
    }
    co_p2p_send_finish(send, 0);
    return true;
}

static struct co_p2p_send *send_of(struct co_p2p_queued *item)
{
    return (struct co_p2p_send *)((char *)item - offsetof(struct co_p2p_send, queued));
}

static bool push_urgent(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    if (!item->is_answer) {
        return push_data(p2p, peer, send_of(item));
    }
    struct co_p2p_answer *answer = (struct co_p2p_answer *)item;
    if (!transmit(p2p, peer, &answer->packet, answer->payload, answer->packet.bytes, NULL, 0)) {
        return false;
    }
    free(answer);
    return true;
}

// Taken out before it is pushed: once it is done it may be gone.
static bool push_first(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue,
                       bool (*push)(struct co_p2p *, int, struct co_p2p_queued *))
{
    struct co_p2p_queued *item = queue->first, *next = item->next;
    if (!push(p2p, peer, item)) {
        return false;
    }
    queue->first = next;
    if (next == NULL) {
        queue->last = &queue->first;
    }
    return true;
}

static bool push_queued_message(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    return push_message(p2p, peer, send_of(item));
}

static void push_peer(struct co_p2p *p2p, int peer)
{
    struct co_p2p_peer *state = &p2p->peers[peer];
    while (state->urgent.first != NULL && push_first(p2p, peer, &state->urgent, push_urgent)) {
    }
    while (state->messages.first != NULL && push_first(p2p, peer, &state->messages, push_queued_message)) {
    }
    if (state->urgent.first == NULL && state->messages.first == NULL) {
        state->is_waiting = false;
        p2p->waiting--;
    }
}

int co_p2p_push_waiting(struct co_p2p *p2p)
{
    uint64_t before = p2p->transmitted;
    for (int peer = 0; peer < p2p->config.size && p2p->waiting > 0; peer++) {
        if (p2p->peers[peer].is_waiting) {
            push_peer(p2p, peer);
        }
    }
    return (int)(p2p->transmitted - before);
}

void co_p2p_answer(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *payload)
{
    if (p2p->peers[peer].is_gone) {
        return;
    }
    if (p2p->peers[peer].urgent.first == NULL && transmit(p2p, peer, packet, payload, packet->bytes, NULL, 0)) {
        return;
    }
    struct co_p2p_answer *answer = calloc(1, sizeof(*answer));
    if (answer != NULL) { // else the peer waits until it is told that we are gone
        answer->queued.is_answer = true;
        answer->packet = *packet;
        memcpy(answer->payload, payload, packet->bytes);
        enqueue(p2p, peer, &p2p->peers[peer].urgent, &answer->queued);
    }
}

void co_p2p_send_stream(struct co_p2p_send *send, const struct co_packet_clear *clear)
{
    struct co_p2p *p2p = send->context->p2p;
    int peer = send->context->peers[send->destination];
    send->receive = clear->receive;
    send->streamed = 0;
    send->wanted = clear->bytes < send->bytes ? clear->bytes : send->bytes;
    enqueue(p2p, peer, &p2p->peers[peer].urgent, &send->queued);
}

// A message to this very rank: into the receive that waits for it, else kept; a large one stays where it is.
static void send_to_self(struct co_p2p *p2p, struct co_p2p_send *send)
{
    struct co_p2p_message *message = co_p2p_message_take(p2p);
    if (message == NULL) {
        co_p2p_send_finish(send, -ENOMEM);
        return;
    }
    bool stays = send->is_synchronous || send->bytes > p2p->config.eager_most;
    message->context = send->context;
    message->node.source = send->context->rank;
    message->node.tag = send->tag;
    message->bytes = send->bytes;
    message->peer = p2p->config.self;
    message->wants_ack = false;
    message->kind = CO_MESSAGE_FROM_SELF;
    message->send = send;
    struct co_match_node *receive = co_matcher_arrive(send->context->matcher, &message->node, NULL);
    if (receive != NULL) {
        co_p2p_deliver((struct co_p2p_receive *)receive, message, NULL);
        co_p2p_message_give(p2p, message);
    } else if (!stays && co_p2p_message_keep(p2p, message, send->data)) {
        message->kind = CO_MESSAGE_EAGER;
        co_p2p_send_finish(send, 0);
    }
}

static void count_sent(struct co_p2p *p2p, size_t bytes)
{
    p2p->totals.sent++;
    p2p->totals.sent_bytes += bytes;
}

static bool leaves_at_once(struct co_p2p_context *context, int peer, int32_t tag, const void *data, size_t bytes)
{
    struct co_p2p *p2p = context->p2p;
    const struct co_p2p_peer *state = &p2p->peers[peer];
    struct co_packet packet = {context->id, context->rank, tag, (uint32_t)bytes, CO_PACKET_EAGER};
    if (peer == p2p->config.self || state->messages.first != NULL || state->is_gone ||
        !has_credit(p2p, peer, cost_of(bytes)) || !transmit(p2p, peer, &packet, data, bytes, NULL, 0)) {
        return false;
    }
    charge(p2p, peer, bytes);
    count_sent(p2p, bytes);
    return true;
}

bool co_p2p_send_now(struct co_p2p_context *context, int32_t destination, int32_t tag, const void *data, size_t bytes)
{
    struct co_p2p *p2p = context->p2p;
    if (bytes > p2p->config.eager_most) {
        return false;
    }
    co_p2p_lock(p2p);
    bool has_left = leaves_at_once(context, context->peers[destination], tag, data, bytes);
    co_p2p_unlock(p2p);
    return has_left;
}

static void begin(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    send->context->users++;
    count_sends(p2p, 1);
    if (peer == p2p->config.self) {
        send_to_self(p2p, send);
    } else if (p2p->peers[peer].is_gone) {
        co_p2p_send_finish(send, -ECONNRESET);
    } else if (p2p->peers[peer].messages.first != NULL || !push_message(p2p, peer, send)) {
        enqueue(p2p, peer, &p2p->peers[peer].messages, &send->queued);
    }
}

void co_p2p_send(struct co_p2p_send *send)
{
    struct co_p2p_context *context = send->context;
    struct co_p2p *p2p = context->p2p;
    int peer = context->peers[send->destination];
    send->queued.is_answer = false;
    send->handle = send->receive = 0;
    co_store_relaxed(&send->is_done, 0); // relaxed: nobody else knows it
    co_p2p_lock(p2p);
    count_sent(p2p, send->bytes);
    begin(p2p, peer, send);
    co_p2p_unlock(p2p);
}

bool co_p2p_send_detach(struct co_p2p_send *send, void (*on_done)(struct co_p2p_send *send))
{
    struct co_p2p *p2p = send->context->p2p;
    co_p2p_lock(p2p);
    bool is_under_way = !co_p2p_send_is_done(send);
    if (is_under_way) {
        send->on_done = on_done;
    }
    co_p2p_unlock(p2p);
    return is_under_way;
}
