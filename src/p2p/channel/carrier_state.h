// SPDX-License-Identifier: BSD-3-Clause
//
// What the channel between hosts consists of. Private to carrier_channel.c, the side of its callers, who hold the lock
// of the point-to-point engine, and carrier_move.c, the side that calls the MPI below and holds `mover`, for which
// nobody waits. The two sides meet in queues and counters only, so that no lock of castoff's that somebody waits for is
// held across a native call.
//
// Slots of the MPI below: `frames` receives, as many frames to send, then bodies that are carried, then those that are
// expected.
#ifndef CASTOFF_P2P_CHANNEL_CARRIER_STATE_H
#define CASTOFF_P2P_CHANNEL_CARRIER_STATE_H

#include "base/order.h"
#include "p2p/channel/carrier_channel.h"
#include "p2p/channel/index_queue.h"

#define CO_CARRIER_BODIES 32 // of each direction at a time
#define CO_CARRIER_FRAMES_LEAST 4
#define CO_CARRIER_FRAMES_MOST 1024
#define CO_CARRIER_TAG_FRAME 0 // of frames; bodies have the number of their slot from 1 on

// One packet on its way. The mark is what tells that something has come without a call.
struct co_carrier_frame {
    _Atomic uint32_t mark; // never 0 in a frame that was sent
    uint32_t reserved;
    struct co_packet packet;
    unsigned char payload[];
};

// A frame or a body on its way: written by the caller, then the mover's until it is in a queue of those that are over.
struct co_carrier_operation {
    void *address;
    size_t bytes, done_bytes;
    int peer, tag, result;
    bool is_receive;
    void *owner;               // the caller's
    _Atomic bool is_forgotten; // its owner is gone: a receive is cancelled
    bool is_stuck;             // the mover's: it could not be, and nobody waits for it
};

struct co_carrier_arrival {
    int peer;
    size_t bytes;
};

struct co_carrier_peer {
    uint64_t given_back;   // by the peer
    uint64_t owed, told;   // given back to the peer; of that, what it knows
    unsigned frames;       // to it under way
    bool wants_to_tell;    // found no room for it
    bool is_lost, is_told; // a frame could not be sent; and the engine knows
};

struct co_carrier {
    struct co_channel channel; // first: what callers see
    struct co_carrier_channel_config config;
    struct co_native native;
    unsigned frames; // each way
    size_t frame_bytes;
    unsigned char *memory; // frames that arrive, then frames that leave
    struct co_carrier_operation *operations;
    struct co_carrier_arrival *arrivals; // [frames]
    struct co_native_done *done;         // room for what native tells; the mover's
    bool *under_way;                     // of operations: native has it; the mover's
    struct co_carrier_peer *peers;
    struct co_index_queue starts, ended_frames, ended_bodies;
    // The caller's.
    uint16_t *free_frames, *free_carried, *free_expected; // operations
    unsigned free_frame_count, free_carried_count, free_expected_count;
    int telling, lost; // peers that want to be told, or are lost and the engine does not know
    // The mover's, but for `consumed`.
    struct co_trylock mover;
    _Atomic uint64_t posted, arrived, consumed; // frames
    _Atomic unsigned frames_out, bodies;        // under way
    _Atomic uint64_t advances;
    unsigned stuck;            // operations
    _Atomic unsigned calls[2]; // from outside native, and from its progress loop
    _Atomic unsigned meetings;
    _Atomic unsigned forgotten; // since the mover last looked
    _Atomic int broken;         // -errno: frames do not arrive any more
    bool is_broken_told;
};

static inline struct co_carrier *co_carrier_of(struct co_channel *channel)
{
    return (struct co_carrier *)channel;
}

static inline unsigned co_carrier_operation_count(const struct co_carrier *carrier)
{
    return carrier->frames + 2 * CO_CARRIER_BODIES;
}

static inline struct co_carrier_frame *co_carrier_frame_in(const struct co_carrier *carrier, uint64_t number)
{
    return (struct co_carrier_frame *)(carrier->memory + (size_t)(number % carrier->frames) * carrier->frame_bytes);
}

static inline struct co_carrier_frame *co_carrier_frame_out(const struct co_carrier *carrier, unsigned operation)
{
    return (struct co_carrier_frame *)(carrier->memory + ((size_t)carrier->frames + operation) * carrier->frame_bytes);
}

static inline unsigned co_carrier_slot(const struct co_carrier *carrier, unsigned operation)
{
    return carrier->frames + operation;
}

// carrier_move.c: starts what was handed over, no more; cheap when there is nothing.
void co_carrier_flush(struct co_channel *channel);
// The last native calls. False: native still reads or writes some frame.
bool co_carrier_end(struct co_carrier *carrier);

#endif
