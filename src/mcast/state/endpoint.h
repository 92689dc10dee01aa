// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast: what an endpoint has, of which its groups (group.h) and their operations (operation.h) are a
// part. This folder is what all rooms of the protocol look at, and it calls none of them; of their headers it includes
// those that are one idea and know nothing of it. Who does what to it:
//   wire/      what a datagram looks like, in bytes and in words
//   receive/   datagrams verified, chunks to their place
//   send/      first transmissions within window and rate, control messages
//   ack/       what members have: handshake, credit and its tree
//   repair/    loss noticed, NACKs, retransmissions, reads of the neighbour's memory
//   liveness/  whose silence ends an operation, and peers that are said to be gone
// and above them, in src/mcast itself, the conductor, which calls them (mcast_progress.c, and mcast_receive.c for what
// comes), an endpoint's opening and end (mcast_open.c), operations' life (operation_*.c, collect.c), groups' end
// (group_end.c), threads and the set-up probe. One thread at a time for an endpoint (the engine's lock); warm and hot.
#ifndef CASTOFF_MCAST_STATE_ENDPOINT_H
#define CASTOFF_MCAST_STATE_ENDPOINT_H

#include "base/chunk_bitmap.h"
#include "base/memory/fixed_pool.h"
#include "base/hash_map.h"
#include "mcast/ack/rtt.h"
#include "mcast/liveness/refusals.h"
#include "mcast/receive/receive_lane.h"
#include "mcast/receive/replay_window.h"
#include "mcast/repair/repair.h"
#include "mcast/repair/repair_window.h"
#include "mcast/send/transmit.h"
#include "mcast/state/group.h"
#include "mcast/state/kept_copies.h"
#include "mcast/state/operation.h"
#include "mcast/wire/serial.h"
#include "mcast/wire/wire.h"
#include "transport/reads.h"

#define CO_RETRANSMIT_QUEUE 256
#define CO_NACK_RANGES_MAX 128
#define CO_EARLY_CHAINS 1024
// Closed groups still answer a neighbour: so many at least, and as many as fit into so much memory.
#define CO_LINGERING_GROUPS 16
#define CO_LINGERING_BYTES ((size_t)1 << 20)
#define CO_ACK_REQUEST_NO_SOURCE UINT32_MAX
#define CO_ACK_LAZY_NS UINT64_C(5000000)   // an owed report leaves after this even without company,
#define CO_ACK_CREDIT_NS UINT64_C(2000000) // and a credit below the quantum

struct co_peer {
    struct co_replay_window replay;
    uint64_t heard_ns;      // last first transmission of a chunk
    uint64_t alive_ns;      // last control message, or answer of its host: a sign of life
    uint64_t unanswered_ns; // first question for a sign of life since the last one, 0: none
    uint64_t probed_ns;     // last question to itself
    uint64_t awaited_ns;    // last look of who waits for it outside of any group,
    uint64_t silent_ns;     // and for how long it has owed an answer in such looks,
    unsigned awaited_asked; // with so many questions
    bool was_heard;         // a control message of its own has come
    struct co_refusals refusals;
    bool is_dead;
};

struct co_probe {
    int state; // -EAGAIN: none
    const int *members;
    int *copy;
    int count, prober, answered;
    bool *heard; // by member
    bool *subgroups_heard;
    unsigned subgroups_missing;
    uint64_t patience_ns, interval_ns, deadline_ns, next_ns;
    int pinged; // world rank
    bool is_answered;
};

struct co_placed_chunks {
    uint64_t chunks, bytes;
    uint64_t landed;  // of the chunks: without a copy
    uint64_t in_runs; // of the chunks: by the datapath kernel
};

struct co_mcast {
    struct co_mcast_config config;
    struct co_transport *transport;
    size_t tag_bytes;
    struct co_peer *peers; // by world rank
    int dead_peers, doubtful_peers;
    uint64_t liveness_due_ns; // when to ask them
    struct co_hash_map seeds; // by the wire's half of the team id (seed.h)
    struct co_mcast_group *active;
    struct co_mcast_group *lingering_first, **lingering_end;
    int lingering_count;
    size_t lingering_bytes;
    struct co_fixed_pool early;
    struct co_early_chunk *early_chains[CO_EARLY_CHAINS]; // the same, to be found
    struct co_kept_copies kept;
    size_t bitmap_bytes; // of all operations
    uint64_t control_sequence;
    struct co_rtt control_rtt;
    struct co_rtt nack_rtt; // from a request to its first answer
    struct co_repair_window repair_window;
    uint32_t repairs_owed;    // chunks that were asked for of sources not heard, and have not come by repair
    uint64_t repaired_ns;     // when one of these came last,
    uint64_t spare_ns;        // and one that was here by then
    uint32_t delivered;       // chunks that have come, of all groups
    uint64_t heard_ns;        // when a first transmission came last, from whomever
    size_t unheard_bytes;     // that repairs have brought since any first transmission came
    uint64_t spacing_ns;      // between two of them where all send, at most and decaying; 0: not known
    uint64_t contribution_ns; // when a contribution came last, to whatever operation
    struct co_usual_time contribution_gaps; // between two of an operation
    struct co_usual_time
        contribution_answers; // from ours to the broadcast; at a collector, from the start to the first
    uint64_t now_ns;
    uint64_t timer_ns; // nothing to do before, unless a datagram comes
    bool wants_write;
    unsigned reading_ops;  // that await reads
    bool is_behind;        // datagrams are waiting: what seems to be missing may be among them
    uint64_t behind_taken; // datagrams in a row that others waited behind
    int events;
    uint64_t advances;
    struct co_placed_chunks placed;           // and not counted yet
    bool lands;                               // what is broadcast here may be received to its place
    struct co_mcast_op *stream;               // whose chunks came last; NULL: of none that can land
    uint32_t landing_psn;                     // its next chunk
    uint8_t *landing_at;                      // where that one goes
    uint8_t landing_head[CO_WIRE_HEAD_BYTES]; // of PSN 0 of the same block
    struct co_probe probe;
    struct co_retransmit repairs[CO_RETRANSMIT_QUEUE];
    unsigned repair_head, repair_tail;        // free-running
    unsigned sent_turn, repair_turn;          // parts of own blocks that left; as many had when an answer went first
    _Atomic bool sender_rests;                // nothing is left to it
    struct co_send_batch batch, sender_batch; // the latter's auth is NULL: nobody sends beside the engine
    unsigned batch_room;
    struct co_send_part part;                          // with the sending thread while its op is not NULL
    bool has_part_for_sender;                          // seen while the engine moved
    struct co_receive_lane *lanes[CO_MCAST_LANES_MAX]; // by subgroup, NULL: none
    uint8_t control[CO_WIRE_HEAD_BYTES + CO_CONTROL_MAX];
};

// If not said otherwise: by the holder of the endpoint; now is mcast->now_ns; members and sources are indexes in the
// group, chunks are counted and `psn`, `first` are PSNs.

// By which a chunk leaves.
static inline unsigned co_mcast_subgroup(const struct co_mcast *mcast, uint32_t psn)
{
    return psn / mcast->batch_room % mcast->config.subgroups;
}

#endif
