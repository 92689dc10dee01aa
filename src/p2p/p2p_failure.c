// SPDX-License-Identifier: BSD-3-Clause
//
// A peer whose process has ended: nothing more comes from it, so nobody may wait for it. Called by who looks for the
// gone. And our own end, at which nothing more comes from anybody. Rare, and it may look at everything.
#include "p2p/p2p_failure.h"

#include <errno.h>

#include "p2p/finish.h"
#include "p2p/message.h"

#define EVERYBODY (-1)

bool co_p2p_source_has_ended(struct co_p2p_context *context, int32_t source)
{
    struct co_p2p *p2p = context->p2p;
    if (source != CO_P2P_ANY) {
        co_store_relaxed(&p2p->probed, context->peers[source]); // relaxed: whom the next question may go to
    }
    if (!co_load_relaxed(&p2p->has_lost_one)) { // relaxed: who looks, looks again
        return false;
    }
    co_p2p_lock(p2p);
    bool has_ended = co_p2p_source_is_gone(context, source);
    co_p2p_unlock(p2p);
    return has_ended;
}

static struct co_p2p_queued *queue_take_all(struct co_p2p_queue *queue)
{
    struct co_p2p_queued *first = queue->first;
    co_p2p_queue_open(queue);
    return first;
}

static void queue_fail(struct co_p2p *p2p, struct co_p2p_queued *item, int result)
{
    while (item != NULL) {
        struct co_p2p_queued *next = item->next; // a send that is done may be gone
        if (item->is_answer) {
            co_p2p_message_give(p2p, co_p2p_message_of(item));
        } else {
            co_p2p_send_finish(co_p2p_send_of(item), result);
        }
        item = next;
    }
}

static void peer_fail_queues(struct co_p2p *p2p, int peer, int result)
{
    struct co_p2p_peer *state = &p2p->peers[peer];
    queue_fail(p2p, queue_take_all(&state->answers), result);
    queue_fail(p2p, queue_take_all(&state->urgent), result);
    queue_fail(p2p, queue_take_all(&state->messages), result);
    if (state->is_waiting) {
        state->is_waiting = false;
        p2p->waiting--;
    }
}

// In one of the lists of those that are not asked for; its new end.
static struct co_p2p_receive **list_fail(struct co_p2p *p2p, struct co_p2p_receive **link, int peer, int result)
{
    while (*link != NULL) {
        struct co_p2p_receive *receive = *link;
        if (peer == EVERYBODY || receive->peer == peer) {
            *link = receive->next;
            co_p2p_message_give(p2p, receive->message);
            co_p2p_receive_finish(receive, result);
        } else {
            link = &receive->next;
        }
    }
    return link;
}

// Its buffer may be with the MPI below.
static bool send_is_transferred(const struct co_p2p_send *send)
{
    const struct co_p2p_context *context = send->context;
    return context->p2p->peers[context->peers[send->destination]].is_remote && send->receive != 0;
}

// What waits for an answer of it, or for more of its bytes.
static void named_fail(struct co_p2p *p2p, int peer, int result)
{
    uint32_t position = 0;
    struct co_p2p_send *send;
    struct co_p2p_receive *receive;
    while ((send = co_handles_next(&p2p->sends_named, &position)) != NULL) {
        if (peer == EVERYBODY ? !send_is_transferred(send) : send->context->peers[send->destination] == peer) {
            co_p2p_send_finish(send, result);
        }
    }
    position = 0;
    while ((receive = co_handles_next(&p2p->receives_named, &position)) != NULL) {
        if (peer == EVERYBODY || receive->peer == peer) {
            co_p2p_receive_finish(receive, result);
        }
    }
}

static void posted_collect(struct co_match_node *node, void *arg)
{
    struct co_p2p_receive *receive = (struct co_p2p_receive *)node, **list = arg;
    if (receive->context->p2p->is_closing || co_p2p_source_is_gone(receive->context, node->source)) {
        receive->next = *list;
        *list = receive;
    }
}

// Of all communicators. The last of them may end its own, so they are collected before the first one ends.
static void posted_fail(struct co_p2p *p2p, int result)
{
    struct co_p2p_receive *list = NULL, *receive;
    struct co_p2p_context *context;
    size_t position = 0;
    while ((context = co_hash_map_next(&p2p->contexts, &position, NULL)) != NULL) {
        co_matcher_visit_receives(context->matcher, posted_collect, &list);
    }
    while ((receive = list) != NULL) {
        list = receive->next;
        co_matcher_cancel(receive->context->matcher, &receive->node);
        receive->source = receive->node.source;
        receive->tag = receive->node.tag;
        receive->bytes = 0;
        co_p2p_receive_finish(receive, result);
    }
}

static void awaited_note(struct co_p2p *p2p, int peer)
{
    struct co_p2p_peer *state = &p2p->peers[peer];
    state->is_awaited = state->is_remote && !state->is_gone;
}

static void awaited_note_source(struct co_match_node *node, void *arg)
{
    const struct co_p2p_receive *receive = (const struct co_p2p_receive *)node;
    if (node->source != CO_P2P_ANY && receive->context->peers != NULL) {
        awaited_note(arg, receive->context->peers[node->source]);
    }
}

static void awaited_note_named(struct co_p2p *p2p)
{
    const struct co_p2p_send *send;
    const struct co_p2p_receive *receive;
    uint32_t position = 0;
    while ((send = co_handles_next(&p2p->sends_named, &position)) != NULL) {
        awaited_note(p2p, send->context->peers[send->destination]);
    }
    position = 0;
    while ((receive = co_handles_next(&p2p->receives_named, &position)) != NULL) {
        awaited_note(p2p, receive->peer);
    }
    for (receive = p2p->first_cts; receive != NULL; receive = receive->next) { // not named yet
        awaited_note(p2p, receive->peer);
    }
}

static void awaited_note_all(struct co_p2p *p2p)
{
    const struct co_p2p_context *context;
    size_t position = 0;
    int probed = co_load_relaxed(&p2p->probed);
    for (int peer = 0; peer < p2p->config.size; peer++) {
        if (p2p->peers[peer].is_waiting) {
            awaited_note(p2p, peer);
        }
    }
    awaited_note_named(p2p);
    while ((context = co_hash_map_next(&p2p->contexts, &position, NULL)) != NULL) {
        co_matcher_visit_receives(context->matcher, awaited_note_source, p2p);
    }
    if (probed >= 0) {
        awaited_note(p2p, probed);
        co_store_relaxed(&p2p->probed, -1); // relaxed: who still looks, says so again
    }
}

int co_p2p_awaited(struct co_p2p *p2p, int last, int *peers, int most)
{
    int count = 0, size = p2p->config.size;
    co_p2p_lock(p2p);
    awaited_note_all(p2p);
    for (int turns = 1; turns <= size; turns++) {
        struct co_p2p_peer *state = &p2p->peers[(last + turns) % size];
        if (state->is_awaited && count++ < most) {
            peers[count - 1] = (int)(state - p2p->peers);
        }
        state->is_awaited = false;
    }
    co_p2p_unlock(p2p);
    return count;
}

void co_p2p_query(struct co_p2p *p2p, const int *peers, int count)
{
    struct co_channel *channel = p2p->config.remote_channel;
    if (channel == NULL || channel->ops->query == NULL) {
        return;
    }
    co_p2p_lock(p2p);
    for (int i = 0; i < count; i++) {
        if (!p2p->peers[peers[i]].is_gone) {
            channel->ops->query(channel, peers[i]);
        }
    }
    co_p2p_unlock(p2p);
}

void co_p2p_fail_peer(struct co_p2p *p2p, int peer)
{
    p2p->peers[peer].is_gone = true;
    co_store_relaxed(&p2p->has_lost_one, true);
    if (p2p->peers[peer].is_remote) {
        p2p->config.remote_channel->ops->forget(p2p->config.remote_channel, peer);
    }
    peer_fail_queues(p2p, peer, -ECONNRESET);
    p2p->last_read = list_fail(p2p, &p2p->first_read, peer, -ECONNRESET);
    p2p->last_cts = list_fail(p2p, &p2p->first_cts, peer, -ECONNRESET);
    named_fail(p2p, peer, -ECONNRESET);
    posted_fail(p2p, -ECONNRESET);
}

// A send to ourselves is under way as long as its message is there.
static void context_end_sends_to_self(struct co_p2p_context *context)
{
    struct co_match_node *node;
    context->users++; // or the last of them would end it
    while ((node = co_matcher_take(context->matcher, CO_P2P_ANY, CO_P2P_ANY)) != NULL) {
        struct co_p2p_message *message = (struct co_p2p_message *)node;
        if (message->kind == CO_MESSAGE_FROM_SELF) {
            co_p2p_send_finish(message->send, -ECANCELED);
        }
        co_p2p_message_give(context->p2p, message);
    }
}

void co_p2p_end_all(struct co_p2p *p2p)
{
    struct co_p2p_context *context;
    size_t position = 0;
    for (int peer = 0; peer < p2p->config.size; peer++) {
        peer_fail_queues(p2p, peer, -ECANCELED);
    }
    list_fail(p2p, &p2p->first_read, EVERYBODY, -ECANCELED);
    list_fail(p2p, &p2p->first_cts, EVERYBODY, -ECANCELED);
    named_fail(p2p, EVERYBODY, -ECANCELED);
    posted_fail(p2p, -ECANCELED);
    while ((context = co_hash_map_next(&p2p->contexts, &position, NULL)) != NULL) {
        context_end_sends_to_self(context);
    }
}
