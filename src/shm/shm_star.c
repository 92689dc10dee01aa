// SPDX-License-Identifier: BSD-3-Clause
//
// Large bcast and gather, copied straight between processes. One member is the centre, the others are leaves; every
// leaf's block is cut into pieces, the leaf takes them from the front, the centre, which has to wait anyway, from the
// back, so that two cores work on one block. A leaf is done with its own block; the centre when all leaves are. Hot
// for large operations.
#include "base/memory/memory_copy.h"
#include "shm/shm_team.h"

#include <errno.h>
#include <sched.h>

#define LOOK_EVERY 64 // turns of a wait for a member that may be gone

// The claim. Pieces not yet taken: a tag of the operation, the first and the end. The tag makes a late compare-and-swap
// of the centre fail when the leaf is in its next operation already; it comes back after 2^16 operations, but the
// centre is at most a ring of lines behind.
//
// Whose operation fails closes the claims, so that nobody takes a piece any more, and waits for the one that is being
// copied: `copied` and `helped` tell when. A leaf that comes later finds the centre's own claim closed, which a centre
// needs for nothing else. A leaf opens its claim and then looks at the centre's; the centre closes its own and then
// looks at the leaf's; both stores and both looks are sequentially consistent, since one of the two must see the other.
#define FIELD_BITS 24
#define FIELD_MASK (((uint64_t)1 << FIELD_BITS) - 1)
#define FAILED_SHIFT FIELD_BITS // in `helped`: piece that the centre could not copy, + 1

enum { PHASE_INTRODUCE, PHASE_MEET, PHASE_COPY };

static uint64_t pack(uint64_t tag, uint64_t first, uint64_t end)
{
    return tag << (2 * FIELD_BITS) | first << FIELD_BITS | end;
}

// A call into the kernel costs a microsecond, so between two members each takes a half. With more, pieces are
// smaller, because a member may be off its core while the others could take over.
static void choose_piece(struct co_shm_op *op)
{
    bool pair = op->team->count == 2;
    size_t piece = (op->bytes / (pair ? 2 : 8) + CO_SHM_PAGE - 1) / CO_SHM_PAGE * CO_SHM_PAGE;
    size_t most = (size_t)(pair ? 512 : 256) << 10;

    piece = piece < CO_SHM_PIECE_LEAST ? CO_SHM_PIECE_LEAST : piece;
    piece = piece > most ? most : piece;
    while (op->bytes / piece >= FIELD_MASK - 1) {
        piece *= 2; // more than a terabyte
    }
    op->piece_bytes = piece;
}

static uint64_t piece_count(const struct co_shm_op *op)
{
    return (op->bytes + op->piece_bytes - 1) / op->piece_bytes;
}

static size_t piece_length(const struct co_shm_op *op, uint64_t piece)
{
    size_t left = op->bytes - (size_t)piece * op->piece_bytes;

    return left < op->piece_bytes ? left : op->piece_bytes;
}

// A piece of the leaf's block from the front (leaf) or the back (centre), or -1.
static int64_t take_piece(struct co_shm_op *op, int leaf, bool front)
{
    _Atomic uint64_t *claim = &co_shm_control(op->team, leaf)->claim;
    uint64_t now = co_load_relaxed(claim); // relaxed: nothing but the pieces themselves is shared by this word

    for (;;) {
        uint64_t first = now >> FIELD_BITS & FIELD_MASK, end = now & FIELD_MASK;
        if (first >= end || now >> (2 * FIELD_BITS) != (op->sequence & 0xffff)) {
            return -1;
        }
        uint64_t next = pack(op->sequence & 0xffff, first + front, end - !front);
        if (atomic_compare_exchange_weak_explicit(claim, &now, next, memory_order_relaxed, memory_order_relaxed)) {
            return (int64_t)(front ? first : end - 1);
        }
    }
}

static void leaf_claim(struct co_shm_op *op)
{
    struct co_shm_control *control = co_shm_control(op->team, op->team->self);

    choose_piece(op);
    // relaxed: published by release R1 of our line; the centre does not look before it has seen that.
    co_store_relaxed(&control->helped, 0);
    co_store_relaxed(&control->copied, 0);
    atomic_store(&control->claim, pack(op->sequence & 0xffff, 0, piece_count(op)));
}

// The centre has come, with another length: it does not help this leaf, which meets it again with that length.
static int leaf_resize(struct co_shm_op *op, size_t bytes)
{
    int error = op->call == CO_SHM_BCAST ? co_shm_op_take_length(op, bytes) : -EMSGSIZE;

    if (error == 0) {
        co_shm_op_truncate_at_end(op);
        leaf_claim(op);
    }
    return error;
}

static int leaf_meet(struct co_shm_op *op, const struct co_shm_introduction *its)
{
    if (atomic_load(&co_shm_control(op->team, op->root)->claim) == co_shm_closed(op)) {
        return -ECONNRESET;
    }
    op->remote = its->address;
    if (op->call == CO_SHM_GATHER) {
        op->remote += (uint64_t)op->team->self * op->bytes;
    }
    op->phase = PHASE_COPY;
    return 0;
}

static void leaf_copy(struct co_shm_op *op, uint64_t piece)
{
    const struct co_shm_node *node = op->team->node;
    uint64_t offset = piece * op->piece_bytes;
    int rank = op->team->members[op->root];
    size_t length = piece_length(op, piece);
    int error = op->call == CO_SHM_BCAST
                    ? co_shm_node_read(node, rank, op->target + offset, op->remote + offset, length)
                    : co_shm_node_write(node, rank, op->mine + offset, op->remote + offset, length);
    if (error != 0) {
        op->stuck = piece + 1;
        op->position = 0;
    } else {
        op->read++;
    }
    _Atomic uint64_t *copied = &co_shm_control(op->team, op->team->self)->copied;
    co_store_release(copied, co_load_relaxed(copied) + 1); // release G3: our copy; relaxed: our own word
}

static void leaf_bounce(struct co_shm_op *op)
{
    bool outward = op->call == CO_SHM_GATHER;
    uint64_t offset = (op->stuck - 1) * op->piece_bytes;
    struct co_shm_span span = {
        .local = (outward ? (char *)(uintptr_t)op->mine : op->target) + offset,
        .offset = offset,
        .bytes = piece_length(op, op->stuck - 1),
        .owner = op->root,
        .outward = outward,
    };
    if (co_shm_bounce_step(op, &span) == 1) {
        op->stuck = 0;
        op->read++;
    }
}

// All pieces are taken: waits for those that the centre took.
static int leaf_end(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    struct co_shm_control *control = co_shm_control(team, team->self);
    uint64_t helped = co_load_acquire(&control->helped); // acquire G1: the centre's copies into our block

    if (helped >> FAILED_SHIFT != 0) {
        op->stuck = helped >> FAILED_SHIFT;
        op->was_refused = true;
        op->position = 0;
        // relaxed: the centre helps nobody any more after a failure, the word is ours again
        co_store_relaxed(&control->helped, helped & FIELD_MASK);
        return 0;
    }
    if (op->read + helped < piece_count(op)) {
        return 0;
    }
    co_store_release(&control->finished, op->sequence); // release G2: our reads or writes of the centre's memory
    co_shm_consume(team, CO_SHM_LINES, op->tick + 1);
    co_shm_team_count(team, 0, op->bytes);
    if (op->call == CO_SHM_BCAST) {
        co_shm_bcast_has_read(op);
    }
    return 1;
}

static int leaf_step(struct co_shm_op *op)
{
    struct co_shm_introduction its;

    if (op->phase == PHASE_INTRODUCE) {
        leaf_claim(op);
        if (!co_shm_introduce(op, op->call == CO_SHM_BCAST ? op->target : op->mine)) {
            return 0;
        }
        op->phase = PHASE_MEET;
    }
    if (op->phase == PHASE_MEET) {
        if (!co_shm_introduced(op, op->root, &its)) {
            return 0;
        }
        if (its.bytes != op->bytes) {
            return leaf_resize(op, its.bytes);
        }
        int error = leaf_meet(op, &its);
        if (error != 0) {
            return error;
        }
    }
    if (op->stuck != 0) {
        leaf_bounce(op);
        return 0;
    }
    for (size_t moved = 0; moved < CO_SHM_STEP_BYTES && op->stuck == 0; moved += op->piece_bytes) {
        int64_t piece = take_piece(op, op->team->self, true);
        if (piece < 0) {
            return leaf_end(op);
        }
        leaf_copy(op, (uint64_t)piece);
    }
    return 0;
}

static void centre_copy(struct co_shm_op *op, int leaf, uint64_t address, uint64_t piece)
{
    struct co_shm_control *control = co_shm_control(op->team, leaf);
    const struct co_shm_node *node = op->team->node;
    int rank = op->team->members[leaf];
    uint64_t helped = co_load_relaxed(&control->helped); // relaxed: ours since acquire R1 of the leaf's line
    uint64_t offset = piece * op->piece_bytes;
    uint64_t remote = address + offset;
    size_t length = piece_length(op, piece);
    char *block = op->target + (size_t)leaf * op->bytes;
    int error = op->call == CO_SHM_BCAST ? co_shm_node_write(node, rank, op->mine + offset, remote, length)
                                         : co_shm_node_read(node, rank, block + offset, remote, length);
    if (error != 0) {
        op->stuck = 1; // from now on the leaves do it alone
        helped |= (piece + 1) << FAILED_SHIFT;
    } else {
        op->written++;
        helped++;
    }
    co_store_release(&control->helped, helped); // release G1: the copied piece
}

// Copies one piece for some leaf that has come.
static bool centre_help(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    for (int turn = 1; turn < team->count && op->stuck == 0; turn++) {
        op->helped_peer = op->helped_peer + 1 == team->count ? 0 : op->helped_peer + 1;
        if (op->helped_peer == team->self) {
            op->helped_peer = team->self + 1 == team->count ? 0 : team->self + 1;
        }
        struct co_shm_introduction its;
        if (!co_shm_introduced(op, op->helped_peer, &its) || its.bytes != op->bytes) {
            continue; // not come yet, or gone already, or of another length: it copies alone
        }
        int64_t piece = take_piece(op, op->helped_peer, false);
        if (piece >= 0) {
            centre_copy(op, op->helped_peer, its.address, (uint64_t)piece);
            return true;
        }
    }
    return false;
}

static int centre_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    bool inward = op->call == CO_SHM_GATHER;
    char *block = inward ? op->target : (char *)(uintptr_t)op->mine;

    if (op->phase == PHASE_INTRODUCE) {
        choose_piece(op);
        if (!co_shm_introduce(op, block)) {
            return 0;
        }
        if (inward && op->mine != op->target + (size_t)team->self * op->bytes) {
            co_memory_copy(op->target + (size_t)team->self * op->bytes, op->mine, op->bytes);
        }
        op->phase = PHASE_COPY;
    }
    for (size_t moved = 0; centre_help(op); moved += op->piece_bytes) {
        if (moved >= CO_SHM_STEP_BYTES) {
            return 0;
        }
    }
    while (op->peer != team->self) {
        // acquire G2: the leaf's copies out of or into our memory are over.
        if (co_load_acquire(&co_shm_control(team, op->peer)->finished) < op->sequence) {
            co_shm_bounce_serve(team, block, op->bytes, inward);
            return 0;
        }
        op->peer = op->peer + 1 == team->count ? 0 : op->peer + 1;
    }
    co_shm_consume(team, CO_SHM_LINES, op->tick + 1);
    co_shm_team_count(team, 0, op->bytes);
    return 1;
}

int co_shm_star_step(struct co_shm_op *op)
{
    return op->root == op->team->self ? centre_step(op) : leaf_step(op);
}

// No piece of this leaf is taken any more. How many its side had taken, or with `back` the centre's; 0 also where
// nobody of this operation can be copying.
static uint64_t close_claim(const struct co_shm_op *op, int leaf, bool back)
{
    _Atomic uint64_t *claim = &co_shm_control(op->team, leaf)->claim;
    uint64_t now = atomic_load(claim);

    while (now >> (2 * FIELD_BITS) == (op->sequence & 0xffff) && now != co_shm_closed(op)) {
        if (atomic_compare_exchange_weak(claim, &now, co_shm_closed(op))) {
            return back ? piece_count(op) - (now & FIELD_MASK) : now >> FIELD_BITS & FIELD_MASK;
        }
    }
    return 0;
}

// For the end of a copy, which takes well under a millisecond of a processor. False: the member's process is gone.
static bool may_end(const struct co_shm_op *op, int member, unsigned turn)
{
    sched_yield();
    return turn % LOOK_EVERY != LOOK_EVERY - 1 || !co_shm_node_is_gone(op->team->node, op->team->members[member]);
}

static void leaf_abandon(struct co_shm_op *op)
{
    if (op->phase == PHASE_INTRODUCE) {
        return; // nobody has taken any; what the claim says may be of an operation that was begun anew elsewhere
    }
    struct co_shm_control *control = co_shm_control(op->team, op->team->self);
    uint64_t taken = close_claim(op, op->team->self, true), over = 0;

    for (unsigned turn = 0; over < taken && may_end(op, op->root, turn); turn++) {
        uint64_t helped = co_load_acquire(&control->helped); // acquire G1
        over = (helped & FIELD_MASK) + (helped >> FAILED_SHIFT != 0 || op->was_refused);
    }
}

static void centre_abandon(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    atomic_store(&co_shm_control(team, team->self)->claim, co_shm_closed(op));
    for (int leaf = 0; leaf < team->count; leaf++) {
        uint64_t taken = leaf == team->self ? 0 : close_claim(op, leaf, false);
        unsigned turn = 0;
        // acquire G3: the leaf's copies out of or into our memory
        while (co_load_acquire(&co_shm_control(team, leaf)->copied) < taken && may_end(op, leaf, turn)) {
            turn++;
        }
    }
}

void co_shm_star_abandon(struct co_shm_op *op)
{
    if (op->root == op->team->self) {
        centre_abandon(op);
    } else {
        leaf_abandon(op);
    }
}
