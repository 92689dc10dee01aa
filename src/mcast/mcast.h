// SPDX-License-Identifier: BSD-3-Clause
//
// Front door of the reliable multicast protocol (S1, Khalilov et al., sections 3 and 4; our additions in
// docs/design.md). An endpoint is one process on a datagram transport; a group is one team's set of endpoints (one
// for each node); an operation broadcasts one block (Bcast) or one block of every member (Allgather). Bytes,
// indexes and callbacks only. One thread at a time for one endpoint, its holder, if not said otherwise; nothing blocks;
// time is an argument.
#ifndef CASTOFF_MCAST_MCAST_H
#define CASTOFF_MCAST_MCAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auth/auth.h"
#include "base/settings/fault_plan.h"
#include "transport/transport.h"

struct co_mcast;       // an endpoint
struct co_mcast_seed;  // a team in which nothing has been said yet
struct co_mcast_group; // a team's members on it
struct co_mcast_op;    // an operation under way

// Whose silence means that a member is gone.
enum co_liveness_proof {
    CO_LIVENESS_PROOF_NONE,    // nobody's: everybody is waited for
    CO_LIVENESS_PROOF_MEMBERS, // its own: all ranks run worker threads, which answer whatever the program does
    CO_LIVENESS_PROOF_HOSTS,   // its host's: it may be computing, but the kernel answers (host_ask of the transport)
};

struct co_mcast_config {
    struct co_transport *transport; // belongs to the caller, outlives the endpoint
    struct co_auth *auth;           // likewise
    int world_rank, world_size;
    unsigned subgroups;         // groups of the transport over which chunks are spread
    size_t chunk_bytes;         // payload of a full chunk; equal on all ranks
    size_t window_bytes;        // in flight to a group from a lone sender
    size_t shared_window_bytes; // and from several at once, together; 0: the same
    size_t staging_bytes;       // early chunks and kept copies together
    size_t eager_bytes;         // largest operation that is kept in a copy
    size_t read_bytes;          // smallest gap that is read from the neighbour's memory, where that can be; 0: none
    size_t collect_bytes;       // largest allgather that a member collects and broadcasts; equal on all ranks
    unsigned chains;            // senders at a time in an allgather; 0: all
    unsigned ack_radix;
    uint64_t cutoff_ns;                    // floor of the cutoff timer
    uint64_t deadline_ns;                  // silence of a peer that had begun; 0: none
    enum co_liveness_proof liveness_proof; // see co_mcast_set_liveness_proof
};

// What a datagram carries beside the payload of a chunk: head and tag.
size_t co_mcast_overhead_bytes(const struct co_auth *auth);
// Payload of a datagram of at most so many bytes: what that is shortened by lets each of many in one message begin at a
// multiple of 8, where the datapath kernel looks at it.
size_t co_mcast_chunk_bytes(const struct co_auth *auth, size_t datagram_bytes);

// Tells the lossy decorator what a datagram is: first transmission, repair or control.
enum co_fault_kind co_mcast_classify(struct co_destination to, const struct co_tx_datagram *datagram);

int co_mcast_open(struct co_mcast **out, const struct co_mcast_config *config);
void co_mcast_close(struct co_mcast *mcast);

// Of all ranks alike. By the holder, before operations.
void co_mcast_set_liveness_proof(struct co_mcast *mcast, enum co_liveness_proof proof);

// Receives, sends, runs timers. Returns the number of events (0: nothing moved) or -errno when the transport broke.
int co_mcast_progress(struct co_mcast *mcast, uint64_t now_ns);

// After progress has said that the transport broke: every group's operations fail with `error`, the members of those
// that were ever used are told as far as words still leave, and the transport is hung up. The endpoint is only there to
// be asked and closed then.
void co_mcast_abort(struct co_mcast *mcast, int error);

// Work that other threads may do beside the holder of the endpoint (S1, section 4: send and receive workers of each
// subgroup). Opened once, by the holder, before operations; 0 or -errno (-ENOTSUP: not on this transport).
#define CO_MCAST_LANES_MAX 16
#define CO_MCAST_SENDER_BYTES (256 * 1024) // own blocks from here on are left to the sending thread
int co_mcast_lane_open(struct co_mcast *mcast, unsigned subgroup);
int co_mcast_sender_open(struct co_mcast *mcast);
// Takes and verifies what has come for a subgroup; progress puts it in its place. Any thread, no lock. Positive:
// datagrams wait for progress. 0: none, or another thread is at it, or progress does it. -errno when the transport
// broke.
int co_mcast_lane_fill(struct co_mcast *mcast, unsigned subgroup);
int co_mcast_lane_descriptor(const struct co_mcast *mcast, unsigned subgroup);
// The sending thread: takes a part of a block (by the holder), sends it (no lock), accounts for it (by the holder).
// begin is false when there is nothing to send now, end when the send queue is full.
bool co_mcast_send_begin(struct co_mcast *mcast, uint64_t now_ns);
void co_mcast_send_run(struct co_mcast *mcast);
bool co_mcast_send_end(struct co_mcast *mcast, uint64_t now_ns);
// By the holder: since the last question something has come up for the sending thread.
bool co_mcast_wants_sender(struct co_mcast *mcast);
// Any thread. False: blocks are left to it no longer, and what it has begun it ends.
void co_mcast_sender_use(struct co_mcast *mcast, bool is_used);

// Grows whenever an operation has come nearer to its end: bytes placed or sent, credit, a neighbour's word, the end.
// Words that only repeat what is missing do not count.
uint64_t co_mcast_advances(const struct co_mcast *mcast);

// Nothing outstanding: no operation, no kept copy, no acknowledgement owed.
bool co_mcast_is_idle(const struct co_mcast *mcast);

// When progress must be called next even if no datagram comes; UINT64_MAX: never. *wants_write: the send queue
// was full, sleep on room in it too.
uint64_t co_mcast_next_timer_ns(const struct co_mcast *mcast, bool *wants_write);

// A team begins as a seed, which costs next to nothing. Its group is opened by whoever comes first: its own program,
// or an authentic datagram of another member. Members are given by world rank in group order, and copied. The transport
// joins all subgroups.
int co_mcast_seed_open(struct co_mcast_seed **out, struct co_mcast *mcast, uint64_t team_id, const int *members,
                       int count, int self);
size_t co_mcast_seed_bytes(const struct co_mcast_seed *seed); // memory that it takes, its place in the map included
// This member can do nothing for the team, and the other members are told, now or when they ask.
void co_mcast_seed_fail(struct co_mcast *mcast, struct co_mcast_seed *seed, int error);
// Closes the group, too, if there is one. A broken one without stays to answer, until the endpoint is closed.
void co_mcast_seed_close(struct co_mcast *mcast, struct co_mcast_seed *seed);

// The seed's group for the own program; once. `units` holds each member's share of an allgather in units (ranks of its
// node, at least 1), NULL: 1 each; copied. Where it fails the seed is as before. Closing the group closes the seed.
int co_mcast_group_open(struct co_mcast_group **out, struct co_mcast *mcast, struct co_mcast_seed *seed,
                        const int *units);
size_t co_mcast_group_bytes(const struct co_mcast_group *group); // memory that it takes
// All operations must be done. Kept copies that a neighbour may still ask for stay until acknowledged.
void co_mcast_group_close(struct co_mcast_group *group);
// This member can do nothing more for the group: its operations fail with `error`, and the other members are told.
void co_mcast_group_fail(struct co_mcast_group *group, int error);

// A collective that this member lets go another way, because of its own arguments, takes a number of the team's, as an
// operation would: who waits in an operation that its root has skipped so is told, and its state is -ECANCELED. On all
// members that let it go, before it may wait for others; by the thread of the program's calls.
void co_mcast_seed_skip(struct co_mcast_seed *seed);
void co_mcast_seed_unskip(struct co_mcast_seed *seed);  // the last one: it was refused, and has not been made
void co_mcast_group_skip(struct co_mcast_group *group); // likewise, as one that was called and has not begun
// By that thread, where operations start later than they are called: a call is made, of one or more of them. How many
// were skipped before it. By who starts them: all of its operations have begun, or will never.
uint32_t co_mcast_group_call(struct co_mcast_group *group);
void co_mcast_group_call_begun(struct co_mcast_group *group);
// Before an operation starts that was called after so many. False: not yet, as for co_mcast_group_may_start.
bool co_mcast_group_skip_to(struct co_mcast_group *group, uint32_t skipped);

// Starts the group's next operation; every member starts the same ones in the same order. -EOVERFLOW after 2^32 - 1 of
// them, on all members alike. The buffer belongs to the operation until it is done.
//   bcast: the root's `bytes` at `buffer` go to everybody's `buffer`.
//   allgather: member i owns units[i] * unit_bytes, standing at the sum of the earlier members' shares; the own
//   share is in place already.
//   allgatherv: member i owns places[i], with the same lengths on all members, of which at least one is not 0; the own
//   bytes are in place already, and where the others go is each member's own affair. Where the group collects so many
//   bytes they stand one behind the other.
struct co_mcast_place {
    size_t offset, bytes; // in the buffer
};
int co_mcast_bcast_start(struct co_mcast_op **out, struct co_mcast_group *group, int root, void *buffer, size_t bytes,
                         uint64_t now_ns);
int co_mcast_allgather_start(struct co_mcast_op **out, struct co_mcast_group *group, void *buffer, size_t unit_bytes,
                             uint64_t now_ns);
int co_mcast_allgatherv_start(struct co_mcast_op **out, struct co_mcast_group *group, void *buffer,
                              const struct co_mcast_place *places, uint64_t now_ns);
// False: the next one cannot begin yet, since which way it goes is still to be heard; co_mcast_*_start returns -EAGAIN.
// Never where fewer than CO_WAYS_LATER operations are outstanding, with what was skipped among them.
bool co_mcast_group_may_start(const struct co_mcast_group *group);
// The next operation, an allgather of so many bytes, goes by way of one member.
bool co_mcast_group_collects(const struct co_mcast_group *group, size_t bytes);

// 0: under way, 1: done, negative: failed (-ETIMEDOUT, -ECONNRESET: a peer is gone), or -ECANCELED: its root has
// skipped it.
int co_mcast_op_state(const struct co_mcast_op *op);
// Its buffer is being read right now, by the sending thread or by the transport: it cannot be given back yet.
bool co_mcast_op_is_being_read(const struct co_mcast_op *op);
// Of a bcast that is done: `*bytes` as its root gave them, which may be other than this member was called with. When
// they are more, and have come somewhere else for want of room, that memory, which is the caller's to free; else NULL.
void *co_mcast_op_take_whole(struct co_mcast_op *op, size_t *bytes);
// Gives the operation back once it is done or failed.
void co_mcast_op_release(struct co_mcast_op *op);
// One line for the stall watchdog: which block, how much, from whom it waits.
void co_mcast_op_describe(const struct co_mcast_op *op, char *text, size_t room);

// Asks this rank for a word, outside of any group; if its process is gone its host says so, after which it is known.
void co_mcast_query_liveness(struct co_mcast *mcast, int rank);
bool co_mcast_is_gone(const struct co_mcast *mcast, int rank);
// For who waits for this rank outside of any group: asks it, and its host where that speaks for it, as often as this is
// called, some 16 times a deadline or more. True: it is gone, or has given no sign of life for the deadline where
// silence is proof. Time for which nobody called counts up to an eighth of the deadline. `is_sure`: datagrams are known
// to arrive; else a firewall may refuse them all, and only who was heard once can be told to be gone by that.
bool co_mcast_await_peer(struct co_mcast *mcast, int rank, uint64_t now_ns, bool is_sure);
bool co_mcast_silence_is_proof(const struct co_mcast *mcast);

// Set-up probe: rank `prober` announces itself to each subgroup until everyone has answered, or nobody new for so long.
// Started by all; state: 0 under way, 1 heard (on the prober: by all), -ETIMEDOUT.
int co_mcast_probe_start(struct co_mcast *mcast, const int *members, int count, int prober, uint64_t patience_ns,
                         uint64_t now_ns);
int co_mcast_probe_state(const struct co_mcast *mcast);
// On the prober, once it is over: has this member (by index) failed to answer on some subgroup?
bool co_mcast_probe_is_deaf(const struct co_mcast *mcast, int member);
// After it: the same question to one rank, and whether that has answered since. Round trips are measured by it.
void co_mcast_ping(struct co_mcast *mcast, int rank, uint64_t now_ns);
bool co_mcast_ping_is_answered(const struct co_mcast *mcast);

#endif
