// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast: the structs that its files share, and who does what to them.
//   endpoint.c   open, close, progress        dispatcher.c  verify and dispatch datagrams
//   stub.c       teams before their first word
//   group.c      members, life                operation.c         finish, keep, free
//   operation_start.c  shape and memory       operation_memory.c  the buffer as the transport knows it
//   operation_length.c    a block whose root gave another length
//   collect.c    small allgathers by way of one member
//   liveness_deadline.c   whose silence ends an operation      peer_failure.c       peers that are said to be gone
//   deliver.c      chunks into buffers, staging  transmit.c          first transmissions (transmit.h)
//   landing.c    where chunks go that have yet to come   chunk_run.c  many chunks of a block at once
//   repair_*.c   missing ranges (repair.h)    control_send.c           seal and send messages
//   threads.c    sending and receiving beside the engine
//   ack.c, ack_request.c  handshake and credit   probe.c    set-up probe
// One thread at a time for an endpoint (the engine's lock); warm and hot.
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
#include "mcast/stub.h"
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
#define CO_EARLY_NACKS 16 // requests kept for operations that have yet to begin
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
    size_t bytes;             // of the whole buffer
    int block_count;          // 1, or one for each member
    struct co_receive_block *blocks;
    int blocks_missing;
    uint32_t next_psn, send_chunks; // own block
    uint64_t last_sent_ns;          // of its chunks
    bool passes_all; // the right neighbour is deaf: what it wants is passed on even if it came by multicast
    bool may_send, is_kept, is_released, right_has_it;
    bool owes_end;       // all of the own block has left, but the queue had no room for the word that says so
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

struct co_early_chunk {
    struct co_early_chunk *next, *next_in_chain;
    struct co_mcast_group *group;
    struct co_chunk chunk;
    size_t bytes;
    uint8_t payload[];
};

// A request for an operation that has not begun here: answered when it begins.
struct co_early_nack {
    struct co_early_nack *next;
    uint32_t operation;
    struct co_nack_body body;
    unsigned count;
    struct co_nack_range ranges[];
};

struct co_mcast_group {
    struct co_mcast *mcast;
    struct co_mcast_stub *seed;         // out of which it was opened; goes with it
    struct co_mcast_group *next_active; // has operations or owes something
    struct co_mcast_group *next_lingering;
    bool is_active, is_closing, is_lingering;
    size_t storage_bytes; // of this struct and its arrays
    int broken;           // 0, or -errno with which every operation fails
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
    uint64_t doubts_due_ns;   // when to ask them
    struct co_hash_map seeds; // by the wire's half of the team id (stub.h)
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
    struct co_placed_chunks placed; // and not counted yet
    bool lands;                     // what is broadcast here may be received to its place
    struct co_mcast_op *stream;     // whose chunks came last; NULL: of none that can land
    uint32_t landing_psn;           // its next chunk
    uint8_t *landing_at;            // where that one goes
    struct co_probe probe;
    struct co_retransmit repairs[CO_RETRANSMIT_QUEUE];
    unsigned repair_head, repair_tail;        // free-running
    unsigned sent_turn, repair_turn;          // parts of own blocks that left; as many had when an answer went first
    struct co_send_batch batch, sender_batch; // the latter's auth is NULL: nobody sends beside the engine
    unsigned batch_room;
    struct co_send_part part;                          // with the sending thread while its op is not NULL
    bool has_part_for_sender;                          // seen while the engine moved
    struct co_receive_lane *lanes[CO_MCAST_LANES_MAX]; // by subgroup, NULL: none
    struct co_receive_lane *lane;                      // whose datagrams are being delivered, NULL: of poll
    const struct co_lane_datagram *lane_datagram;
    uint8_t control[CO_WIRE_HEAD_BYTES + CO_CONTROL_MAX];
};

// If not said otherwise: by the holder of the endpoint; now is mcast->now_ns; members and sources are indexes in the
// group, chunks are counted and `psn`, `first` are PSNs.

// control_send.c: what may pass before a message counts as unanswered
uint64_t co_control_timeout_ns(const struct co_mcast *mcast);
// The body is one of wire.h's, at most CO_CONTROL_MAX bytes, with `entries` entries; none: NULL, 0. Returns 1 when it
// left, 0 when the local queue was full and it is gone, or -errno of the transport's send.
int co_control_send(struct co_mcast *mcast, uint64_t team_id, int sender_index, struct co_destination to,
                    enum co_control_type type, uint32_t operation, uint16_t entries, const void *body,
                    size_t body_bytes);
int co_control_send_member(struct co_mcast_group *group, int member, enum co_control_type type, uint32_t operation,
                           uint16_t entries, const void *body, size_t body_bytes);
// By a reliable connection if there is one (transport.h).
int co_control_send_once(struct co_mcast_group *group, int member, enum co_control_type type, uint32_t operation,
                         uint16_t entries, const void *body, size_t body_bytes);

static inline enum co_auth_domain co_chunk_domain(const struct co_chunk *chunk)
{
    return chunk->is_contribution ? CO_AUTH_CONTRIBUTION : chunk->is_repair ? CO_AUTH_REPAIR : CO_AUTH_CHUNK;
}

// dispatcher.c. Two co_deliver_fn whose arg is the endpoint: whatever comes off the network, and chunks whose
// payload stands where co_landing_open said.
void co_dispatcher_deliver(void *mcast, const struct co_arrival *arrivals, unsigned count);
void co_dispatcher_deliver_landed(void *mcast, const struct co_arrival *arrivals, unsigned count);

// chunk_run.c. `arrival` is the first of `count`, and was placed as a first transmission from `source` in `op` (NULL:
// it was not). Takes those behind it that are more of the same; returns how many. land: of
// co_dispatcher_deliver_landed.
unsigned co_chunk_run_place(struct co_mcast_op *op, int source, const struct co_arrival *arrival, unsigned count);
unsigned co_chunk_run_land(struct co_mcast_op *op, int source, const struct co_arrival *arrival, unsigned count);

// landing.c
void co_landing_open(struct co_mcast *mcast);   // where the transport can receive to where payload goes
void co_landing_begin(struct co_mcast_op *op);  // its chunks may come next
void co_landing_follow(struct co_mcast_op *op); // one of them has come
void co_landing_forget(const struct co_mcast_op *op);

// liveness_deadline.c
void co_liveness_deadline_check(struct co_mcast_group *group);
uint64_t co_liveness_deadline_due_ns(const struct co_mcast_group *group); // when to look; CO_NEVER

// peer_failure.c
void co_peer_failure_poll_transport(struct co_mcast *mcast);   // what it says of peers
void co_peer_failure_heard(struct co_mcast *mcast, int rank);  // an authenticated word, not heard before
void co_peer_failure_progress(struct co_mcast *mcast);         // asks whom it may concern
uint64_t co_peer_failure_due_ns(const struct co_mcast *mcast); // when to do so if nothing comes; CO_NEVER

// group.c
// Becomes the seed's, all but units. 0 or -ENOMEM. Bounded work: it may come up while datagrams are received.
int co_group_open(struct co_mcast *mcast, struct co_mcast_stub *seed);
// It has something to do, or its timers have changed: the next progress looks at it.
void co_group_activate(struct co_mcast_group *group);
void co_group_free(struct co_mcast_group *group); // without operations; with its seed
// A closed one that has nothing left to do; the eldest of those lingering may be freed for it.
void co_group_linger(struct co_mcast_group *group);
bool co_group_is_idle(const struct co_mcast_group *group);
void co_group_break(struct co_mcast_group *group, int error); // once; tells the others
void co_group_progress(struct co_mcast_group *group);
uint64_t co_group_timer_ns(struct co_mcast_group *group); // when to progress it if nothing comes; CO_NEVER

// operation.c
struct co_mcast_op *co_operation_find(struct co_mcast_group *group, uint32_t number); // NULL: not begun, or over
// Its bytes may be read: it has not failed, and the buffer is not the program's again, which it is from its release on
// unless a copy is kept. A released operation is there until its group is moved.
bool co_operation_has_bytes(const struct co_mcast_op *op);
struct co_receive_block *co_operation_block(struct co_mcast_op *op, int source); // NULL: that one sends none
int co_operation_source(const struct co_mcast_op *op, int block);
int co_operation_senders(const struct co_mcast_op *op);              // at a time
void co_operation_block_arrived(struct co_mcast_op *op, int source); // the last chunk of it
void co_operation_own_block_is_here(struct co_mcast_op *op);         // to be sent; nothing is awaited of it
// Moves all as far as they go, and frees those that nobody needs: no pointer to an operation outlives it.
void co_operations_settle(struct co_mcast_group *group);
// Unless it is over. Now, or once its buffer is being read no more (has_failing): then progress tries it again.
void co_operation_fail(struct co_mcast_op *op, int error);
void co_operations_fail_again(struct co_mcast_group *group);
// Whose own block is the next to leave, if that is for the sending thread; NULL: nobody's.
struct co_mcast_op *co_operation_for_sender(struct co_mcast_group *group);
void co_operation_part_sent(struct co_mcast_op *op); // a part is back from the sending thread, sent or not
void co_operation_count_bitmap(struct co_mcast_op *op, size_t bytes); // more of it, until it is freed

// operation_memory.c
void co_operation_memory_open(struct co_mcast_op *op);          // where the transport knows regions
bool co_operation_memory_is_busy(const struct co_mcast_op *op); // the transport has yet to read some of it
bool co_operation_memory_try_close(struct co_mcast_op *op);     // of one that has a region, or has lent some
// Before the buffer is given back. False: not yet; progress is called again when it may be.
static inline bool co_operation_memory_close(struct co_mcast_op *op)
{
    return (op->region == NULL && op->exports == NULL) || co_operation_memory_try_close(op);
}
// Likewise, and what has yet to leave is lost: only before the transport is closed.
void co_operation_memory_drop(struct co_mcast_op *op);

// operation_length.c: 0: the block has the length that its root gave. -EMSGSIZE: it cannot any more, or -ENOMEM.
int co_operation_resize(struct co_mcast_op *op, size_t bytes);

// collect.c
bool co_collect_is_worth_it(const struct co_mcast_group *group, size_t bytes); // of all blocks; the same on all members
int co_collect_member(const struct co_mcast_group *group);                     // the collector, likewise
void co_collect_start(struct co_mcast_op *op);
void co_collect_place(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
void co_collect_due(struct co_mcast_group *group);              // sends again, or asks for, what is due by now
uint64_t co_collect_due_ns(const struct co_mcast_group *group); // the next of these; CO_NEVER
// At a collector that waits: for whom (co_mcast_op_describe). False: it does not.
bool co_collect_describe(const struct co_mcast_op *op, char *text, size_t room);

// deliver.c. A chunk is decoded and its tag verified; `bytes` is its payload's size, which wire.c has checked.
void co_deliver_copy(struct co_mcast_op *op, const struct co_receive_block *block, const struct co_chunk *chunk,
                     const uint8_t *payload, size_t bytes);
// Copies it if it is new, whatever its kind, and draws all conclusions; one of another shape fails the operation. True:
// it is new; of a contribution never.
bool co_deliver_chunk(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
// What co_deliver_chunk concludes, of a run: the flow has the marks and duplicates of `taken` chunks.
void co_deliver_conclude(struct co_mcast_op *op, int source, const struct co_flow *flow, struct co_placed_chunks placed,
                         unsigned taken);
void co_deliver_count(struct co_mcast *mcast); // in the counters, what has been placed since
// Of an operation that has not begun: a copy in staging; dropped when that is full.
// False: it was kept before, or there is no room, and it says nothing of its source.
bool co_early_keep(struct co_mcast_group *group, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
void co_early_replay(struct co_mcast_op *op); // places what was kept for it
void co_early_drop_all(struct co_mcast_group *group);

// threads.c
int co_lanes_progress(struct co_mcast *mcast); // places what lanes hold; 0, or -errno when the transport broke
void co_threads_close(struct co_mcast *mcast); // after the last thread has gone

// ack.c
void co_ack_operation_done(struct co_mcast_op *op); // all its blocks are here: the left neighbour is owed a report
void co_ack_changed(struct co_mcast_group *group, int source); // what is had or heard of it here or below us
void co_ack_send_due(struct co_mcast_group *group);            // sends what is due by now
// To one member, all that concerns it. `echo`: low half of the sequence of the request for an ACK that it answers, 0:
// none.
void co_ack_send(struct co_mcast_group *group, int member, uint32_t echo);
void co_ack_receive(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body);
// Opens the window as far as all members have what was sent. is_asked: by an answer to a request for an ACK.
void co_ack_credit(struct co_mcast_group *group, bool is_asked);
bool co_ack_right_has(const struct co_mcast_group *group, uint32_t number); // all blocks of that operation

// ack_request.c
// A report lost further down is asked for again of those who hold our own credit back. True: the request for an ACK
// came the way that leads to the source, which waits, then.
bool co_ack_request_pass_on(struct co_mcast_group *group, int from, uint32_t source);
void co_ack_request_send_due(struct co_mcast_group *group); // asks those whose ACK is overdue

// probe.c
void co_probe_take(struct co_mcast *mcast, const struct co_control *control); // its source is a world rank
void co_probe_progress(struct co_mcast *mcast);
void co_probe_close(struct co_mcast *mcast); // forgets its verdict too

#endif
