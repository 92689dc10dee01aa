// SPDX-License-Identifier: BSD-3-Clause
//
// What a replay consists of. Private to the replay's files.
#ifndef CASTOFF_TOOLS_TRACE_REPLAY_STATE_H
#define CASTOFF_TOOLS_TRACE_REPLAY_STATE_H

#include "base/hash_map.h"
#include "tools/trace/replay/replay.h"
#include "tools/trace/replay/replay_matchers.h"
#include "tools/trace/replay/replay_queue.h"

enum { CO_REPLAY_STEPS = 8192 };

struct co_replay;

// A rank that makes a child of a communicator, until all have come.
struct co_replay_child {
    uint32_t rank, number; // its own number of the child
    uint8_t way;
    uint16_t call;
    int32_t color, key;
    int32_t *ranks;      // of CO_COMM_BY_GROUP and CO_COMM_BY_PART; numbers of CO_COMM_BY_LEADERS
    uint32_t rank_count; // UINT32_MAX: they are nonsense
};

// A communicator, the same for all of its ranks.
struct co_replay_comm {
    uint32_t id;
    uint32_t count;                   // members
    uint32_t *members;                // ranks of the world in the order of their ranks here; NULL: the world
    struct co_hash_map places;        // rank of the world plus one to place plus one; empty: the world
    uint64_t *entered;                // collective calls by each member; UINT64_MAX: has no more
    uint64_t least;                   // of all
    uint32_t at_least;                // members that have entered no more than that
    struct co_replay_child *children; // that its members make together now
    uint32_t child_count;
    uint64_t children_at; // with the call of that number
    bool is_doubted;
    bool may_be_reordered;        // as long as not all members have asked for their rank
    uint32_t told;                // that have
    uint16_t call;                // that made it
    struct co_replay_comm *like;  // whose order it has; NULL: its own
    bool is_misfit;               // some message there does not fit the order of the ranks
    bool is_used;                 // there are messages; known at the end
    struct co_replay_comm *other; // whom its members talk to, where it is one side between groups; NULL: each other
    struct co_replay_comm *next;
};

// A rank's place in a communicator.
struct co_replay_place {
    struct co_queue queue;       // of this rank, there
    struct co_replay_comm *comm; // NULL: it could not be followed
    uint32_t rank, own;          // rank of the world, and here
    bool is_told;                // MPI said so
    bool has_talked, is_met;     // it sent or received there; and a message was the one that was wanted of it, or by it
};

enum co_replay_wait {
    CO_WAIT_NOT,
    CO_WAIT_RECEIVE,
    CO_WAIT_PROBE,
    CO_WAIT_TOGETHER, // until all have entered `count` calls
    CO_WAIT_ROOT,     // until member `root` has
    CO_WAIT_HALF,     // until the other group has come
    CO_WAIT_OVER
};

struct co_replay_rank {
    struct co_event_reader events;
    bool is_traced, is_queued; // queued: in the heap
    bool takes_from_anybody;
    int32_t rank;
    enum co_replay_wait wait;
    struct co_replay_comm *wait_comm;
    uint64_t wait_count;
    uint32_t wait_root, wait_receive;
    bool is_let_go; // nobody could go on: this one does not wait any more
    uint64_t shift_ns, now_ns;
    struct co_hash_map places;   // by its own number of the communicator
    struct co_hash_map by_comm;  // by the communicator's id plus one
    struct co_hash_map receives; // number plus one to struct co_replay_receive
    struct co_hash_map made;     // how often it made such a communicator (CO_COMM_BY_MEMBERS)
    uint32_t posted, unexpected; // now, in all of its queues
};

// A receive between its post and its completion.
struct co_replay_receive {
    struct co_replay_place *place;
    struct co_queue_item *item; // NULL: it has its message
};

struct co_replay {
    struct co_replay_rank *ranks; // of the world
    uint32_t size;
    struct co_replay_rank **heap;
    uint32_t heap_count;
    struct co_replay_comm *comms, *world;
    uint32_t comm_count, place_count;
    struct co_replay_half *halves; // groups that wait for another one
    struct co_hash_map by_members; // communicators that a rank alone knows the members of
    struct co_hash_map source_tags, tags;
    struct co_replay_place **all; // places
    uint32_t all_room;
    struct co_replay_side **sides;
    struct co_replay_step *steps;
    uint32_t step_count;
    struct co_replay_result *result;
    double posted_sum, unexpected_sum;
    uint64_t depth_samples, clock_ns;
    uint64_t done, all_events;
    int error;
};

// replay_comm.c
int co_replay_comms_open(struct co_replay *replay);
void co_replay_comms_close(struct co_replay *replay);
struct co_replay_comm *co_replay_comm_new(struct co_replay *replay, uint32_t count, const uint32_t *members);
int co_replay_attach(struct co_replay *replay, struct co_replay_rank *rank, uint32_t number,
                     struct co_replay_comm *comm);
// The place of a rank by its own number of the communicator; made where it is not known. NULL: no memory.
struct co_replay_place *co_replay_place_of(struct co_replay *replay, struct co_replay_rank *rank, uint32_t number,
                                           unsigned call); // that uses it
// ... by the communicator: where its messages go, even when the rank has not made it yet.
struct co_replay_place *co_replay_place_in(struct co_replay *replay, struct co_replay_rank *rank,
                                           struct co_replay_comm *comm);
static inline struct co_replay_comm *co_replay_peers(struct co_replay_comm *comm)
{
    return comm->other != NULL ? comm->other : comm;
}
// The rank of a rank of the world there; UINT32_MAX: no member.
uint32_t co_replay_place_number(const struct co_replay_comm *comm, uint32_t world_rank);
// A rank of a communicator as one of the world; -1: none.
int32_t co_replay_world_rank(const struct co_replay_comm *comm, int32_t rank);
// The rank enters its next collective call there, and waits where it has to.
void co_replay_enter(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event);
// It makes a child; `ranks` as the events that followed listed them.
void co_replay_make(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event,
                    const int32_t *ranks, uint32_t rank_count);
// It has ended: nobody waits for it.
void co_replay_leave(struct co_replay *replay, struct co_replay_rank *rank);

// replay_children.c
void co_replay_children_resolve(struct co_replay *replay, struct co_replay_comm *parent);
// Ranks of the parent, or as many of its first ones where there is no list. NULL: it has no such ranks, or no memory.
struct co_replay_comm *co_replay_subset(struct co_replay *replay, struct co_replay_comm *parent, const int32_t *ranks,
                                        uint32_t count);

// The child's rank has the communicator; NULL: it is lost, since what was said does not make one.
void co_replay_attach_child(struct co_replay *replay, const struct co_replay_child *child, struct co_replay_comm *comm,
                            enum co_replay_why why);

// replay_leaders.c: all members of a group have come that is to talk to another one, or of one between groups, which
// make another one, or one of both.
void co_replay_meet(struct co_replay *replay, struct co_replay_comm *parent);
void co_replay_meet_again(struct co_replay *replay, struct co_replay_comm *parent);
void co_replay_halves_close(struct co_replay *replay);

// replay_members.c
void co_replay_attach_members(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event,
                              const int32_t *ranks, uint32_t count);

// replay_sets.c
// Ranks of the parent that the numbers of an event tell; the caller frees them. NULL: nonsense, or no memory, or, where
// *is_not_told, they are of a communicator that is not known.
int32_t *co_replay_expand_group(struct co_replay *replay, const struct co_replay_place *parent, const int32_t *numbers,
                                uint32_t count, uint32_t *found, bool *is_not_told);

// replay_groups.c
// The same of a part of a grid.
int32_t *co_replay_expand_part(struct co_replay *replay, const struct co_replay_place *parent, const int32_t *numbers,
                               uint32_t count, uint32_t *found);
void co_replay_doubt(struct co_replay *replay, enum co_replay_why why, uint32_t rank, unsigned call);
// The rank's communicator cannot be followed: its messages come from outside.
void co_replay_lose(struct co_replay *replay, struct co_replay_rank *rank, uint32_t number, unsigned call,
                    enum co_replay_why why);
// MPI tells the rank's own rank there, or the size.
void co_replay_check(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event);

// replay_orders.c: communicators whose ranks MPI was allowed to put in another order than their parent's.
// A message has found its receive.
void co_replay_fit(struct co_replay *replay, struct co_replay_place *place, const struct co_queue_item *receive,
                   const struct co_queue_item *message);
// One has not, or there was none.
static inline void co_replay_misfit(struct co_replay_comm *comm)
{
    if (comm != NULL) {
        comm->is_misfit = true;
    }
}
// At the end: those whose order neither MPI nor the messages tell.
void co_replay_doubt_orders(struct co_replay *replay);

// replay_deliver.c: messages and receives.
void co_replay_send(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event);
void co_replay_post(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event);
void co_replay_done(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event);
void co_replay_cancel(struct co_replay_rank *rank, const struct co_event *event);
// False: there is none yet, and the rank waits.
bool co_replay_probe(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event);
// All that was held back for the rank arrives. False: there was nothing.
bool co_replay_release(struct co_replay *replay, struct co_replay_rank *rank);

// replay.c
void co_replay_go(struct co_replay *replay, void (*progress)(void *arg, uint64_t done, uint64_t all), void *arg);
void co_replay_queue_rank(struct co_replay *replay, struct co_replay_rank *rank);
void co_replay_feed(struct co_replay *replay); // steps to the matchers
// The rank can go on.
void co_replay_wake(struct co_replay *replay, struct co_replay_rank *rank, uint64_t now_ns);
void co_replay_step(void *arg, const struct co_replay_step *step);
void co_replay_count_depth(struct co_replay *replay, struct co_replay_rank *rank);

#endif
