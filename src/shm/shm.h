// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives between the ranks of one node through shared memory: small payloads inline with their flag on one
// line, middle ones in pipelined slots, large ones copied straight between processes where the kernel allows it.
// Reliable and ordered, so the chunk protocol is not needed here. A team's operations run one at a time and in the
// same order on every member; they are state machines, moved by whoever calls co_shm_op_progress.
#ifndef CASTOFF_SHM_H
#define CASTOFF_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/block.h"

struct co_shm_node; // this process's view of its node
struct co_shm_team; // the members of one team on this node

// What else the ranks of a node have to agree on while they open it: it goes in the same exchanges. All are local.
#define CO_SHM_COMPANY_WORDS 2
struct co_shm_company {
    void (*make)(void *arg, int words[]);     // once the first rank has made its memory; the least of each word counts
    int (*map)(void *arg, const int words[]); // with those, where all could make the node's; 0 or -errno
    void (*settle)(void *arg, int status);    // the least of all ranks, or why the node was not opened
    void *arg;
};

struct co_shm_config {
    uint64_t job_key;     // names the segment; agreed, random
    int node_index;       // number of this node in the job (several "nodes" may share one kernel in a lab)
    int rank, size;       // within the node
    size_t team_bytes;    // shared memory of one team
    size_t staging_bytes; // shared memory of the node that large operations borrow from
    int single_copy;      // CO_AUTO, CO_YES, CO_NO
    size_t single_copy_min;
    int cores;                    // that its ranks may run on, all together; 0: as many as the machine has
    bool measures;                // from where on single copy is faster; else what is known of other machines holds
    uint64_t measure_patience_ns; // that the two who measure have with each other; 0: the usual
    int watched_most;             // peers watched by a descriptor of their own, the others by process number
    // Exchange among the ranks of the node, given by the bootstrap; collective.
    int (*minimum)(void *arg, int *values, int count); // of each value over the node, in place, once all have come
    const struct co_shm_company *company;              // during the opening; NULL: none
    void *arg;
};

// Collective over the node. Leaves no name in /dev/shm. On failure every rank of the node fails.
int co_shm_node_open(struct co_shm_node **out, const struct co_shm_config *config);
void co_shm_node_close(struct co_shm_node *node);
// Is there room for the least that a node of so many ranks begins with? 0 or -errno. Leaves nothing; any process.
int co_shm_node_try(int ranks, uint64_t key, size_t team_bytes);

bool co_shm_node_single_copy(const struct co_shm_node *node); // large blocks go straight between processes
// Reads memory of another rank of the node, where single copy is allowed. The whole length or -errno; -ESRCH: its
// process is gone, whoever has the number now.
int co_shm_node_read(const struct co_shm_node *node, int rank, void *local, uint64_t remote, size_t bytes);
// The longest message between two ranks that is faster through shared memory in pieces; SIZE_MAX: none that was
// measured is slower; 0: it was not measured.
size_t co_shm_node_stream_most(const struct co_shm_node *node);
const char *co_shm_node_single_copy_reason(const struct co_shm_node *node); // why not, or from where on
// Rank within the node whose process is gone, or -1 (looked at rarely: by waiting calls after a while).
int co_shm_node_dead_peer(const struct co_shm_node *node);
bool co_shm_node_is_gone(const struct co_shm_node *node, int rank); // the same for one rank

// Local: claims or finds the area of a team of `count` members in the node's directory; `first` is the first one's rank
// within the node. A seat, or -ENOSPC when the directory is full. It is taken when a communicator is made, so that a
// full one shows while the members can still agree about it, costs no memory of the process, and goes to the team that
// is opened with it, or is left.
#define CO_SHM_NO_SEAT (-1)
int co_shm_seat_take(struct co_shm_node *node, uint64_t team_id, int first, int count);
void co_shm_seat_leave(struct co_shm_node *node, int seat);
// By a member that could take none, once all others have taken theirs or could not: an area is free again when as many
// have left as were to come.
void co_shm_seat_decline(struct co_shm_node *node, uint64_t team_id, int first);
void co_shm_seat_break(struct co_shm_node *node, int seat, int error); // as co_shm_team_break
// As co_shm_team_let_go, by a giver whose team may not be open; and that nobody has let it go after all.
void co_shm_seat_let_go(struct co_shm_node *node, int seat, uint64_t bcast);
void co_shm_seat_take_back(struct co_shm_node *node, int seat, uint64_t bcast);

// `members` are ranks within the node in team order, `self` the own position; one alone needs no seat. On failure the
// seat is still the caller's. Shared memory is touched at the first operation.
int co_shm_team_open(struct co_shm_team **out, struct co_shm_node *node, int seat, const int *members, int count,
                     int self);
size_t co_shm_team_bytes(const struct co_shm_team *team); // memory of this process that it takes
void co_shm_team_close(struct co_shm_team *team);

// Tells the other members that this one will not go on, for instance because it cannot get what it was to pass on.
// Their operations do not end by themselves: who waits long asks.
void co_shm_team_break(struct co_shm_team *team, int error);
int co_shm_team_broken(const struct co_shm_team *team); // 0 or -errno

// Members that a program calls with unequal lengths may let go another way what others wait for here. Each counts the
// program's broadcasts. Who is to give the bytes of one to the others of the team, and lets it go, says so: those that
// wait for it, and have a number for it, end with -ECANCELED, if nothing of it has come. Numbers of calls that were let
// go without an operation are skipped, in the order of the calls, on all members that have none of it.
void co_shm_team_let_go(struct co_shm_team *team, uint64_t bcast);
void co_shm_team_skip(struct co_shm_team *team, uint32_t calls);

// Where an operation stands; lives in the caller's task or stack. Fields belong to src/shm.
struct co_shm_op {
    struct co_shm_team *team;
    int (*step)(struct co_shm_op *op); // 0: under way, 1: done, -errno
    uint64_t tick;                     // first slot of the ring that carries it
    uint64_t ticks;
    uint64_t sequence; // number among the team's large operations, from 1; 0: none of them
    unsigned ring;
    int root;
    int call; // enum co_shm_call
    int phase;
    int peer;                      // whose bytes are next
    int helped_peer;               // whom a star's centre helps next
    const char *mine;              // what this member gives
    char *target;                  // where the others' bytes go
    size_t bytes;                  // of a block, of unequal ones the largest
    const struct co_block *blocks; // of an allgather of unequal ones, by member, else NULL
    size_t piece_bytes;
    uint64_t written, read; // ticks, or pieces
    uint64_t remote;        // the block's address in the peer's process, or ticks known to be written by it
    size_t position;        // bytes of the current block or piece that are done, or ticks of the current turn
    uint64_t least_slots;   // that a member read from has for its stream
    uint64_t stuck;         // piece that the kernel refused, + 1
    uint32_t asked;         // bytes asked of the other side because of that
    bool was_refused;       // a piece that the centre was to copy
    bool past_cache;        // too much for the cache: stores go past it
    uint64_t number;        // among the team's operations with bytes, from 1, and which call (shm_layout.h)
    uint64_t bcast;         // which of the program's broadcasts it is, for who may let it go; 0: nobody may
    unsigned looks;         // of a caller that waits for it
    bool has_met_other;     // a stream of the root's of another length: not to be waited for
    bool is_tried;          // its time counts (base/copy_trials.h)
    bool is_held, takes;    // of an agreement, of a way
    uint64_t until_ns;      // of an agreement, and below
    uint64_t *words;
    void (*merge)(uint64_t *all, const uint64_t *its);
    // Of a bcast whose root has more than this member has room for: what took all of the root's bytes. The caller's to
    // free when the operation is over; else NULL.
    char *whole;
    char *home;  // the caller's buffer
    size_t room; // its bytes
    int (*whole_step)(struct co_shm_op *op);
};

// root's `bytes` at buffer reach everybody's buffer. `bcast`, if anybody may let it go, is the caller's to fill in
// then.
void co_shm_bcast_start(struct co_shm_op *op, struct co_shm_team *team, int root, void *buffer, size_t bytes);
// Block i of `all` is member i's `mine` (NULL: already in its place in `all`).
void co_shm_allgather_start(struct co_shm_op *op, struct co_shm_team *team, const void *mine, void *all, size_t bytes);
// The same of blocks of different lengths, not all 0, each member's own one at its place already. Lengths are those of
// all members, places are each member's own affair. The array is kept until it is done.
void co_shm_allgatherv_start(struct co_shm_op *op, struct co_shm_team *team, const struct co_block blocks[]);
// Like allgather, but only `root` receives; `all` and the in-place form count on the root alone.
void co_shm_gather_start(struct co_shm_op *op, struct co_shm_team *team, int root, const void *mine, void *all,
                         size_t bytes);

// Beside the operations: at a call of the program with this number, among the team's, the members tell one of them,
// the leader, their words, and it rules alone: it gives all of them one answer, made of the words of all, or passes the
// agreement by because somebody has not come until `until_ns` (UINT64_MAX: it waits for all). The others wait for what
// it rules. At the end, on all members, `is_held` says which it was. Starts with the lock of those who move operations
// of the team, if any are under way.
#define CO_SHM_AGREE_WORDS 6
struct co_shm_agree {
    uint64_t number, until_ns;
    int leader;
    uint64_t *words;                                   // ours, and then the answer
    void (*merge)(uint64_t *all, const uint64_t *its); // by the leader, member by member
};
void co_shm_agree_start(struct co_shm_op *op, struct co_shm_team *team, const struct co_shm_agree *agreement);

// The leader says which way a call goes, and the others follow: at its end `takes` is the leader's. It need not wait
// for them, but is no more than some of these calls ahead of the last one. Only after an agreement, and at the same
// calls on all.
void co_shm_follow_start(struct co_shm_op *op, struct co_shm_team *team, int leader, bool takes);

#define CO_SHM_TRUNCATED 2

// Moves it. 0: under way, 1: done (buffers are the caller's again; of a bcast `bytes` of it, which are fewer than it
// was started with if the root gave fewer), CO_SHM_TRUNCATED: a bcast is done whose root gave more than there is room
// for, -errno.
static inline int co_shm_op_progress(struct co_shm_op *op)
{
    return op->step(op);
}

// To be called when it has failed, before the buffers are the caller's again: afterwards no other member writes to
// them, and none takes what it reads there for the operation's. Waits for a member that is copying a piece this very
// moment; the team is broken.
void co_shm_op_abandon(struct co_shm_op *op);

// Changes when the operation has moved: tells slow from stuck.
static inline uint64_t co_shm_op_moved(const struct co_shm_op *op)
{
    return op->written + op->read + (uint64_t)op->position + (uint64_t)(unsigned)op->peer +
           (uint64_t)(unsigned)op->phase;
}

// For a caller that waits long, at every turn: finds out that the members disagree about the length. A bcast then goes
// on with the root's. As co_shm_op_progress; -EMSGSIZE: it will never come to its end; -ECANCELED: its root has let it
// go another way, and the team goes on.
int co_shm_op_look_at_lengths(struct co_shm_op *op);

// Around the operations of a call of which there may be another number on members that disagree, `most` at most: for
// who waits for one more of them than this member has. An allgather counts as one of as many operations as members.
uint64_t co_shm_team_call_begins(const struct co_shm_team *team);
void co_shm_team_call_ends(struct co_shm_team *team, uint64_t began, int most);

// One line for the stall watchdog.
void co_shm_op_describe(const struct co_shm_op *op, char *text, size_t room);

#endif
