// SPDX-License-Identifier: BSD-3-Clause
//
// Sends of middle size inside a node: their bytes go through the ring in pieces, which the receiver takes while the
// next one is written; for such sizes two copies of small pieces are faster than one by the kernel. The first pieces
// follow the RTS at once, against credit, so that a receive that waits has them without asking; the rest goes when it
// has been asked for (CTS). What finds no room behind an RTS holds up neither it nor the next one, so that a receiver
// has them all, and can read them from a sender that computes. A send is done when all that was asked for is in the
// ring, and never before it was asked for: it waits for its receive as every RTS does. A receiver that sees its sender
// stop may read the rest instead (stream_receive.c). In an exchange both copy all the time: nobody writes while the
// other reads, and two copies take twice as long as one. There large messages are left to the kernel, too; and so they
// are where the two do not run at the same time, be it that others use the processors or that one computes: a ring
// holds few pieces, and each time that it is full costs a turn of both, where one reading takes all. Hot; lock held.
#include "p2p/stream_send.h"

#include "p2p/finish.h"
#include "p2p/peer_channel.h"
#include "p2p/stream_trials.h"

// At most, and at most half of the largest packet, so that writing one and reading another overlap from early on; and
// so large that what the two say of each piece is little beside copying it.
#define PIECE_MOST ((size_t)16 << 10)
#define EXCHANGE_LEAST ((size_t)16 << 10) // bytes behind the first fragment that are worth a call of the kernel
#define EXCHANGE_RTS 64
#define ABSENCE_RTS 64
#define AWAY 10         // of what a receiver's patience is
#define READ_AT_MOST 64 // bytes a ns, times as fast as anybody reads: what patience costs is a small part of reading

bool co_p2p_is_read_in_exchange(const struct co_p2p *p2p, size_t bytes)
{
    return p2p->config.read != NULL && bytes >= p2p->first_fragment_most + EXCHANGE_LEAST;
}

void co_p2p_sees_exchange(struct co_p2p *p2p, int peer)
{
    p2p->peers[peer].exchanges = p2p->rts_pending > 0 ? EXCHANGE_RTS : 0;
}

static bool send_is_left_to_read(struct co_p2p *p2p, int peer, size_t bytes)
{
    struct co_p2p_peer *to = &p2p->peers[peer];
    if ((to->exchanges == 0 && to->absences == 0) || !co_p2p_is_read_in_exchange(p2p, bytes)) {
        return false;
    }
    to->exchanges -= to->exchanges > 0;
    to->absences -= to->absences > 0;
    return true;
}

uint64_t co_p2p_patience_ns(const struct co_p2p *p2p, size_t left)
{
    return p2p->config.patience_ns + left / READ_AT_MOST;
}

// The ring was full, and is not any more.
static void peer_note_absence(struct co_p2p *p2p, struct co_p2p_peer *to, size_t left)
{
    if (p2p->config.now_ns() - to->full_ns > AWAY * co_p2p_patience_ns(p2p, left)) {
        to->absences = ABSENCE_RTS;
    }
    to->full_ns = 0;
}

bool co_p2p_goes_in_pieces(const struct co_p2p *p2p, int peer, size_t bytes)
{
    const struct co_p2p_peer *to = &p2p->peers[peer];
    return peer != p2p->config.self && !to->is_remote && bytes > CO_MESSAGE_SMALL && bytes > to->eager_most &&
           p2p->config.stream_most > 0;
}

bool co_p2p_send_streams(struct co_p2p *p2p, int peer, const struct co_p2p_send *send)
{
    bool may_read = send->make == NULL; // its receiver, from memory that holds the bytes
    return co_p2p_goes_in_pieces(p2p, peer, send->bytes) &&
           !(may_read &&
             (!co_p2p_trials_streams(p2p, peer, send->bytes) || send_is_left_to_read(p2p, peer, send->bytes)));
}

static size_t piece_most(const struct co_p2p *p2p, int peer)
{
    size_t most = (p2p->peers[peer].channel->payload_most - sizeof(struct co_packet_handle)) / 2;
    return most < PIECE_MOST ? most : PIECE_MOST;
}

// Never while the receiver reads: once that is over the buffer may be gone, with its request freed long before.
static bool gate_take(struct co_p2p *p2p, int peer)
{
    uint64_t nobody = 0;
    // acquire P3: as the receiver left it
    return atomic_compare_exchange_strong_explicit(co_p2p_gate(p2p, peer, true), &nobody, CO_GATE_WRITING,
                                                   memory_order_acquire, memory_order_relaxed);
}

static void gate_leave(struct co_p2p *p2p, int peer)
{
    co_store_release(co_p2p_gate(p2p, peer, true), 0); // release P3: the pieces are in the ring
}

// Unless its receiver reads another one meanwhile, of which we have not heard yet.
static void gate_open(struct co_p2p *p2p, int peer, const struct co_p2p_send *send)
{
    uint64_t read = send->handle;
    // release P3; relaxed: it was set before we were told
    atomic_compare_exchange_strong_explicit(co_p2p_gate(p2p, peer, true), &read, 0, memory_order_release,
                                            memory_order_relaxed);
}

size_t co_p2p_fragment_of(struct co_p2p *p2p, int peer, const struct co_p2p_send *send)
{
    const struct co_p2p_peer *to = &p2p->peers[peer];
    size_t most = send->bytes < p2p->first_fragment_most ? send->bytes : p2p->first_fragment_most;
    size_t room = to->channel->ops->room(to->channel, to->number, piece_most(p2p, peer), most);
    return room > 0 && co_p2p_has_credit(p2p, peer, room) && gate_take(p2p, peer) ? room : 0;
}

static bool stream_push_open(struct co_p2p *p2p, int peer, struct co_p2p_send *send, enum co_packet_kind kind,
                             size_t end)
{
    struct co_packet packet = {.context = send->receive, .kind = kind};
    size_t most = piece_most(p2p, peer);
    while (send->streamed < end) {
        size_t left = end - send->streamed, piece = left < most ? left : most;
        packet.bytes = (uint32_t)piece;
        co_p2p_make(send, send->streamed + piece);
        if (!co_p2p_transmit(p2p, peer, &packet, (const char *)send->data + send->streamed, piece, NULL, 0)) {
            return false;
        }
        send->streamed += piece;
    }
    return true;
}

// All that is wanted, behind the first fragment. False: there is no room, or it must not be written now.
static bool stream_push(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    struct co_p2p_peer *to = &p2p->peers[peer];
    size_t before = send->streamed;
    if (!gate_take(p2p, peer)) {
        return false;
    }
    bool has_gone = stream_push_open(p2p, peer, send, CO_PACKET_DATA, send->wanted);
    gate_leave(p2p, peer);
    if (to->full_ns != 0 && send->streamed > before) {
        peer_note_absence(p2p, to, send->bytes - before);
    }
    if (!has_gone && to->full_ns == 0) {
        to->full_ns = p2p->config.now_ns();
    }
    return has_gone;
}

static void stream_count(struct co_p2p *p2p, const struct co_p2p_send *send)
{
    p2p->totals.streamed++;
    p2p->totals.streamed_bytes += send->streamed;
}

static void stream_end(struct co_p2p *p2p, struct co_p2p_send *send)
{
    stream_count(p2p, send);
    co_p2p_send_finish(send, 0);
}

bool co_p2p_push_pieces(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    if (!stream_push(p2p, peer, send)) {
        return false;
    }
    stream_end(p2p, send);
    return true;
}

// All that is wanted has gone, or the rest of it takes its turn.
static void stream_go_on(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    if (send->streamed >= send->wanted) {
        stream_end(p2p, send);
    } else {
        co_p2p_enqueue(p2p, peer, &p2p->peers[peer].urgent, &send->queued);
    }
}

void co_p2p_push_fragment(struct co_p2p *p2p, int peer, struct co_p2p_send *send, size_t bytes)
{
    bool has_gone = stream_push_open(p2p, peer, send, CO_PACKET_FIRST, bytes);
    gate_leave(p2p, peer);
    if (!has_gone) { // but there was room: somebody wrote over what says so
        p2p->peers[peer].is_broken = p2p->has_broken_one = true;
    }
}

void co_p2p_stream_cts(struct co_p2p_send *send, const struct co_packet_cts *cts)
{
    struct co_p2p *p2p = send->context->p2p;
    int peer = send->context->peers[send->destination];
    if (send->receive != 0) { // its receiver could not read it after all
        gate_open(p2p, peer, send);
        return;
    }
    send->receive = cts->receive;
    send->wanted = cts->bytes < send->bytes ? cts->bytes : send->bytes;
    stream_go_on(p2p, peer, send);
}

void co_p2p_stream_fin(struct co_p2p_send *send)
{
    struct co_p2p *p2p = send->context->p2p;
    int peer = send->context->peers[send->destination];
    gate_open(p2p, peer, send);
    co_p2p_unqueue(p2p, peer, &p2p->peers[peer].urgent, &send->queued);
    stream_count(p2p, send);
    co_p2p_send_finish(send, 0);
}
