// SPDX-License-Identifier: BSD-3-Clause
//
// What the links_channel files share: the peers, the frames that nobody has taken yet, and bodies, which have a place
// each, numbered from 1. The two sides of a body name each other's places; the word beside a place tells it from an
// earlier use of the same place.
#ifndef CASTOFF_P2P_CHANNEL_LINKS_CHANNEL_STATE_H
#define CASTOFF_P2P_CHANNEL_LINKS_CHANNEL_STATE_H

#include "base/order.h"
#include "p2p/channel/links_channel.h"

#define CO_LINKS_BODIES 32  // of each direction at a time
#define CO_LINKS_PENDING 64 // events fetched and not yet used up

// What the two channels say to each other beside the packets of callers, whose kinds end before.
enum co_links_packet {
    CO_LINKS_PACKET_LENT = 64, // struct co_links_offer: the body can be read there
    CO_LINKS_PACKET_TAKEN,     // struct co_links_answer: it has been read
    CO_LINKS_PACKET_SEND,      // struct co_links_answer: it cannot be read, pieces are wanted
    CO_LINKS_PACKET_PIECE      // struct co_links_piece, then the next bytes of the body
};

struct co_links_offer {
    struct co_link_key key;
    uint64_t bytes;
    uint32_t number; // that the receiver gave
    uint32_t place;  // of the sender
};

struct co_links_answer {
    uint32_t place; // of the sender
    uint32_t key;   // as it was lent: what is not any more is nobody's
};

struct co_links_piece {
    uint32_t number;
    uint32_t is_last;
};

enum co_links_step {
    CO_LINKS_FREE,
    CO_LINKS_WAITS,     // for the other side
    CO_LINKS_TO_LEND,   // carried: has yet to be lent
    CO_LINKS_TO_OFFER,  // carried: is lent, and has yet to be said so
    CO_LINKS_TO_SEND,   // carried: piece by piece
    CO_LINKS_TO_READ,   // expected: is offered
    CO_LINKS_READS,     // expected: is being read
    CO_LINKS_TO_ANSWER, // expected: was read, or cannot be, and that has yet to be said
    CO_LINKS_ENDED      // its owner has yet to be told
};

struct co_links_body {
    enum co_links_step step;
    bool is_lent, wants_pieces;
    int peer, result;
    unsigned char *data;
    size_t bytes, done;
    uint32_t number;        // at the receiver
    uint32_t sender_place;  // expected: at the sender
    struct co_link_key key; // where it is lent
    void *owner;            // NULL: gone
};

struct co_links_peer {
    uint64_t given_back; // by the peer
    uint64_t owed, told; // given back to the peer; of that, what it knows
    bool wants_to_tell;  // found no room for it
    bool is_lost, is_told;
};

struct co_links_channel {
    struct co_channel channel; // first: what callers see
    struct co_links_channel_config config;
    struct co_links *links;
    struct co_links_peer *peers;
    struct co_link_event pending[CO_LINKS_PENDING]; // a ring: frames that came and were not taken, in order
    unsigned pending_first, pending_count;
    struct co_links_body carried[CO_LINKS_BODIES], expected[CO_LINKS_BODIES];
    _Atomic bool must_let_go; // of the device; written by any thread
    unsigned carried_count, expected_count, ended_count;
    int telling, lost; // peers that want to be told, or are lost and the engine does not know
    _Atomic uint64_t advances;
};

static inline struct co_links_channel *co_links_channel_of(struct co_channel *channel)
{
    return (struct co_links_channel *)channel;
}

static inline void co_links_note_advance(struct co_links_channel *self)
{
    co_store_relaxed(&self->advances, co_load_relaxed(&self->advances) + 1); // relaxed: one writer, a hint
}

// links_channel.c: false: no room now.
bool co_links_channel_send(struct co_links_channel *self, int peer, unsigned kind, const void *first,
                           size_t first_bytes, const void *second, size_t second_bytes);

// links_bodies.c
uint32_t co_links_expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner);
bool co_links_carry(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number, void *owner);
void co_links_bodies_hear(struct co_links_channel *self, int peer, const struct co_packet *packet,
                          const unsigned char *payload);
void co_links_bodies_move(struct co_links_channel *self);
void co_links_body_was_read(struct co_links_channel *self, struct co_links_body *body, int result);
bool co_links_next_ended(struct co_links_channel *self, struct co_channel_end *end);
void co_links_bodies_fail(struct co_links_channel *self, int peer); // their owners are told
void co_links_bodies_forget(struct co_links_channel *self, int peer);

#endif
