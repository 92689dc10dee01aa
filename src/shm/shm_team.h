// SPDX-License-Identifier: BSD-3-Clause
//
// Insides of a team and the ring operations that every collective here is made of. Hot; one thread of this process
// at a time for one team.
//
// Rings. Every member writes its own lane and nobody else does. All members run the same operations in the same
// order, so all agree which tick belongs to which fragment of which operation, and one number for each ring and
// member, `consumed`, tells how far that member is done with it. A slot is written for tick t when every member has
// consumed t - slots (credit); it is full for an operation when its word holds that operation's number and length, and
// keeps that until the next write, which no reader of tick t can miss. Members that disagree about a length, by a
// mistake of the program, do not take one operation for another: shm_lengths.c. `consumed` is published when it crosses
// a multiple of the quantum only. That is enough: a member that is done with all ticks before t has published at least
// t - quantum + 1 > t - slots. The bulk ring, which has a counter in place of flags, is in shm_stream.c.
#ifndef CASTOFF_SHM_TEAM_H
#define CASTOFF_SHM_TEAM_H

#include <string.h>

#include "shm/shm_node.h"

// A step that can go on moves about so much before it lets the caller's other operations have their turn. Callers yield
// the processor between steps: less would cost more switches than copying.
#define CO_SHM_STEP_BYTES ((size_t)1 << 20)

#define CO_SHM_NO_LOAN (-1)

// Ticks: so long before it is written to, or read, a line is asked for (base/atomics.h).
#define CO_SHM_WRITES_AHEAD 2
#define CO_SHM_READS_AHEAD 4

// The first three have numbers (CO_SHM_CALL_BITS) and lengths.
enum co_shm_call { CO_SHM_BCAST, CO_SHM_ALLGATHER, CO_SHM_GATHER, CO_SHM_AGREE, CO_SHM_FOLLOW };

struct co_shm_tried {
    uint8_t class, path; // enum co_copy_path
};

struct co_shm_team {
    struct co_shm_node *node;
    char *area;
    int count, self;
    uint32_t entry;
    unsigned touched; // bit for each ring: its pages in our lane exist
    uint64_t key;     // in the directory: no other team of the job has it
    struct co_shm_shape shape;
    uint64_t clock[CO_SHM_RINGS];          // first tick of the next operation
    uint64_t granted[CO_SHM_RINGS];        // every member is known to have consumed all ticks before
    int laggard;                           // member that was last when credit was asked for
    uint32_t shortages;                    // looks for a free slot of our bulk ring that found none
    char *slots;                           // of our bulk ring; NULL: none told yet
    struct co_shm_head *heads;             // and theirs
    uint64_t slot_mask;                    // their number - 1
    uint64_t stream_end;                   // bulk tick after the last one we wrote
    int loan;                              // what we have of the node's staging, or CO_SHM_NO_LOAN
    uint32_t lent_slots;                   // of that
    uint64_t loan_word;                    // its word, as we wrote it last
    uint64_t number;                       // of operations begun, those without bytes left out: none is given twice
    uint64_t sequence;                     // large operations begun
    uint64_t ways, all_came;               // ways asked for (shm_agree.c), and those that every member has come to
    uint64_t tried_ns;                     // when the call of the trials that is under way began
    uint32_t tried;                        // calls of the trials so far
    struct co_shm_bcast_trials *bcasts;    // of those that we are root of; NULL: none was tried
    uint8_t bcasts_known, bcasts_straight; // of sizes, a bit each: where the last one that we have read was
    struct co_copy_trials trials;          // of allgathers
    struct co_shm_tried calls[2];          // the last two of them
    uint64_t bytes_uncounted;              // payload not yet added to the counters
    uint64_t single_bytes_uncounted;
    int members[]; // ranks within the node
};

static inline char *co_shm_lane(const struct co_shm_team *team, int member)
{
    return team->area + (size_t)member * team->shape.lane_bytes;
}

static inline struct co_shm_control *co_shm_control(const struct co_shm_team *team, int member)
{
    return (struct co_shm_control *)co_shm_lane(team, member);
}

static inline char *co_shm_slot(const struct co_shm_team *team, int member, unsigned ring, uint64_t tick)
{
    const struct co_shm_ring_shape *shape = &team->shape.ring[ring];

    return co_shm_lane(team, member) + shape->offset + (tick & shape->mask) * shape->stride;
}

// Slow half of co_shm_has_credit: asks the others how far they are, for a ring of `slots` slots.
bool co_shm_ask_credit(struct co_shm_team *team, unsigned ring, uint64_t tick, uint64_t slots);

// The slots of a member's bulk ring.
struct co_shm_slots {
    char *first;
    const struct co_shm_head *heads;
    uint64_t mask; // their number - 1
};

// Since acquire W1 of a tick that this member has not consumed: until then they stay. False: the team is broken.
bool co_shm_find_slots(struct co_shm_team *team, int member, struct co_shm_slots *slots);

// Which stream it is, of all that are ever written there: lent slots may hold what another team has left.
static inline uint64_t co_shm_stream_of(const struct co_shm_op *op)
{
    return op->team->key + op->number;
}

// May this member write the slot of `tick`?
static inline bool co_shm_has_credit(struct co_shm_team *team, unsigned ring, uint64_t tick)
{
    uint64_t slots = team->shape.ring[ring].mask + 1;

    return tick < team->granted[ring] + slots || co_shm_ask_credit(team, ring, tick, slots);
}

// The payload of a slot this member may write.
static inline char *co_shm_slot_payload(const struct co_shm_team *team, int member, unsigned ring, uint64_t tick)
{
    return co_shm_slot(team, member, ring, tick) + team->shape.ring[ring].head;
}

// What a member tells of an operation: its number, and whether it gives anything in it.
static inline uint64_t co_shm_told_word(uint64_t number, bool gives)
{
    return number << 1 | gives;
}

static inline bool co_shm_op_gives(const struct co_shm_op *op)
{
    return op->call != CO_SHM_BCAST || op->root == op->team->self;
}

// Of a member's block, and where it goes.
static inline size_t co_shm_block_bytes(const struct co_shm_op *op, int member)
{
    return op->blocks == NULL ? op->bytes : op->blocks[member].bytes;
}

static inline char *co_shm_block_place(const struct co_shm_op *op, int member)
{
    return op->blocks == NULL ? op->target + (size_t)member * op->bytes : op->blocks[member].buffer;
}

// What a member that gives this block tells of its length, which is never 0.
static inline size_t co_shm_block_told(const struct co_shm_op *op, int member)
{
    size_t bytes = co_shm_block_bytes(op, member);
    return bytes == 0 ? (size_t)CO_SHM_NOTHING : bytes;
}

// What the slot of an operation reads when it is full: its number, and what is told of the bytes in it, as much as
// there is room for, or CO_SHM_INTRODUCTION.
static inline uint64_t co_shm_slot_word(const struct co_shm_op *op, size_t length)
{
    return op->number << CO_SHM_LENGTH_BITS | (length & CO_SHM_INTRODUCTION);
}

static inline void co_shm_slot_publish(const struct co_shm_op *op, unsigned ring, size_t length)
{
    // release R1: the payload, and everything this member wrote before.
    co_store_release((_Atomic uint64_t *)co_shm_slot(op->team, op->team->self, ring, op->tick),
                     co_shm_slot_word(op, length));
    co_prefetch_to_write(co_shm_slot(op->team, op->team->self, ring, op->tick + CO_SHM_WRITES_AHEAD));
}

static inline bool co_shm_slot_is_full(const struct co_shm_op *op, int member, unsigned ring, size_t length)
{
    // acquire R1: the member's payload of this operation.
    return co_load_acquire((_Atomic uint64_t *)co_shm_slot(op->team, member, ring, op->tick)) ==
           co_shm_slot_word(op, length);
}

// In a large operation a member's line holds where its block is, and how long.
struct co_shm_introduction {
    uint64_t address; // in the member's process
    uint64_t bytes;
};

static inline bool co_shm_introduce(struct co_shm_op *op, const void *block)
{
    struct co_shm_introduction own = {.address = (uint64_t)(uintptr_t)block,
                                      .bytes = co_shm_block_told(op, op->team->self)};

    if (!co_shm_has_credit(op->team, CO_SHM_LINES, op->tick)) {
        return false;
    }
    memcpy(co_shm_slot_payload(op->team, op->team->self, CO_SHM_LINES, op->tick), &own, sizeof own);
    co_shm_slot_publish(op, CO_SHM_LINES, CO_SHM_INTRODUCTION);
    return true;
}

// False: it has not come.
static inline bool co_shm_introduced(const struct co_shm_op *op, int member, struct co_shm_introduction *its)
{
    if (!co_shm_slot_is_full(op, member, CO_SHM_LINES, CO_SHM_INTRODUCTION)) {
        return false;
    }
    memcpy(its, co_shm_slot_payload(op->team, member, CO_SHM_LINES, op->tick), sizeof *its);
    return true;
}

// This member is done with all ticks before `tick`; called for every one in turn.
static inline void co_shm_consume(const struct co_shm_team *team, unsigned ring, uint64_t tick)
{
    if ((tick & (team->shape.ring[ring].quantum - 1)) == 0) {
        // release R2: our reads of these slots are over, their writers may overwrite them.
        co_store_release(&co_shm_control(team, team->self)->consumed[ring], tick);
    }
}

// Adds what was copied to the counters now and then, since a shared counter costs as much as a small operation.
void co_shm_team_count(struct co_shm_team *team, size_t bytes, size_t single_bytes);

// The whole allgather has its bytes, so every member has begun it and is done with everything before. That is why a
// run of allgathers needs no acknowledgement and two slots would do: when this member writes for tick t, it holds
// everybody's bytes of tick t - 1, hence nobody reads tick t - 2 any more.
static inline void co_shm_grant_from_allgather(struct co_shm_op *op)
{
    uint64_t *granted = &op->team->granted[op->ring];

    *granted = op->tick > *granted ? op->tick : *granted;
}

// Makes the pages of a ring in our lane exist; -ENOMEM when /dev/shm is full.
int co_shm_touch_ring(struct co_shm_team *team, unsigned ring);

// Straight between processes.
static inline bool co_shm_op_is_large(const struct co_shm_op *op)
{
    return op->sequence != 0;
}

struct co_shm_where {
    bool is_past;
    bool is_straight; // it tells where its memory is
};

// shm_lengths.c: the bytes that `member` gives in this operation, or CO_SHM_NOTHING. 0: it has not come to it, or
// nothing is known of them although it is past it, or takes it for another call (is_past). CO_SHM_OTHER_PATH: those
// of an allgather are where this member does not look for them, for the two disagree about the largest block.
#define CO_SHM_OTHER_PATH SIZE_MAX
size_t co_shm_length_of(const struct co_shm_op *op, int member, struct co_shm_where *where);
// For members that wait for us and have not come to it.
void co_shm_op_tell(const struct co_shm_op *op);
// Of an operation in which we give: what some member has told cannot be true if this is what all were called with.
bool co_shm_op_is_contradicted(const struct co_shm_op *op);
// Of a bcast of which nothing was read: goes on with the root's length. More than there is room for needs memory of its
// own, or -ENOMEM, from which the caller gets what fits: co_shm_op_truncate_at_end, when the step
// is chosen.
int co_shm_op_take_length(struct co_shm_op *op, size_t bytes);
void co_shm_op_truncate_at_end(struct co_shm_op *op);

// shm_slot.c: operations through one slot of a ring. shm_stream.c: through the bulk ring.
int co_shm_bcast_line_step(struct co_shm_op *op);
int co_shm_allgather_line_step(struct co_shm_op *op);
int co_shm_allgatherv_slot_step(struct co_shm_op *op);
int co_shm_slot_step(struct co_shm_op *op);
int co_shm_stream_step(struct co_shm_op *op);

// shm_nontemporal_copy.c: like memcpy, for bytes that nobody will find in the cache.
void co_shm_copy_nontemporal(char *to, const char *from, size_t bytes);

// shm_loan.c: called by a writer when a large operation begins and when it is done with its own part of it.
void co_shm_loan_begin(struct co_shm_team *team, size_t bytes);
void co_shm_loan_rest(struct co_shm_team *team);
char *co_shm_loan_memory(const struct co_shm_team *team); // NULL: nothing is lent

// What the claim of a member reads whose large operation has failed. It only ends what has this number, of which 16
// bits are kept: nobody is that far behind.
static inline uint64_t co_shm_closed(const struct co_shm_op *op)
{
    return op->sequence << 48 | UINT64_MAX >> 16;
}

// shm_bcast_trials.c: whether its root goes straight, or its reader looks there first.
bool co_shm_bcast_goes_straight(const struct co_shm_op *op);
// By a reader: its root takes this path; all its bytes are here.
void co_shm_bcast_follow(struct co_shm_team *team, size_t bytes, bool is_straight);
void co_shm_bcast_tell(const struct co_shm_op *op);
static inline void co_shm_bcast_has_read(const struct co_shm_op *op)
{
    if (op->bytes >= op->team->node->tried_bcast_min) {
        co_shm_bcast_tell(op);
    }
}
void co_shm_bcast_trials_close(struct co_shm_team *team);

// The end of an allgather that is tried; all members have come to it.
void co_shm_tried(struct co_shm_team *team);

// shm_star.c: large bcast and gather. shm_direct.c: large allgather.
int co_shm_star_step(struct co_shm_op *op);
int co_shm_direct_step(struct co_shm_op *op);
void co_shm_star_abandon(struct co_shm_op *op);
void co_shm_direct_abandon(struct co_shm_op *op);

// shm_bounce.c: for bytes that the kernel does not let this process copy. The member at the other end copies them for
// us, a page or less at a time, through our lane.
struct co_shm_span {
    char *local;     // this member's end
    uint64_t offset; // from the start of the block, as the other end counts
    size_t bytes;
    int owner;    // the member at the other end
    bool outward; // the bytes leave this member
};

// 0: under way, 1: the span is copied.
int co_shm_bounce_step(struct co_shm_op *op, const struct co_shm_span *span);
// Answers what was asked of this member; to be called by every member that waits in a large operation. `inward`: the
// bytes come to us, and member m's block starts at block + m * bytes. True when something was done. Who asks for what
// is not in the block breaks the team.
bool co_shm_bounce_serve(struct co_shm_team *team, char *block, size_t bytes, bool inward);

#endif
