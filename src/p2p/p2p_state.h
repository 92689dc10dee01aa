// SPDX-License-Identifier: BSD-3-Clause
//
// What point-to-point consists of. Private to src/p2p.
//   p2p.c          open, close, progress         context.c    communicators, also those that are not known yet
//   send.c         eager, rendezvous             arrive.c     packets from peers
//   queue.c        what finds no room
//   receive.c      from the match to the bytes   handles.h    operations as peers name them
//   gone.c         peers that have ended, our end   keep.c       copies of small messages without credit
//   carried.c      large messages between hosts  stream_send.c, stream_receive.c   middle ones inside a node
//   blocks.c, lanes.c   matched by several threads   background.c   moved while the program computes
#ifndef CASTOFF_P2P_STATE_H
#define CASTOFF_P2P_STATE_H

#include <sched.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/order.h"
#include "base/turns.h"
#include "p2p/channel/channel.h"
#include "p2p/handles.h"
#include "p2p/p2p.h"
#include "p2p/p2p_open.h"

#define CO_MESSAGE_SMALL 4096 // payload bytes: sends of so few end without their receive, as on stock (4,040 there)
#define CO_MESSAGE_INLINE 64  // payload bytes that stand in the message itself
#define CO_MESSAGE_COST 256   // that an eager message counts for beside its bytes, against its sender's credit
#define CO_P2P_SPARE_MOST 16  // tables of communicators that have ended

// Who may go on with what streams (co_channel_ops.gate): 0: either; this: the sender is writing; else a sender's
// handle: its receiver reads the rest itself, until that sender has heard that it has.
#define CO_GATE_WRITING UINT64_MAX

enum co_message_kind { CO_MESSAGE_EAGER, CO_MESSAGE_OFFER, CO_MESSAGE_FROM_SELF };

struct co_p2p_message {
    struct co_match_node node; // first
    struct co_p2p_context *context;
    enum co_message_kind kind;
    int peer;
    bool wants_ack;
    size_t bytes;
    uint64_t operation, address; // of the sender
    size_t early, arrived;       // OFFER: bytes that come unasked, and of them those that are in `payload`
    struct co_p2p_send *send;    // FROM_SELF
    struct co_p2p_message *next_free;
    unsigned char *payload; // EAGER: `small`, or allocated
    unsigned char small[CO_MESSAGE_INLINE];
};

// An answer that waits for room.
struct co_p2p_answer {
    struct co_p2p_queued queued; // first
    struct co_packet packet;
    unsigned char payload[sizeof(struct co_packet_clear)];
};

struct co_p2p_queue {
    struct co_p2p_queued *first, **last;
};

struct co_p2p_peer {
    struct co_channel *channel; // to it; NULL: ourselves
    int place;                  // its number there
    bool is_far;                // on another host
    uint32_t eager_most;
    struct co_p2p_queue answers;  // they never wait for what else has to wait
    struct co_p2p_queue urgent;   // data that somebody waits for
    struct co_p2p_queue messages; // in the order in which they must arrive
    bool is_waiting;              // one of them holds something
    bool messages_are_next;       // for room
    bool is_gone;
    bool is_broken;    // its channel is, and it has not been given up yet
    bool lacks_credit; // since the last message that went
    int exchanges;     // 0, or offers to it before it has to show again that both send at once
    int absences;      // likewise, that it was away while the ring to it was full
    uint64_t full_ns;  // when pieces last found that ring full and have not gone on since, 0: they have
    uint64_t charged;  // credit taken so far
    // What streams from it, in the order in which it was asked for.
    struct co_p2p_receive *first_stream, **last_stream;
    uint64_t pieces, pieces_seen, seen_ns; // that have come, and when it was seen that there were so many
    // The last offer of it that has early bytes: how many of them are to come, and whose they are; neither: nobody's.
    size_t early_left;
    struct co_p2p_message *early_message;
    struct co_p2p_receive *early_receive;
};

struct co_p2p_context {
    struct co_p2p *p2p;
    uint64_t id;
    struct co_matcher *matcher;
    struct co_matcher_config tables; // of it
    bool may_not_grow;               // there was no memory
    int *peers;                      // NULL: messages have come, but the communicator is not known yet
    int size, rank;
    bool is_closed;
    unsigned users;   // operations under way, and the following
    unsigned holders; // persistent requests, messages that a probe has taken, copies whose senders are done
};

// What the report says in the end: of messages, and of the matchers of contexts that are closed.
struct co_p2p_totals {
    uint64_t sent, sent_bytes, carried, carried_bytes, credit_stalls;
    uint64_t streamed, streamed_bytes, streams_read;
    uint64_t matches[CO_MATCH_CLASSES], unexpected;
    uint64_t beyond_tables; // receives and messages
    uint64_t kept_high;     // bytes
    uint32_t receives_high, messages_high;
    uint64_t free_path, fast_path, slow_path; // lanes
};

// A channel, and whom its numbers mean: what is handed over with a packet.
struct co_p2p_way {
    struct co_p2p *p2p;
    struct co_channel *channel;
    const int *peers; // by place
};

struct co_p2p {
    struct co_trylock lock;
    struct co_p2p_config config;
    struct co_p2p_peer *peers;                   // [config.size]
    struct co_p2p_way ways[2];                   // inside the node, to other hosts
    int *peer_of_place;                          // [config.size], of the channel inside the node
    bool is_closing;                             // nothing moves any more
    int waiting;                                 // of them
    int streams;                                 // receives
    int offered;                                 // sends inside the node that no kept copy stands for, not done
    size_t early_most;                           // bytes
    size_t surely_eager;                         // bytes, from whatever peer
    unsigned busy_turns;                         // while there are such receives
    struct co_hash_map contexts;                 // by id
    struct co_p2p_context *last_context;         // that a message was for, always one; nobody's: none, or lanes match
    struct co_p2p_ended *ended;                  // communicators, NULL: none has
    struct co_matcher *spare[CO_P2P_SPARE_MOST]; // of communicators that have ended, of the first size
    unsigned spare_count;
    struct co_handles sends_named, receives_named;    // by which peers answer
    struct co_p2p_receive *first_read, **last_read;   // straight from their senders' memory
    struct co_p2p_receive *first_asked, **last_asked; // of other hosts, that wait until the carrier has room
    struct co_p2p_message *free_messages;
    unsigned char *spare_payload;      // for a message that finds no memory
    uint64_t transmitted;              // packets
    size_t kept;                       // bytes of copies
    struct co_p2p_totals totals, told; // told: of them, what the counters have
    struct co_p2p_blocks *blocks;      // NULL: each message is matched as it comes
    // co_p2p_share: operations in the background, sends and receives of what may be offered; written with the lock
    void (*on_background)(void *arg); // NULL: not shared
    void *background_arg;
    _Atomic unsigned background;
    bool background_begins;            // and nobody has been told
    unsigned caller_moves, moves_seen; // by the program's threads; by the thread that has the background
    _Atomic bool has_lost_one;         // of the peers; written with the lock
    bool has_broken_one;               // struct co_p2p_peer
    _Atomic int probed;                // for whose messages somebody has looked in vain, -1: nobody has
    _Atomic uint64_t advances;
};

static inline bool co_p2p_try(struct co_p2p *p2p)
{
    return p2p->on_background == NULL ? co_turns_try(&p2p->lock) : co_trylock_take(&p2p->lock);
}

static inline void co_p2p_lock(struct co_p2p *p2p)
{
    while (!co_p2p_try(p2p)) {
        sched_yield();
    }
}

// What has been handed to the carrier starts at once, without the lock.
static inline void co_p2p_unlock(struct co_p2p *p2p)
{
    co_turns_drop(&p2p->lock);
    if (p2p->config.carrier != NULL) {
        p2p->config.carrier->ops->flush(p2p->config.carrier);
    }
}

// At the end of a call that starts something.
static inline void co_p2p_unlock_started(struct co_p2p *p2p)
{
    bool begins = p2p->background_begins && co_load_relaxed(&p2p->background) > 0; // relaxed: lock held
    p2p->background_begins = false;
    co_p2p_unlock(p2p);
    if (begins) {
        p2p->on_background(p2p->background_arg);
    }
}

// All below: lock held.
// background.c: whether an operation counts from now on, and until it is done.
bool co_p2p_background_begin(struct co_p2p *p2p, bool in_background);
void co_p2p_background_end(struct co_p2p *p2p);

int co_p2p_move(struct co_p2p *p2p); // p2p.c: whatever can move; events

// context.c: the context of a message, made when it is not known yet. NULL: no memory, or it has ended or no such rank.
struct co_p2p_context *co_p2p_context_find(struct co_p2p *p2p, int peer, const struct co_packet *packet);
bool co_p2p_context_has_ended(const struct co_p2p *p2p, uint64_t id);
// Whether a message for which there is no context must not wait: it has ended, or the sender is not who it says.
bool co_p2p_context_leaves_out(const struct co_p2p *p2p, int peer, uint64_t id, int32_t source);
void co_p2p_context_forget_last(struct co_p2p *p2p);
void co_p2p_context_end(struct co_p2p_context *context);
void co_p2p_context_grow(struct co_p2p_context *context);
void co_p2p_contexts_close(struct co_p2p *p2p); // at the end

// Whether the peer is the rank of it that it says; nobody is before it is known.
static inline bool co_p2p_context_has(const struct co_p2p_context *context, int peer, int32_t source)
{
    return (uint32_t)source < (uint32_t)context->size && context->peers[source] == peer;
}

static inline bool co_p2p_context_is_of(const struct co_p2p_context *context, int peer, const struct co_packet *packet)
{
    return context->id == packet->context && co_p2p_context_has(context, peer, packet->source);
}

static inline struct co_p2p_context *co_p2p_context_of(struct co_p2p *p2p, int peer, const struct co_packet *packet)
{
    struct co_p2p_context *last = p2p->last_context;
    return co_p2p_context_is_of(last, peer, packet) ? last : co_p2p_context_find(p2p, peer, packet);
}

// One user less.
static inline void co_p2p_context_drop(struct co_p2p_context *context)
{
    if (--context->users == 0 && context->is_closed) {
        co_p2p_context_end(context);
    }
}

// For what waits now: tables are made larger when it found no place in them.
static inline void co_p2p_context_make_room(struct co_p2p_context *context, const struct co_match_node *waiting)
{
    if (__builtin_expect(waiting->place == 0, 0)) {
        co_p2p_context_grow(context);
    }
}

static inline bool co_p2p_transmit(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *first,
                                   size_t first_bytes, const void *second, size_t second_bytes)
{
    const struct co_p2p_peer *to = &p2p->peers[peer];
    bool has_room = to->channel->ops->send(to->channel, to->place, packet, first, first_bytes, second, second_bytes);
    p2p->transmitted += has_room;
    return has_room;
}

// send.c
bool co_p2p_push_message(struct co_p2p *p2p, int peer, struct co_p2p_send *send); // false: it has to wait
bool co_p2p_push_data(struct co_p2p *p2p, int peer, struct co_p2p_send *send);    // that a receive asked for; likewise
void co_p2p_send_finish(struct co_p2p_send *send, int result);
void co_p2p_send_stream(struct co_p2p_send *send, const struct co_packet_clear *clear);

bool co_p2p_name_send(struct co_p2p_send *send); // by which its receiver answers; false: out of memory
bool co_p2p_has_credit(struct co_p2p *p2p, int peer, size_t bytes);
void co_p2p_charge(struct co_p2p *p2p, int peer, size_t bytes);

static inline _Atomic uint64_t *co_p2p_gate(struct co_p2p *p2p, int peer, bool is_writer)
{
    const struct co_p2p_peer *other = &p2p->peers[peer];
    return other->channel->ops->gate(other->channel, other->place, is_writer);
}

// Bytes of the message up to there.
static inline void co_p2p_make(struct co_p2p_send *send, size_t end)
{
    if (send->make != NULL && end > send->made) {
        send->make(send->make_arg, send->made, end);
        send->made = end;
    }
}

// stream_send.c: sends whose bytes go in pieces
// A message of so many bytes, unless its receiver may read it. Depends on nothing that changes.
bool co_p2p_goes_in_pieces(const struct co_p2p *p2p, int peer, size_t bytes);
size_t co_p2p_early_of(struct co_p2p *p2p, int peer, const struct co_p2p_send *send); // 0: it does not stream
// Of a message of so many bytes, whether what is behind its early ones, or all of it, is worth a call of the kernel.
bool co_p2p_is_read_in_exchange(const struct co_p2p *p2p, size_t bytes);
void co_p2p_sees_exchange(struct co_p2p *p2p, int peer); // when an offer of that peer is accepted
bool co_p2p_push_early(struct co_p2p *p2p, int peer, struct co_p2p_send *send);  // false: it has to wait
bool co_p2p_push_pieces(struct co_p2p *p2p, int peer, struct co_p2p_send *send); // likewise
void co_p2p_send_clear(struct co_p2p_send *send, const struct co_packet_clear *clear);
void co_p2p_send_was_read(struct co_p2p_send *send); // by its receiver

// stream_receive.c: their receives
void co_p2p_early_begins(struct co_p2p *p2p, int peer, const struct co_p2p_message *message);
void co_p2p_early_is_kept(struct co_p2p *p2p, struct co_p2p_message *message);
void co_p2p_early_is_dropped(struct co_p2p *p2p, const struct co_p2p_message *message);
void co_p2p_on_early(struct co_p2p *p2p, int peer, const unsigned char *payload, size_t bytes);
void co_p2p_on_data(struct co_p2p *p2p, int peer, uint64_t handle, const unsigned char *payload, size_t bytes);
void co_p2p_accept_stream(struct co_p2p_receive *receive, const struct co_p2p_message *message);
void co_p2p_stream_is_over(struct co_p2p_receive *receive); // it waits for no more pieces
int co_p2p_look_at_streams(struct co_p2p *p2p);             // whose senders may have stopped; how many have moved

// queue.c
void co_p2p_queue_open(struct co_p2p_queue *queue);
void co_p2p_enqueue(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue, struct co_p2p_queued *item);
bool co_p2p_unqueue(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue, struct co_p2p_queued *item);
void co_p2p_answer(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *payload);
int co_p2p_push_waiting(struct co_p2p *p2p); // what found no room; packets that found it now

// keep.c: a copy that is sent in its place, counted among its context's users; NULL: there is no room
struct co_p2p_send *co_p2p_keep(struct co_p2p *p2p, const struct co_p2p_send *send);

// receive.c
struct co_p2p_message *co_p2p_message_take(struct co_p2p *p2p); // NULL: out of memory
void co_p2p_message_give(struct co_p2p *p2p, struct co_p2p_message *message);
bool co_p2p_message_room(struct co_p2p *p2p, struct co_p2p_message *message, size_t bytes);
bool co_p2p_message_keep(struct co_p2p *p2p, struct co_p2p_message *message, const void *payload); // its copy
void co_p2p_tell(struct co_p2p *p2p, int peer, enum co_packet_kind kind, uint64_t operation);
// A message and the receive that takes it; the message's memory is the caller's.
void co_p2p_deliver(struct co_p2p_receive *receive, const struct co_p2p_message *message, const unsigned char *payload);
// Credit, of an eager message of so many bytes; of any message.
void co_p2p_give_back(struct co_p2p *p2p, int peer, size_t bytes);
void co_p2p_message_give_back(struct co_p2p *p2p, const struct co_p2p_message *message);
int co_p2p_read_offers(struct co_p2p *p2p);

// carried.c
bool co_p2p_carry(struct co_p2p_send *send); // the bytes that a receive asked for; false: no room
void co_p2p_ask_carrier(struct co_p2p *p2p, struct co_p2p_receive *receive);
int co_p2p_ask_waiting(struct co_p2p *p2p); // those that found no room
int co_p2p_end_carried(struct co_p2p *p2p); // what is over

// Its sender's memory, which holds all bytes.
static inline bool co_p2p_may_read(const struct co_p2p *p2p, const struct co_p2p_receive *receive)
{
    return p2p->config.read != NULL && receive->address != 0;
}

// The next bytes are in the buffer.
static inline void co_p2p_tell_bytes(struct co_p2p_receive *receive, size_t from, size_t to)
{
    to = to < receive->room ? to : receive->room;
    if (receive->on_bytes != NULL && from < to) {
        receive->on_bytes(receive->on_bytes_arg, from, to);
    }
}

// receive.c: asks for the bytes, packet by packet or under a number of the carrier
bool co_p2p_receive_name(struct co_p2p *p2p, struct co_p2p_receive *receive); // false: it has ended without memory
void co_p2p_ask(struct co_p2p *p2p, struct co_p2p_receive *receive, uint32_t number);

static inline void co_p2p_receive_finish(struct co_p2p_receive *receive, int result)
{
    struct co_p2p_context *context = receive->context;
    if (receive->handle != 0) {
        co_handles_remove(&context->p2p->receives_named, receive->handle);
        if (receive->is_streamed) {
            co_p2p_stream_is_over(receive);
        }
    }
    receive->result = result;
    if (receive->in_background) {
        co_p2p_background_end(context->p2p);
    }
    if (receive->on_done != NULL) {
        receive->on_done(receive);
    } else {
        co_store_release(&receive->is_done, 1); // release P2: buffer and result are the caller's
    }
    co_p2p_context_drop(context);
}

static inline void co_p2p_note(struct co_p2p_receive *receive, int32_t source, int32_t tag, size_t bytes)
{
    receive->source = source;
    receive->tag = tag;
    receive->bytes = bytes;
}

static inline void co_p2p_copy(struct co_p2p_receive *receive, const void *from, size_t bytes)
{
    bytes = bytes < receive->room ? bytes : receive->room;
    if (bytes > 0) {
        memcpy(receive->buffer, from, bytes);
    }
}

// gone.c
void co_p2p_lose_held(struct co_p2p *p2p, int peer);
void co_p2p_take_last_packets(struct co_p2p *p2p);
void co_p2p_end_all(struct co_p2p *p2p); // whatever is under way, when the channels are closed
// Whether nothing more will come from the one that such a receive names.
bool co_p2p_source_is_gone(const struct co_p2p_context *context, int32_t source);

// arrive.c
bool co_p2p_on_packet(void *way, int place, const struct co_packet *packet, const unsigned char *payload);
int co_p2p_poll(struct co_p2p *p2p, int most); // all channels
// A message and the receive that the matcher has given it, NULL: none, and it waits. True: the message is gone.
bool co_p2p_arrive(struct co_p2p_message *message, struct co_match_node *receive, const unsigned char *payload);

// blocks.c
struct co_p2p_blocks *co_p2p_blocks_open(unsigned lanes); // NULL: out of memory
void co_p2p_blocks_close(struct co_p2p_blocks *blocks);
void co_p2p_block_add(struct co_p2p *p2p, struct co_p2p_message *message); // which holds its bytes
void co_p2p_block_match(struct co_p2p *p2p);                               // what has been added

#endif
