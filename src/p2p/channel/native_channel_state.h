// SPDX-License-Identifier: BSD-3-Clause
//
// What the channel between hosts consists of. Private to native_channel.c, the side of its callers, who hold the lock
// of the point-to-point engine, and native_progress.c, the side that calls the MPI below and holds `mover`, for which
// nobody waits. The two sides meet in queues and counters only, so that no lock of castoff's that somebody waits for is
// held across a native call.
//
// Slots of the MPI below: `packets` receives, as many packets to send, then transfers that are sent, then those that
// are expected.
#ifndef CASTOFF_P2P_CHANNEL_NATIVE_CHANNEL_STATE_H
#define CASTOFF_P2P_CHANNEL_NATIVE_CHANNEL_STATE_H

#include "base/atomics.h"
#include "p2p/channel/channel_credit.h"
#include "p2p/channel/native_channel.h"
#include "p2p/channel/index_queue.h"

#define CO_NATIVE_TRANSFERS 32 // of each direction at a time
#define CO_NATIVE_PACKETS_LEAST 4
#define CO_NATIVE_PACKETS_MOST 1024
#define CO_NATIVE_TAG_PACKET 0 // of packets; transfers have the number of their slot from 1 on

// One packet on its way. The mark is what tells that something has come without a call.
struct co_native_packet {
    _Atomic uint32_t mark; // never 0 in a packet that was sent
    uint32_t reserved;
    struct co_packet head;
    unsigned char payload[];
};

// A packet or a transfer on its way: written by the caller, then the mover's until it is in a queue of those that are
// over.
struct co_native_operation {
    void *address;
    size_t bytes, done_bytes;
    int peer, tag, result;
    bool is_receive;
    void *owner;               // the caller's
    _Atomic bool is_forgotten; // its owner is gone: a receive is cancelled
    bool is_stuck;             // the mover's: it could not be, and nobody waits for it
};

struct co_native_arrival {
    int peer;
    size_t bytes;
};

struct co_native_peer {
    unsigned packets;      // to it under way
    bool is_lost, is_told; // a packet could not be sent; and the engine knows
};

struct co_native_channel {
    struct co_channel channel; // first: what callers see
    struct co_native_channel_config config;
    struct co_native native;
    unsigned packets; // each way
    size_t packet_bytes;
    unsigned char *memory; // packets that arrive, then packets that leave
    struct co_native_operation *operations;
    struct co_native_arrival *arrivals; // [packets]
    struct co_native_done *done;        // room for what native tells; the mover's
    bool *under_way;                    // of operations: native has it; the mover's
    struct co_native_peer *peers;
    struct co_index_queue starts, ended_packets, ended_transfers;
    // The caller's.
    uint16_t *free_packets, *free_outgoing, *free_expected; // operations
    unsigned free_packet_count, free_outgoing_count, free_expected_count;
    struct co_channel_credits credits;
    int lost; // peers that are, and the engine does not know
    // The mover's, but for `consumed`.
    struct co_trylock mover;
    _Atomic uint64_t posted, arrived, consumed; // packets
    _Atomic unsigned packets_out, transfers;    // under way
    _Atomic uint64_t advances;
    unsigned stuck;            // operations
    _Atomic unsigned calls[2]; // from outside native, and from its progress loop
    _Atomic unsigned meetings;
    _Atomic unsigned forgotten; // since the mover last looked
    _Atomic int broken;         // -errno: packets do not arrive any more
    bool is_broken_told;
};

static inline struct co_native_channel *co_native_channel_of(struct co_channel *channel)
{
    return (struct co_native_channel *)channel;
}

static inline unsigned co_native_operation_count(const struct co_native_channel *self)
{
    return self->packets + 2 * CO_NATIVE_TRANSFERS;
}

static inline struct co_native_packet *co_native_packet_in(const struct co_native_channel *self, uint64_t number)
{
    return (struct co_native_packet *)(self->memory + (size_t)(number % self->packets) * self->packet_bytes);
}

static inline struct co_native_packet *co_native_packet_out(const struct co_native_channel *self, unsigned operation)
{
    return (struct co_native_packet *)(self->memory + ((size_t)self->packets + operation) * self->packet_bytes);
}

static inline unsigned co_native_slot(const struct co_native_channel *self, unsigned operation)
{
    return self->packets + operation;
}

// native_progress.c: starts what was handed over, no more; cheap when there is nothing.
void co_native_channel_flush(struct co_channel *channel);
// The last native calls. False: native still reads or writes some packet.
bool co_native_channel_end(struct co_native_channel *self);

#endif
