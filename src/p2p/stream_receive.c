// SPDX-License-Identifier: BSD-3-Clause
//
// Receives of what streams (stream_send.c). The pieces of the first fragment of an RTS follow it in the ring, of one
// RTS at a time, so they need no name; they go straight into the receive. Without one they are left in the ring for a
// turn, for whoever has just received another message may ask for this one next; then they are kept with the message,
// since there may be others behind them. All of them come, even those that the receive has no room for: a sender that
// has not heard of it reads its buffer until then. When no piece comes for a while although some are wanted, the sender
// computes or has lost its core, and the rest is read from its memory, where the kernel allows it; the gate keeps the
// sender from going on meanwhile (models/gate.pml). Hot; lock held.
#include "p2p/stream_receive.h"

#include <errno.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "p2p/finish.h"
#include "p2p/peer_channel.h"
#include "p2p/reply.h"
#include "p2p/stream_send.h"
#include "p2p/stream_trials.h"

static struct co_p2p_peer *receive_peer(const struct co_p2p_receive *receive)
{
    return &receive->context->p2p->peers[receive->peer];
}

void co_p2p_fragment_begin(struct co_p2p *p2p, int peer, const struct co_p2p_message *message)
{
    struct co_p2p_peer *from = &p2p->peers[peer];
    if (message->first_fragment > 0) {
        from->fragment_left = message->first_fragment;
        from->fragment_message = NULL;
        from->fragment_receive = NULL;
    }
}

void co_p2p_fragment_store(struct co_p2p *p2p, struct co_p2p_message *message)
{
    co_p2p_message_room(p2p, message, message->first_fragment);
    p2p->peers[message->peer].fragment_message = message;
}

static void receive_take_piece(struct co_p2p_receive *receive, const unsigned char *payload, size_t bytes)
{
    size_t room = receive->room > receive->done_bytes ? receive->room - receive->done_bytes : 0;
    if (bytes > receive->wanted - receive->done_bytes) {
        return;
    }
    if (room > 0) {
        co_memory_copy((char *)receive->buffer + receive->done_bytes, payload, bytes < room ? bytes : room);
    }
    co_p2p_tell_bytes(receive, receive->done_bytes, receive->done_bytes + bytes);
    receive->done_bytes += bytes;
    if (receive->done_bytes == receive->wanted) {
        co_p2p_trials_end(receive->context->p2p, receive, true);
        co_p2p_receive_finish(receive, 0);
    }
}

bool co_p2p_on_fragment(struct co_p2p *p2p, int peer, const unsigned char *payload, size_t bytes)
{
    struct co_p2p_peer *from = &p2p->peers[peer];
    struct co_p2p_message *message = from->fragment_message;
    bool is_some = bytes <= from->fragment_left;
    if (is_some && message != NULL && !message->has_waited && !p2p->takes_all) {
        message->has_waited = true;
        return false;
    }
    from->pieces++;
    if (!is_some) {
        return true;
    }
    from->fragment_left -= bytes;
    if (from->fragment_receive != NULL) {
        receive_take_piece(from->fragment_receive, payload, bytes);
    } else if (message != NULL) {
        uint64_t begin_ns = co_p2p_trials_clock(p2p, message);
        co_memory_copy(message->payload + message->arrived, payload, bytes);
        message->arrived += bytes;
        message->stored_ns += begin_ns > 0 ? p2p->config.now_ns() - begin_ns : 0;
    }
    return true;
}

void co_p2p_on_data(struct co_p2p *p2p, int peer, uint64_t handle, const unsigned char *payload, size_t bytes)
{
    struct co_p2p_receive *receive = co_handles_find(&p2p->receives_named, handle);
    p2p->peers[peer].pieces++;
    if (receive != NULL && receive->peer == peer) {
        receive_take_piece(receive, payload, bytes);
    }
}

// A stream waits for pieces from now on.
static void stream_begin(struct co_p2p_receive *receive)
{
    struct co_p2p_peer *from = receive_peer(receive);
    if (from->first_stream == NULL) {
        from->seen_ns = 0;
    }
    receive->is_streamed = true;
    receive->next = NULL;
    *from->last_stream = receive;
    from->last_stream = &receive->next;
    receive->context->p2p->streams++;
}

// What is behind the first fragment.
static bool stream_read_in_exchange(struct co_p2p_receive *receive, size_t first_fragment)
{
    struct co_p2p *p2p = receive->context->p2p;
    const struct co_p2p_peer *from = receive_peer(receive);
    size_t end = receive->wanted < receive->room ? receive->wanted : receive->room;
    bool is_worth_it = from->exchanges > 0 && co_p2p_is_read_in_exchange(p2p, end);
    if (!is_worth_it || from->is_gone || !co_p2p_may_read(p2p, receive) ||
        p2p->config.read(p2p->config.arg, receive->peer, (char *)receive->buffer + first_fragment,
                         receive->address + first_fragment, end - first_fragment) != 0) {
        return false;
    }
    p2p->totals.streams_read++;
    return true;
}

void co_p2p_accept_stream(struct co_p2p_receive *receive, struct co_p2p_message *message)
{
    struct co_p2p *p2p = receive->context->p2p;
    struct co_p2p_peer *from = receive_peer(receive);
    bool is_coming =
        message->arrived < message->first_fragment && (message->payload == NULL || from->fragment_message == message);
    receive->wanted = receive->wanted > message->first_fragment ? receive->wanted : message->first_fragment;
    receive->done_bytes = message->arrived;
    co_p2p_copy(receive, message->payload, message->arrived);
    co_p2p_tell_bytes(receive, 0, message->arrived);
    if (stream_read_in_exchange(receive, message->first_fragment)) {
        receive->wanted = message->first_fragment; // nothing else is asked for
    }
    bool has_all = receive->done_bytes == receive->wanted;
    if (!has_all && from->is_gone) {
        co_p2p_message_give(p2p, message);
        co_p2p_receive_finish(receive, -ECONNRESET);
    } else if (has_all) {
        co_p2p_reply_fin(p2p, receive, message);
        co_p2p_trials_end(p2p, receive, true);
        co_p2p_receive_finish(receive, 0);
    } else if (co_p2p_name_or_refuse(p2p, receive, message)) {
        from->fragment_message = is_coming ? NULL : from->fragment_message;
        from->fragment_receive = is_coming ? receive : from->fragment_receive;
        stream_begin(receive);
        co_p2p_reply_cts(p2p, receive, 0, message);
    }
}

static bool stream_read_all(struct co_p2p *p2p, struct co_p2p_receive *receive)
{
    size_t done = receive->done_bytes, end = receive->wanted < receive->room ? receive->wanted : receive->room;
    return done >= end || p2p->config.read(p2p->config.arg, receive->peer, (char *)receive->buffer + done,
                                           receive->address + done, end - done) == 0;
}

// Its sender has not heard of the last one that was read, so it still writes nothing.
static bool stream_is_still_stopped(struct co_p2p *p2p, int peer, const struct co_p2p_receive *first)
{
    struct co_p2p_peer *from = &p2p->peers[peer];
    uint64_t last = from->read_operation;
    // relaxed: what it wrote before was taken then
    from->is_still_stopped = last != 0 && atomic_compare_exchange_strong_explicit(
                                              co_p2p_gate(p2p, peer, false), &last, first->sender_operation,
                                              memory_order_relaxed, memory_order_relaxed);
    from->read_operation = from->is_still_stopped ? first->sender_operation : 0;
    return from->is_still_stopped;
}

uint64_t co_p2p_stopped_stream(struct co_p2p *p2p, int peer)
{
    struct co_p2p_peer *from = &p2p->peers[peer];
    uint64_t nobody = 0, now_ns;
    const struct co_p2p_receive *first = from->first_stream;
    while (first != NULL && !co_p2p_may_read(p2p, first)) {
        first = first->next; // those behind it need not wait
    }
    if (first == NULL) {
        return 0;
    }
    if (stream_is_still_stopped(p2p, peer, first)) {
        return first->handle;
    }
    now_ns = p2p->config.now_ns();
    if (from->seen_ns == 0 || from->pieces != from->pieces_seen) {
        from->pieces_seen = from->pieces;
        from->seen_ns = now_ns;
        return 0;
    }
    if (now_ns - from->seen_ns < co_p2p_patience_ns(p2p, first->wanted - first->done_bytes)) {
        return 0;
    }
    from->seen_ns = 0;
    // acquire P3: what the sender wrote is in the ring. Not free: it is writing, or has not heard of the last one that
    // was read.
    bool is_ours = atomic_compare_exchange_strong_explicit(
        co_p2p_gate(p2p, peer, false), &nobody, first->sender_operation, memory_order_acquire, memory_order_relaxed);
    return is_ours ? first->handle : 0;
}

// Not now; or, with a receive, never: the kernel does not read it. A sender that has not heard of the last one must not
// go on with that: it is told behind our word of it, or it is tried again.
static void stream_leave(struct co_p2p *p2p, int peer, const struct co_p2p_receive *receive,
                         struct co_p2p_message *answer)
{
    struct co_p2p_peer *from = &p2p->peers[peer];
    if (!from->is_still_stopped) {
        co_store_release(co_p2p_gate(p2p, peer, false), 0); // release P3
    } else if (receive != NULL) {
        from->read_operation = 0;
        co_p2p_reply_cts(p2p, receive, 0, answer);
        return;
    }
    if (answer != NULL) {
        co_p2p_message_give(p2p, answer);
    }
}

bool co_p2p_read_stopped(struct co_p2p *p2p, int peer, uint64_t handle, bool all_is_taken)
{
    struct co_p2p_receive *receive = co_handles_find(&p2p->receives_named, handle);
    struct co_p2p_message *answer = co_p2p_message_take(p2p); // the message's own may wait with the CTS
    bool may_be_read = answer != NULL && all_is_taken && receive != NULL;
    if (!may_be_read || !stream_read_all(p2p, receive)) {
        stream_leave(p2p, peer, may_be_read ? receive : NULL, answer);
        if (may_be_read) {
            co_p2p_trials_refused(p2p, receive);
            receive->address = 0; // those behind it may be others' memory
        }
        return false;
    }
    p2p->peers[peer].read_operation = receive->sender_operation;
    p2p->totals.streams_read++;
    co_p2p_reply_fin(p2p, receive, answer);
    co_p2p_trials_end(p2p, receive, true);
    co_p2p_receive_finish(receive, 0);
    return true;
}
