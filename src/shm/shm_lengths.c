// SPDX-License-Identifier: BSD-3-Clause
//
// Members that were called with different lengths: the program's mistake, which MPI libraries live with in a bcast. Who
// has room for more than the root gives gets that and no error; who has room for less gets what fits, and an error of
// its own.
//
// The length chooses the path, so such a member waits where nobody writes. It cannot take another operation's bytes for
// its own: a slot is full for one number and one length only, and of a stream it looks at the head. Who waits long
// looks at the other's next slots of all rings, which stay until it has read them; what follows from that is
// shm_start.c's.
//
// Members may also disagree which operations there are: a call of unequal blocks is one or several, by their lengths. A
// member may then read what was given for another call, and wait for one that gives nothing more. So who waits long
// tells where, and who is through with such a call tells that, since it may never wait again: of numbers each call
// takes as many as it could be operations at most. What is given says for which call, so that a member does not end
// with what was given for another one. Off the hot path.
#include <errno.h>
#include <stdlib.h>

#include "base/memory/memory_copy.h"
#include "shm/shm_team.h"

// The length of an operation chooses its path; in an allgather that is the largest block, and what a member gives may
// be right on a wrong one.
static size_t on_path(const struct co_shm_op *op, unsigned ring, bool is_large, size_t length)
{
    bool is_other = ring != op->ring || is_large != co_shm_op_is_large(op);
    return is_other && op->call == CO_SHM_ALLGATHER ? CO_SHM_OTHER_PATH : length;
}

// What the member's slot that is next in this ring says of the operation; 0: nothing.
static size_t length_in_ring(const struct co_shm_op *op, int member, unsigned ring, struct co_shm_where *where)
{
    const struct co_shm_team *team = op->team;
    uint64_t tick = ring == op->ring ? op->tick : team->clock[ring];
    uint64_t word = co_load_acquire((_Atomic uint64_t *)co_shm_slot(team, member, ring, tick)); // acquire R1
    size_t length = (size_t)(word & CO_SHM_INTRODUCTION);
    struct co_shm_introduction its;

    if (word >> CO_SHM_LENGTH_BITS != op->number) {
        return 0;
    }
    bool is_introduction = length == CO_SHM_INTRODUCTION;
    if (is_introduction) {
        memcpy(&its, co_shm_slot_payload(team, member, ring, tick), sizeof its);
        length = (size_t)its.bytes;
    } else if (length == (CO_SHM_NOTHING & CO_SHM_INTRODUCTION)) {
        length = CO_SHM_NOTHING;
    }
    where->is_straight = is_introduction;
    return on_path(op, ring, is_introduction, length);
}

// Likewise the head of its next stream.
static size_t length_of_stream(const struct co_shm_op *op, int member)
{
    struct co_shm_team *team = op->team;
    struct co_shm_slots slots;

    if (op->ring == CO_SHM_BULK && op->read > 0) {
        return co_shm_block_told(op, member); // as it was met; the head may be gone
    }
    uint64_t tick = op->ring == CO_SHM_BULK ? op->tick : team->clock[CO_SHM_BULK];
    bool is_there = co_load_acquire(&co_shm_control(team, member)->written) > tick; // acquire W1: the head
    if (!is_there || !co_shm_find_slots(team, member, &slots)) {
        return 0;
    }
    const struct co_shm_head *head = &slots.heads[tick & slots.mask];
    return head->stream == co_shm_stream_of(op) ? on_path(op, CO_SHM_BULK, false, (size_t)head->bytes) : 0;
}

// Behind all operations up to this one, before the next one: no call has this number.
static uint64_t end_of(uint64_t count)
{
    return count << CO_SHM_CALL_BITS | ((1u << CO_SHM_CALL_BITS) - 1);
}

static void tell(const struct co_shm_team *team, uint64_t word)
{
    // release N2: all that this member has given before.
    co_store_release(&co_shm_control(team, team->self)->come_to, word);
}

void co_shm_op_tell(const struct co_shm_op *op)
{
    tell(op->team, co_shm_told_word(op->number, co_shm_op_gives(op)));
}

uint64_t co_shm_team_call_begins(const struct co_shm_team *team)
{
    return team->number;
}

void co_shm_team_call_ends(struct co_shm_team *team, uint64_t began, int most)
{
    uint64_t end = began + (uint64_t)most;
    team->number = end > team->number ? end : team->number; // no number is given twice
    tell(team, co_shm_told_word(end_of(team->number), false));
}

// What is told of a member says that it is in the operation of this number, as this call or another one.
static bool is_at(uint64_t told, uint64_t number)
{
    uint64_t other = told >> 1 ^ number;
    return other >> CO_SHM_CALL_BITS == 0 && told >> 1 != end_of(number >> CO_SHM_CALL_BITS);
}

static bool is_behind_it(uint64_t told, uint64_t number)
{
    return told >> 1 >= end_of(number >> CO_SHM_CALL_BITS);
}

size_t co_shm_length_of(const struct co_shm_op *op, int member, struct co_shm_where *where)
{
    uint64_t told = co_load_acquire(&co_shm_control(op->team, member)->come_to); // acquire N2, before the looks below

    where->is_straight = false;
    where->is_past = is_at(told, op->number) && told != co_shm_told_word(op->number, true);
    if (where->is_past) {
        return 0; // it gives nothing in it, or takes it for another call, whatever it knows of its length
    }
    size_t length = length_of_stream(op, member);
    if (length == 0) {
        length = length_in_ring(op, member, CO_SHM_LINES, where);
    }
    if (length == 0 && (co_load_relaxed(&co_shm_control(op->team, member)->touched) & 1u << CO_SHM_MAIL) != 0) {
        length = length_in_ring(op, member, CO_SHM_MAIL, where); // relaxed: its pages are there
    }
    where->is_past = is_behind_it(told, op->number) && length == 0;
    return length;
}

// It is past our operation, and must be done with it in memory, too.
static bool has_taken(const struct co_shm_op *op, int member)
{
    struct co_shm_control *control = co_shm_control(op->team, member);
    uint64_t slots = op->team->shape.ring[op->ring].mask + 1;

    if (co_shm_op_is_large(op) && op->call != CO_SHM_GATHER) {
        return co_load_acquire(&control->finished) >= op->sequence; // acquire G2, D1
    }
    uint64_t consumed = co_load_acquire(&control->consumed[op->ring]); // acquire R2
    return op->ring == CO_SHM_BULK ? consumed >= op->tick + op->ticks : consumed + slots > op->tick;
}

bool co_shm_op_is_contradicted(const struct co_shm_op *op)
{
    for (int member = 0; member < op->team->count && co_shm_op_gives(op); member++) {
        uint64_t told = co_load_acquire(&co_shm_control(op->team, member)->come_to); // acquire N2
        uint64_t expected = co_shm_told_word(op->number, op->call != CO_SHM_BCAST || member == op->root);
        bool is_past = member != op->team->self && is_behind_it(told, op->number);

        if ((is_at(told, op->number) && told != expected) || (is_past && !has_taken(op, member))) {
            return true;
        }
    }
    return false;
}

// The last bytes are here: as many as there is room for go to the caller.
static int truncating_step(struct co_shm_op *op)
{
    int state = op->whole_step(op);

    if (state == 1) {
        co_memory_copy(op->home, op->whole, op->room);
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
