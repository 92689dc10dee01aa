// SPDX-License-Identifier: BSD-3-Clause
//
// What the rc_channel files share: the peers, the packets that nobody has taken yet, and transfers, which have a place
// each, numbered from 1. The two sides of a transfer name each other's places; the word beside a place tells it from an
// earlier use of the same place.
#ifndef CASTOFF_P2P_CHANNEL_RC_CHANNEL_STATE_H
#define CASTOFF_P2P_CHANNEL_RC_CHANNEL_STATE_H

#include "base/atomics.h"
#include "p2p/channel/channel_credit.h"
#include "p2p/channel/rc_channel.h"

#define CO_RC_TRANSFERS 32 // of each direction at a time
#define CO_RC_PENDING 64   // events fetched and not yet used up

// What the two channels say to each other beside the packets of callers, whose kinds end before.
enum co_rc_packet_kind {
    CO_RC_PACKET_READ_OFFER = 64, // struct co_rc_read_offer: the transfer can be read there
    CO_RC_PACKET_READ_DONE,       // struct co_rc_read_answer: it has been read
    CO_RC_PACKET_PIECES_WANTED,   // struct co_rc_read_answer: it cannot be read, pieces are wanted
    CO_RC_PACKET_PIECE            // struct co_rc_piece, then the next bytes of the transfer
};

struct co_rc_read_offer {
    struct co_rc_key key;
    uint64_t bytes;
    uint32_t number; // that the receiver gave
    uint32_t place;  // of the sender
};

struct co_rc_read_answer {
    uint32_t place; // of the sender
    uint32_t key;   // as it was exported: what is not any more is nobody's
};

struct co_rc_piece {
    uint32_t number;
    uint32_t is_last;
};

enum co_rc_step {
    CO_RC_FREE,
    CO_RC_WAITS,     // for the other side
    CO_RC_TO_EXPORT, // outgoing: has yet to be exported
    CO_RC_TO_OFFER,  // outgoing: is exported, and has yet to be said so
    CO_RC_TO_SEND,   // outgoing: piece by piece
    CO_RC_TO_READ,   // expected: is offered
    CO_RC_READS,     // expected: is being read
    CO_RC_TO_ANSWER, // expected: was read, or cannot be, and that has yet to be said
    CO_RC_ENDED      // its owner has yet to be told
};

struct co_rc_transfer {
    enum co_rc_step step;
    bool is_exported, wants_pieces;
    int peer, result;
    unsigned char *data;
    size_t bytes, done;
    uint32_t number;       // at the receiver
    uint32_t sender_place; // expected: at the sender
    struct co_rc_key key;  // where it is exported
    void *owner;           // NULL: gone
};

struct co_rc_peer {
    bool is_lost, is_told;
};

struct co_rc_channel {
    struct co_channel channel; // first: what callers see
    struct co_rc_channel_config config;
    struct co_rc *rc;
    struct co_rc_peer *peers;
    struct co_rc_event pending[CO_RC_PENDING]; // a ring: packets that came and were not taken, in order
    unsigned pending_first, pending_count;
    struct co_rc_transfer outgoing[CO_RC_TRANSFERS], expected[CO_RC_TRANSFERS];
    _Atomic bool must_let_go; // of the device; written by any thread
    unsigned outgoing_count, expected_count, ended_count;
    struct co_channel_credits credits;
    int lost; // peers that are, and the engine does not know
    _Atomic uint64_t advances;
};

static inline struct co_rc_channel *co_rc_channel_of(struct co_channel *channel)
{
    return (struct co_rc_channel *)channel;
}

static inline void co_rc_note_advance(struct co_rc_channel *self)
{
    co_store_relaxed(&self->advances, co_load_relaxed(&self->advances) + 1); // relaxed: one writer, a hint
}

// A packet of the channel's own. False: no room now.
static inline bool co_rc_channel_send(struct co_rc_channel *self, int peer, unsigned kind, const void *first,
                                      size_t first_bytes, const void *second, size_t second_bytes)
{
    const struct co_packet packet = {.kind = (enum co_packet_kind)kind,
                                     .bytes = (uint32_t)(first_bytes + second_bytes)};
    return self->channel.ops->send(&self->channel, peer, &packet, first, first_bytes, second, second_bytes);
}

// rc_transfers.c
uint32_t co_rc_transfer_expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner);
bool co_rc_transfer_start(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number,
                          void *owner);
void co_rc_transfers_receive(struct co_rc_channel *self, int peer, const struct co_packet *packet,
                             const unsigned char *payload);
void co_rc_transfers_progress(struct co_rc_channel *self);
void co_rc_transfer_was_read(struct co_rc_channel *self, struct co_rc_transfer *transfer, int result);
bool co_rc_transfers_next_ended(struct co_rc_channel *self, struct co_channel_end *end);
void co_rc_transfers_fail(struct co_rc_channel *self, int peer); // their owners are told
void co_rc_transfers_forget(struct co_rc_channel *self, int peer);

#endif
