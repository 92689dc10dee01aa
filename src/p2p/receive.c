// SPDX-License-Identifier: BSD-3-Clause
//
// From the match to the bytes: copied out of the packet or out of what was kept, read straight from the sender's memory
// where the kernel allows it, else asked for (CTS), and from another host transferred. A longer message than the
// receive has room for fills it, and the rest is lost. Hot; lock held but in the calls of p2p.h.
#include "p2p/receive.h"

#include <errno.h>

#include "p2p/rendezvous_transfer.h"
#include "p2p/finish.h"
#include "p2p/reply.h"
#include "p2p/stream_receive.h"
#include "p2p/stream_send.h"
#include "p2p/stream_trials.h"

#define READ_AT_ONCE ((size_t)4 << 20) // with the lock held; so much Linux takes hold of at once, and less is slower
#define SIGN_EVERY ((size_t)64 << 20)  // bytes read: the sender, which nothing comes to, may not take us for stuck

static void receive_send_cts(struct co_p2p *p2p, struct co_p2p_receive *receive, struct co_p2p_message *message)
{
    receive->done_bytes = 0;
    if (co_p2p_name_or_refuse(p2p, receive, message)) {
        co_p2p_reply_cts(p2p, receive, 0, message);
    }
}

// The message is gone, or kept for the answer.
static void receive_accept_rts(struct co_p2p *p2p, struct co_p2p_receive *receive, struct co_p2p_message *message)
{
    receive->peer = message->peer;
    receive->sender_operation = message->operation;
    receive->address = message->address;
    receive->wanted = message->bytes < receive->room ? message->bytes : receive->room;
    receive->done_bytes = 0;
    receive->message = message;
    co_p2p_sees_exchange(p2p, message->peer);
    co_p2p_trials_begin(p2p, receive, message);
    if (message->is_in_pieces) {
        co_p2p_accept_stream(receive, message);
    } else if (p2p->peers[message->peer].is_gone) {
        co_p2p_message_give(p2p, message);
        co_p2p_receive_finish(receive, -ECONNRESET);
    } else if (receive->wanted == 0) {
        co_p2p_reply_fin(p2p, receive, message);
        co_p2p_receive_finish(receive, 0);
    } else if (p2p->peers[message->peer].is_remote) {
        co_p2p_transfer_receive(p2p, receive);
    } else if (co_p2p_may_read(p2p, receive)) {
        receive->next = NULL;
        *p2p->last_read = receive;
        p2p->last_read = &receive->next;
    } else {
        receive_send_cts(p2p, receive, message);
    }
}

// The message is gone.
static void message_deliver(struct co_p2p_receive *receive, struct co_p2p_message *message,
                            const unsigned char *payload)
{
    struct co_p2p *p2p = receive->context->p2p;
    co_p2p_note(receive, message->node.source, message->node.tag, message->bytes);
    if (message->kind == CO_MESSAGE_RTS) {
        receive_accept_rts(p2p, receive, message);
        return;
    }
    co_p2p_copy(receive, message->kind == CO_MESSAGE_FROM_SELF ? message->send->data : payload, message->bytes);
    if (message->kind == CO_MESSAGE_FROM_SELF) {
        co_p2p_send_finish(message->send, 0);
    }
    if (message->wants_ack) {
        co_p2p_reply(p2p, message->peer, CO_PACKET_ACK, message->operation, message);
    } else {
        co_p2p_message_give(p2p, message);
    }
    co_p2p_receive_finish(receive, 0);
}

bool co_p2p_arrive(struct co_p2p_message *message, struct co_match_node *receive, const unsigned char *payload)
{
    struct co_p2p *p2p = message->context->p2p;
    if (receive == NULL) {
        co_p2p_context_make_room(message->context, &message->node);
        return false;
    }
    co_p2p_message_give_back(p2p, message);
    message_deliver((struct co_p2p_receive *)receive, message, payload);
    return true;
}

// The next piece of the first one that reads. How many have moved.
int co_p2p_read_progress(struct co_p2p *p2p)
{
    struct co_p2p_receive *receive = p2p->first_read;
    size_t left = receive->wanted - receive->done_bytes, piece = left < READ_AT_ONCE ? left : READ_AT_ONCE;
    int error = p2p->config.read(p2p->config.arg, receive->peer, (char *)receive->buffer + receive->done_bytes,
                                 receive->address + receive->done_bytes, piece);
    receive->done_bytes += piece;
    if (error == 0 && receive->done_bytes < receive->wanted) {
        if (receive->done_bytes % SIGN_EVERY == 0) {
            co_p2p_reply_reading(p2p, receive);
        }
        return 1;
    }
    p2p->first_read = receive->next;
    if (p2p->first_read == NULL) {
        p2p->last_read = &p2p->first_read;
    }
    if (error != 0) { // what the kernel does not read, the sender sends
        co_p2p_trials_refused(p2p, receive);
        receive_send_cts(p2p, receive, receive->message);
    } else {
        co_p2p_reply_fin(p2p, receive, receive->message);
        co_p2p_trials_end(p2p, receive, false);
        co_p2p_receive_finish(receive, 0);
    }
    return 1;
}

static void receive_begin(struct co_p2p_receive *receive)
{
    receive->context->users++;
    receive->handle = 0;
    receive->is_streamed = false;
    // What may be sent at once has left its sender.
    bool may_be_rts = receive->in_background && receive->room > receive->context->p2p->surely_eager;
    receive->in_background = co_p2p_background_begin(receive->context->p2p, may_be_rts);
    co_store_relaxed(&receive->is_done, 0); // relaxed: nobody else knows it
}

void co_p2p_receive(struct co_p2p_receive *receive, int32_t source, int32_t tag)
{
    struct co_p2p *p2p = receive->context->p2p;
    receive->node.source = source;
    receive->node.tag = tag;
    co_p2p_lock(p2p);
    receive_begin(receive);
    struct co_match_node *message = co_matcher_post(receive->context->matcher, &receive->node);
    if (message != NULL) {
        receive->node.waits = false;
        co_p2p_message_give_back(p2p, (struct co_p2p_message *)message);
        struct co_p2p_message *stored = (struct co_p2p_message *)message;
        message_deliver(receive, stored, stored->payload);
    } else if (co_p2p_source_is_gone(receive->context, source)) {
        co_matcher_cancel(receive->context->matcher, &receive->node);
        co_p2p_note(receive, source, tag, 0);
        co_p2p_receive_finish(receive, -ECONNRESET);
    } else {
        co_p2p_context_make_room(receive->context, &receive->node);
    }
    co_p2p_unlock_started(p2p);
}

bool co_p2p_receive_detach(struct co_p2p_receive *receive, void (*on_done)(struct co_p2p_receive *receive))
{
    struct co_p2p *p2p = receive->context->p2p;
    co_p2p_lock(p2p);
    bool is_under_way = !co_p2p_receive_is_done(receive);
    if (is_under_way) {
        receive->on_done = on_done;
    }
    co_p2p_unlock(p2p);
    return is_under_way;
}

bool co_p2p_cancel(struct co_p2p_receive *receive)
{
    struct co_p2p *p2p = receive->context->p2p;
    co_p2p_lock(p2p);
    bool is_cancelled = !co_p2p_receive_is_done(receive) && receive->node.waits &&
                        co_matcher_cancel(receive->context->matcher, &receive->node);
    if (is_cancelled) {
        co_p2p_note(receive, -1, -1, 0);
        co_p2p_receive_finish(receive, -ECANCELED);
    }
    co_p2p_unlock(p2p);
    return is_cancelled;
}

static void message_describe(const struct co_match_node *node, struct co_p2p_info *info)
{
    const struct co_p2p_message *message = (const struct co_p2p_message *)node;
    *info = (struct co_p2p_info){node->source, node->tag, message->bytes};
}

bool co_p2p_probe(struct co_p2p_context *context, int32_t source, int32_t tag, struct co_p2p_info *info)
{
    co_p2p_lock(context->p2p);
    struct co_match_node *node = co_matcher_probe(context->matcher, source, tag);
    if (node != NULL) {
        message_describe(node, info);
    }
    co_p2p_unlock(context->p2p);
    return node != NULL;
}

struct co_p2p_message *co_p2p_take(struct co_p2p_context *context, int32_t source, int32_t tag,
                                   struct co_p2p_info *info)
{
    co_p2p_lock(context->p2p);
    struct co_match_node *node = co_matcher_take(context->matcher, source, tag);
    if (node != NULL) {
        message_describe(node, info);
        co_p2p_message_give_back(context->p2p, (struct co_p2p_message *)node);
        context->users++; // the message leads to it
        context->holders++;
    }
    co_p2p_unlock(context->p2p);
    return (struct co_p2p_message *)node;
}

void co_p2p_receive_taken(struct co_p2p_receive *receive, struct co_p2p_message *message)
{
    struct co_p2p_context *context = message->context;
    struct co_p2p *p2p = context->p2p;
    receive->context = context;
    receive->node.waits = false;
    co_p2p_lock(p2p);
    receive_begin(receive);
    message_deliver(receive, message, message->payload);
    context->holders--;
    co_p2p_context_drop(context);
    co_p2p_unlock_started(p2p);
}

void co_p2p_drop_taken(struct co_p2p_message *message)
{
    struct co_p2p_context *context = message->context;
    struct co_p2p *p2p = context->p2p;
    co_p2p_lock(p2p);
    co_p2p_message_give(p2p, message);
    context->holders--;
    co_p2p_context_drop(context);
    co_p2p_unlock(p2p);
}
