// SPDX-License-Identifier: BSD-3-Clause
//
// Large allgather, copied straight between processes: everyone tells where its block is and reads the others', each
// beginning with its successor so that no block is read by all at once. It ends when all have read ours. Hot for
// large operations.
#include "base/memory/memory_copy.h"
#include "shm/shm_team.h"

#include <errno.h>

// Of one call into the kernel, which costs as much as some KiB: more than a step otherwise moves, for nobody else is
// kept waiting for longer than by the MPI below, which reads a block whole.
#define PIECE_BYTES ((size_t)4 << 20)
// Of one memcpy: what is as large as a core's cache some libraries copy in another way, which is slower here.
#define OWN_BYTES ((size_t)128 << 10)

enum { PHASE_INTRODUCE, PHASE_READ, PHASE_OWN, PHASE_FINISH };

static int next_member(const struct co_shm_team *team, int member)
{
    return member + 1 == team->count ? 0 : member + 1;
}

// One piece of the current peer's block. 0: the peer has not come yet, or a page from it is under way.
static int read_piece(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    char *block = co_shm_block_place(op, op->peer);
    size_t bytes = co_shm_block_bytes(op, op->peer);

    if (op->stuck != 0) {
        struct co_shm_span span = {.local = block, .bytes = bytes, .owner = op->peer};
        return co_shm_bounce_step(op, &span) == 1;
    }
    if (op->remote == 0) {
        struct co_shm_introduction its;
        if (!co_shm_introduced(op, op->peer, &its)) {
            return 0;
        }
        if (its.bytes != co_shm_block_told(op, op->peer)) {
            return -EMSGSIZE;
        }
        if (bytes == 0) {
            return 1;
        }
        op->remote = its.address;
    }
    size_t left = bytes - op->position;
    size_t length = left < PIECE_BYTES ? left : PIECE_BYTES;
    int rank = team->members[op->peer];
    if (co_shm_node_read(team->node, rank, block + op->position, op->remote + op->position, length) != 0) {
        op->stuck = 1; // the rest of this block through the bounce page; position stays
    } else if (co_load_acquire(&co_shm_control(team, op->peer)->claim) == co_shm_closed(op)) {
        return -ECONNRESET; // acquire F1: its block was its program's again, perhaps before we had read it
    } else {
        op->position += length;
    }
    return 1;
}

static bool copy_own(struct co_shm_op *op)
{
    char *own = co_shm_block_place(op, op->team->self);
    size_t left = op->bytes - op->position;
    size_t length = left < PIECE_BYTES ? left : PIECE_BYTES;

    if (op->mine == own) {
        return true;
    }
    for (size_t end = op->position + length; op->position < end; op->position += length) {
        length = end - op->position < OWN_BYTES ? end - op->position : OWN_BYTES;
        co_memory_copy(own + op->position, op->mine + op->position, length);
    }
    return op->position == op->bytes;
}

static int await_others(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    while (op->peer != team->self) {
        // acquire D1: the member has read our block.
        if (co_load_acquire(&co_shm_control(team, op->peer)->finished) < op->sequence) {
            return 0;
        }
        op->peer = next_member(team, op->peer);
    }
    // Everybody has begun, so everybody is done with all ticks before ours.
    if (op->tick > team->granted[CO_SHM_LINES]) {
        team->granted[CO_SHM_LINES] = op->tick;
    }
    co_shm_team_count(team, 0, co_shm_block_bytes(op, team->self));
    if (op->is_tried) {
        co_shm_tried(team);
    }
    return 1;
}

static void end_reading(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    co_store_release(&co_shm_control(team, team->self)->finished, op->sequence); // release D1: our reads are over
    co_shm_consume(team, CO_SHM_LINES, op->tick + 1);
    op->position = 0;
    op->peer = next_member(team, team->self);
    op->phase = PHASE_OWN;
}

void co_shm_direct_abandon(struct co_shm_op *op)
{
    // release F1: before the program writes to our block. The kernel's copies end with a full barrier.
    atomic_exchange(&co_shm_control(op->team, op->team->self)->claim, co_shm_closed(op));
}

int co_shm_direct_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    int result = 0;

    if (op->phase == PHASE_INTRODUCE) {
        if (!co_shm_introduce(op, op->mine)) {
            return 0;
        }
        op->remote = 0;
        op->phase = PHASE_READ;
    }
    if (op->phase == PHASE_READ) {
        int read = read_piece(op);
        if (read < 0) {
            return read;
        }
        if (read > 0 && op->position == co_shm_block_bytes(op, op->peer)) {
            op->position = 0;
            op->remote = 0;
            op->stuck = 0;
            op->read++;
            op->peer = next_member(team, op->peer);
        }
        if (op->peer == team->self) {
            end_reading(op);
        }
    } else if (op->phase == PHASE_OWN) {
        op->phase = copy_own(op) ? PHASE_FINISH : PHASE_OWN;
    } else {
        result = await_others(op);
    }
    co_shm_bounce_serve(team, (char *)(uintptr_t)op->mine, co_shm_block_bytes(op, team->self), false);
    return result;
}
