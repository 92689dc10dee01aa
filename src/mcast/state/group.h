// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. A team's members on this endpoint (group.c). Members and sources are indexes in the group,
// chunks are counted. By the holder of the endpoint; hot.
#ifndef CASTOFF_MCAST_STATE_GROUP_H
#define CASTOFF_MCAST_STATE_GROUP_H

#include "mcast/ack/ack_list.h"
#include "mcast/ack/credit_tree.h"
#include "mcast/mcast.h"
#include "mcast/send/flow_control.h"
#include "mcast/send/way_trials.h"
#include "mcast/wire/agreed_ways.h"
#include "mcast/state/seed.h"
#include "mcast/wire/wire.h"

#define CO_NACKS_TIMED 32 // at most CO_WIRE_NACK_LABELS
#define CO_NACKS_KEPT (2 * CO_WIRE_NACK_LABELS)
#define CO_NEVER UINT64_MAX
#define CO_RECENT_OPERATIONS 32 // whose root is remembered
#define CO_EARLY_QUEUES 64

// Chunks of operations to come, in the order in which they came.
struct co_early_queue {
    struct co_early_chunk *first, *last;
};

// Numbers that no operation of ours has.
struct co_skipped_range {
    uint32_t first, count;
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
    uint32_t started;                       // operations so far
    _Atomic uint32_t yet_to_begin;          // calls of which some operation may be, where calls are told before
    uint32_t skipped;                       // numbers of these that are gone by
    struct co_skipped_range *skips;         // the last ones, NULL: none
    uint32_t skip_room, skip_count;         // for ranges; of them so far
    bool has_unequal_calls;                 // some root has let something go another way than this member
    int recent_roots[CO_RECENT_OPERATIONS]; // by the operation's number; -1: all members may send
    struct co_agreed_ways ways;             // of small allgathers
    struct co_way_trial *trials;            // by class; at the member that says which, NULL: none yet
    struct co_mcast_op *oldest, *newest;
    struct co_mcast_op *last_kept; // all up to it are merely kept for the neighbour; NULL: not one, or not known
    struct co_early_queue early[CO_EARLY_QUEUES]; // of operations by their numbers
    // Receiving, by source; cumulative chunk counts (serial.h).
    uint32_t *received, *reported, *reported_heard;
    uint32_t *staged;       // here, too, of operations that have yet to begin: not yet received
    uint32_t delivered;     // received, of all sources
    uint32_t *latest;       // operation of the latest first transmission
    uint32_t *credit_every; // chunks after which the source wants credit, 0: the quantum
    uint32_t *unheard;      // blocks in a row that came by repair alone
    uint32_t unheard_run;   // likewise, of whatever source
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
    struct co_mcast_op *end_kept;  // its end is yet to be said, by the next block or when that does not come
    uint64_t block_left_ns;        // the last chunk of the latest own block
    bool blocks_follow;            // the latest one began at once when the one before had left
    unsigned unlost_blocks;        // in a row, up to as many as it takes to keep ends back
    uint64_t end_due_ns;           // when to say that a block has left, or to say it again
    uint64_t held_ns;              // until then the pace held it back, 0: it did not
    uint32_t ack_request_sequence; // low half of the last request for an ACK, for the round trip
    unsigned ack_requests;
    bool is_stalled;   // the window held the sender back, or the turns of others
    bool wants_credit; // it was the window
    // Signs of life.
    int next_asked, suspect; // member; member plus one that owes an answer, 0: none
    unsigned suspect_asked;  // times
    uint64_t ask_due_ns, looked_ns, suspect_ns;
};

#define CO_DEAF_BLOCKS 3 // that came by repair alone
#define CO_DEAF_TO_ALL 6 // likewise, of each source of an operation, if they are so many

// Does the source's multicast not come here?
static inline bool co_group_is_deaf(const struct co_mcast_group *group, int source)
{
    return group->unheard[source] >= CO_DEAF_BLOCKS;
}

// Not the same one for every team of the same members.
static inline int co_group_collector(const struct co_mcast_group *group)
{
    return (int)(group->team_id % (uint64_t)group->count);
}

// Who tries which way small allgathers go. Not the collector: whom it answers knows how long that takes.
static inline int co_group_way_judge(const struct co_mcast_group *group)
{
    return (co_group_collector(group) + 1) % group->count;
}

// Becomes the seed's, all but units. 0 or -ENOMEM. Bounded work: it may come up while datagrams are received.
int co_group_open(struct co_mcast *mcast, struct co_mcast_seed *seed);
// It has something to do, or its timers have changed: the next progress looks at it.
void co_group_activate(struct co_mcast_group *group);

#endif
