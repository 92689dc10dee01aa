// SPDX-License-Identifier: BSD-3-Clause
//
// Members that were called with different lengths: the program's mistake, which MPI libraries live with in a bcast. Who
// has room for more than the root gives gets that and no error; who has room for less gets what fits, and an error of
// its own.
//
// The length chooses the path, so such a member waits where nobody writes. It cannot take another operation's bytes for
// its own: a slot is full for one number and one length only, and of a stream it looks at the first tick. Who waits
// long looks at the other's next slots of the other rings, which stay until it has read them, and at what is remembered
// of the last streams; what follows from that is shm_start.c's. Off the hot path.
#include <errno.h>
#include <stdlib.h>

#include "shm/shm_team.h"

#define NUMBER_BITS (64 - CO_SHM_STREAM_BITS)

// What the member's slot that is next in this ring says of the operation; 0: nothing.
static size_t length_in_ring(const struct co_shm_op *op, int member, unsigned ring)
{
    const struct co_shm_team *team = op->team;
    uint64_t tick = ring == op->ring ? op->tick : team->clock[ring];
    uint64_t word = co_load_acquire((_Atomic uint64_t *)co_shm_slot(team, member, ring, tick)); // acquire R1
    size_t length = (size_t)(word & CO_SHM_INTRODUCTION);
    struct co_shm_introduction its;

    if (word >> CO_SHM_LENGTH_BITS != op->number) {
        return 0;
    }
    if (length == CO_SHM_INTRODUCTION) {
        memcpy(&its, co_shm_slot_payload(team, member, ring, tick), sizeof its);
        length = (size_t)its.bytes;
    }
    return length;
}

// Likewise of its last streams.
static size_t length_of_stream(const struct co_shm_op *op, int member, bool *is_past)
{
    struct co_shm_control *control = co_shm_control(op->team, member);
    uint64_t index = op->ring == CO_SHM_BULK ? op->stream : op->team->streams;
    uint64_t word = co_load_acquire(&control->streams[index % CO_SHM_STREAMS]); // acquire N1
    uint64_t own = op->number << CO_SHM_STREAM_BITS;
    bool is_ours = (word ^ own) >> CO_SHM_STREAM_BITS == 0;

    // Both numbers are cut to NUMBER_BITS; the nearer way round tells which is older.
    *is_past = !is_ours && ((word - own) >> CO_SHM_STREAM_BITS) < UINT64_C(1) << (NUMBER_BITS - 1);
    return is_ours ? (size_t)(word & CO_SHM_STREAM_MASK) : 0;
}

size_t co_shm_length_of(const struct co_shm_op *op, int member, bool *is_past)
{
    size_t length = length_of_stream(op, member, is_past);

    if (length == 0) {
        length = length_in_ring(op, member, CO_SHM_LINES);
    }
    if (length == 0 && (co_load_relaxed(&co_shm_control(op->team, member)->touched) & 1u << CO_SHM_MAIL) != 0) {
        length = length_in_ring(op, member, CO_SHM_MAIL); // relaxed: its pages are there
    }
    *is_past = *is_past && length == 0;
    return length;
}

// The last bytes are here: as many as there is room for go to the caller.
static int truncating_step(struct co_shm_op *op)
{
    int state = op->whole_step(op);

    if (state == 1) {
        memcpy(op->home, op->whole, op->room);
        return CO_SHM_TRUNCATED;
    }
    return state;
}

void co_shm_op_truncate_at_end(struct co_shm_op *op)
{
    if (op->whole != NULL) {
        op->whole_step = op->step;
        op->step = truncating_step;
    }
}

int co_shm_op_take_length(struct co_shm_op *op, size_t bytes)
{
    if (bytes > op->bytes) {
        op->whole = malloc(bytes);
        if (op->whole == NULL) {
            return -ENOMEM;
        }
        op->home = op->target;
        op->room = op->bytes;
        op->target = op->whole;
    }
    op->bytes = bytes;
    return 0;
}
