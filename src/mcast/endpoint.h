// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast: the structs that its files share, and who does what to them.
//   wire/      what a datagram looks like, in bytes and in words
//   receive/   datagrams verified, chunks to their place
//   send/      first transmissions within window and rate, control messages
//   ack/       what members have: handshake, credit and its tree
//   repair/    loss noticed, NACKs, retransmissions, reads of the neighbour's memory
//   liveness/  whose silence ends an operation, and peers that are said to be gone
// and here the conductor, which calls them (mcast_progress.c, and mcast_receive.c for what comes), the endpoint, its
// groups (seed.c, group.c, group_end.c), operations (operation*.c, collect.c), threads and the set-up probe. One thread
// at a time for an endpoint (the engine's lock); warm and hot.
#ifndef CASTOFF_MCAST_ENDPOINT_H
#define CASTOFF_MCAST_ENDPOINT_H

#include "base/fixed_pool.h"
#include "base/hash_map.h"
#include "base/chunk_bitmap.h"
#include "mcast/ack/credit_tree.h"
#include "mcast/liveness/liveness.h"
#include "mcast/mcast.h"
#include "mcast/receive/receive_block.h"
#include "mcast/receive/receive_lane.h"
#include "mcast/repair/repair.h"
#include "mcast/repair/repair_window.h"
#include "mcast/receive/replay_window.h"
#include "mcast/ack/ack_list.h"
#include "mcast/ack/rtt.h"
#include "mcast/seed.h"
#include "mcast/send/send_window.h"
#include "mcast/wire/serial.h"
#include "transport/reads.h"
#include "mcast/send/transmit.h"
#include "mcast/wire/wire.h"

#define CO_RETRANSMIT_QUEUE 256
#define CO_NACKS_TIMED 32 // at most CO_WIRE_NACK_LABELS
#define CO_NACKS_KEPT (2 * CO_WIRE_NACK_LABELS)
#define CO_CONTROL_MAX 1200 // body bytes of one control message
#define CO_NACK_RANGES_MAX 128
#define CO_EARLY_CHAINS 1024
// Closed groups still answer a neighbour: so many at least, and as many as fit into so much memory.
#define CO_LINGERING_GROUPS 16
#define CO_LINGERING_BYTES ((size_t)1 << 20)
#define CO_ACK_REQUEST_NO_SOURCE UINT32_MAX
#define CO_ACK_LAZY_NS UINT64_C(5000000)   // an owed report leaves after this even without company,
#define CO_ACK_CREDIT_NS UINT64_C(2000000) // and a credit below the quantum
#define CO_NEVER UINT64_MAX

// One operation of a group. In the group's list from its start until nobody can ask for its bytes.
struct co_mcast_op {
    struct co_mcast_group *group;
    struct co_mcast_op *next;
    uint32_t number;
    int root;                 // bcast; -1 allgather
    int state;                // 0 under way, 1 done, -errno: what the user sees
    uint8_t *buffer;          // the user's, or the kept copy
    struct co_region *region; // the own block for the transport; NULL: it has no use for one, or copies
    size_t bytes;             // of all blocks
    bool is_scattered;        // they do not stand one behind the other
    int senders;              // members that send
    int block_count;          // 1, or one for each member
    struct co_receive_block *blocks;
    int blocks_missing;
    uint32_t next_psn, send_chunks; // own block
    uint64_t last_sent_ns;          // of its chunks
    // Of an allgather: chunks of the other blocks that are on their way, and how many of these have arrived.
    uint64_t begun_chunks, arrived_chunks;
    bool passes_all; // the right neighbour is deaf: what it wants is passed on even if it came by multicast
    bool may_send, is_kept, is_released, right_has_it;
    bool owes_end;       // all of the own block has left, but the queue had no room for the word that says so
    uint32_t end_at;     // of the chunks that have left in all, then
    unsigned ends;       // times that this has been said, 0: there is no need to, or it has yet to leave
    bool is_sending;     // a part of the own block is with the sending thread: the buffer stays ours
    int failure;         // came up while the buffer was being read; the state once it is not
    size_t bitmap_bytes; // of its blocks, and of what is wanted
    // Repair by reading: rdma_repair_read.c, rdma_repair_offer.c.
    struct co_op_export *exports; // of the buffer, to the right neighbour
    uint64_t last_read;           // number of the last read of the left neighbour's memory
    bool awaits_reads;            // it has yet to end, which counts as a missing block
    // Of a bcast whose root gave another length than we: operation_length.c.
    uint8_t *whole;         // takes it, where the user has no room
    uint64_t *resized_bits; // of the block; NULL: they are beside it
    uint64_t **wanted;      // for each block, chunks that the right neighbour asked for before we had them; NULL: none
    uint64_t last_event_ns;
    // An allgather by way of a collector (the root then); NULL and 0 otherwise.
    struct co_receive_block *parts; // at the collector, by member: their blocks
    int parts_missing;
    uint64_t contribution_due_ns; // when to send ours again, at the collector to ask who is late; 0: no more
    unsigned contributions;       // sent so far
    uint32_t contributed;         // chunks of the one that is being sent
};

struct co_mcast_group {
    struct co_mcast *mcast;
    struct co_mcast_seed *seed;         // out of which it was opened; goes with it
    struct co_mcast_group *next_active; // has operations or owes something
    struct co_mcast_group *next_lingering;
    bool is_active, is_closing, is_lingering;
    size_t storage_bytes; // of this struct and its arrays
    int broken;           // 0, or -errno with which every operation fails
    bool has_given_up;    // copies that the neighbour may still want
    bool has_failing;     // operations that have failed, and whose buffers are still being read
    uint64_t team_id;
    int count, self, left, right;
    int *members;         // world ranks
    uint32_t *first_unit; // [count + 1]: units before member i; known once this member has used the team itself
    uint32_t next_operation;
    uint32_t started; // operations so far
    struct co_mcast_op *oldest, *newest;
    struct co_early_chunk *early_first, **early_end;
    // Receiving, by source; cumulative chunk counts (serial.h).
    uint32_t *received, *reported, *reported_heard;
    uint32_t *staged;       // here, too, of operations that have yet to begin: not yet received
    uint32_t delivered;     // received, of all sources
    uint32_t *latest;       // operation of the latest first transmission
    uint32_t *credit_every; // chunks after which the source wants credit, 0: the quantum
    uint32_t *unheard;      // blocks in a row that came by repair alone
    uint32_t *seen_in_turn; // turn of the search for requests in which the source was met
    uint32_t turn;
    uint64_t quiet_until_ns;               // no block is overdue
    bool is_quiet;                         // and nothing is missing of any: no look at all of them until then
    uint32_t requests, answered;           // number of the last request, and of the latest one known to be answered
    uint64_t requested_ns[CO_NACKS_TIMED]; // when the last ones left, by number
    uint32_t requested_of[CO_NACKS_KEPT];  // operation
    struct co_credit_tree tree;
    uint32_t *child_received, *child_heard; // by the child's position in the source's tree: both follow from it
    uint32_t quantum;                       // chunks after which credit is reported unasked
    uint64_t widest_gap_ns;                 // between arrivals within a block, decaying: what silence is normal here
    // Chunks that were not here when later ones had come or the end was announced: of operations in which all send, and
    // by source of those with one sender.
    uint32_t lost, *lost_of;
    uint32_t unreported_done; // operations completed since the left neighbour was told
    uint64_t report_due_ns;
    bool is_gathering; // credit waits for company, and has since so much was delivered
    uint32_t gathered_from;
    struct co_ack_list news, rests;    // sources: credit has to be looked at, and is more than was reported
    struct co_early_nack *early_nacks; // of the right neighbour, as they came
    // Sending.
    struct co_send_window window;
    uint32_t *lost_known, *lost_judged; // by member: chunks it says it has lost, now and at the window's last judgement
    uint32_t senders;                   // at once, in the latest operation
    // The right neighbour, and patience with those we wait for.
    uint32_t right_done_before, right_done_mask;
    uint64_t ack_request_due_ns, ack_requested_ns;
    uint64_t pace_due_ns;          // when the sender should look again without credit
    uint64_t end_due_ns;           // when to say again that a block has left
    uint64_t held_ns;              // until then the pace held it back, 0: it did not
    uint32_t ack_request_sequence; // low half of the last request for an ACK, for the round trip
    unsigned ack_requests;
    bool is_stalled; // the window held the sender back
    // Signs of life.
    int next_asked, suspect; // member; member plus one that owes an answer, 0: none
    unsigned suspect_asked;  // times
    uint64_t ask_due_ns, looked_ns, suspect_ns;
};

#define CO_DEAF_BLOCKS 3 // that came by repair alone

// Does the source's multicast not come here?
static inline bool co_group_is_deaf(const struct co_mcast_group *group, int source)
{
    return group->unheard[source] >= CO_DEAF_BLOCKS;
}

struct co_peer {
    struct co_replay_window replay;
    uint64_t heard_ns;      // last first transmission of a chunk
    uint64_t alive_ns;      // last control message, or answer of its host: a sign of life
    uint64_t unanswered_ns; // first question for a sign of life since the last one, 0: none
    uint64_t probed_ns;     // last question to itself
    struct co_liveness liveness;
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
    size_t kept_bytes;
    size_t bitmap_bytes; // of all operations
    uint64_t control_sequence;
    struct co_rtt trip;     // of control messages
    struct co_rtt nack_rtt; // from a request to its first answer
    struct co_repair_window repair_window;
    uint64_t heard_ns; // when a first transmission came last, from whomever
    uint64_t now_ns;
    uint64_t timer_ns; // nothing to do before, unless a datagram comes
    bool wants_write;
    unsigned reading_ops; // that await reads
    bool is_behind;       // datagrams are waiting: what seems to be missing may be among them
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
    struct co_send_batch batch, sender_batch; // the latter's auth is NULL: nobody sends beside the engine
    unsigned batch_room;
    struct co_send_part part;                          // with the sending thread while its op is not NULL
    bool has_part_for_sender;                          // seen while the engine moved
    struct co_receive_lane *lanes[CO_MCAST_LANES_MAX]; // by subgroup, NULL: none
    uint8_t control[CO_WIRE_HEAD_BYTES + CO_CONTROL_MAX];
};

// If not said otherwise: by the holder of the endpoint; now is mcast->now_ns; members and sources are indexes in the
// group, chunks are counted and `psn`, `first` are PSNs.

#endif
