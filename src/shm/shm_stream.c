// SPDX-License-Identifier: BSD-3-Clause
//
// Bcast, allgather and gather through the bulk ring: the block is written there and read at the same time. Slots have
// no flags: a counter says how many are written, and a head beside the first one which operation's they are. A reader
// that lags learns of many slots by one look, and a counter that nobody looks at stays in its writer's cache; with a
// flag for each, every slot costs both sides the way between two caches. Who does not lag finds beside the counter what
// the head says. Where the slots are, in the lane or in a loan, the writer alone decides and tells there, too. Hot.
#include "base/memory/memory_copy.h"
#include "shm/shm_team.h"

#include <errno.h>

#define WRITE_TICKS (((size_t)32 << 10) / CO_SHM_FRAGMENT) // told at once: few enough for the reader to begin early
#define TURN_TICKS (((size_t)16 << 10) / CO_SHM_FRAGMENT)  // read of one member before the next one's turn

enum { PHASE_BEGIN, PHASE_SWITCH, PHASE_FLOW };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// That a member's block fills; without bytes it has a head all the same. Of unequal blocks all but the largest have
// fewer than the operation; the rest is skipped.
static uint64_t ticks_of(const struct co_shm_op *op, int member)
{
    size_t bytes = co_shm_block_bytes(op, member);
    return bytes == 0 ? 1 : (bytes + CO_SHM_FRAGMENT - 1) / CO_SHM_FRAGMENT;
}

// Bytes of `ticks` fragments of a member's block from `first` on; the last one is shorter.
static size_t length_of(const struct co_shm_op *op, int member, uint64_t first, uint64_t ticks)
{
    return least(co_shm_block_bytes(op, member) - (size_t)first * CO_SHM_FRAGMENT, ticks * CO_SHM_FRAGMENT);
}

static char *own_slots(const struct co_shm_team *team)
{
    return co_shm_lane(team, team->self) + team->shape.ring[CO_SHM_BULK].offset;
}

// Moves the slots to the loan or back, when every member has read all that this one has written. Before its first tick
// a member has told no place, and readers do not look for one before that tick.
static bool use_memory(struct co_shm_team *team)
{
    char *lent = co_shm_loan_memory(team), *slots = lent ? lent : own_slots(team);
    uint64_t count = lent ? team->lent_slots : team->shape.ring[CO_SHM_BULK].mask + 1;

    if (slots == team->slots && count == team->slot_mask + 1) {
        return true;
    }
    if (team->granted[CO_SHM_BULK] < team->stream_end && !co_shm_ask_credit(team, CO_SHM_BULK, team->stream_end, 1)) {
        return false;
    }
    team->slots = slots;
    team->heads = (struct co_shm_head *)(lent ? lent + count * CO_SHM_FRAGMENT
                                              : co_shm_lane(team, team->self) + team->shape.heads);
    team->slot_mask = count - 1;
    // relaxed: published by release W1 with the first tick that is there
    co_store_relaxed(&co_shm_control(team, team->self)->memory,
                     (uint64_t)(slots - (char *)team->node->segment.base) | (uint64_t)__builtin_ctzll(count));
    return true;
}

// This member is done with all ticks before `tick`.
static void consume(const struct co_shm_team *team, uint64_t tick)
{
    // release R2: our reads of these slots are over, their writers may overwrite them.
    co_store_release(&co_shm_control(team, team->self)->consumed[CO_SHM_BULK], tick);
}

// To where the program wants it, if it wants anything: a block without bytes may have no place.
static void copy_home(const struct co_shm_op *op, char *to, const char *from, size_t length)
{
    if (length == 0) {
        return;
    }
    if (op->past_cache) {
        co_shm_copy_nontemporal(to, from, length);
    } else {
        co_memory_copy(to, from, length);
    }
}

// Which stream it is in few bits, with the length.
static uint64_t last_stream_word(const struct co_shm_op *op, int member)
{
    return op->number << CO_SHM_STREAM_BITS | (co_shm_block_told(op, member) & CO_SHM_STREAM_MASK);
}

static void write_head(const struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    team->heads[op->tick & team->slot_mask] =
        (struct co_shm_head){.stream = co_shm_stream_of(op), .bytes = co_shm_block_told(op, team->self)};
    // relaxed: published by release W1
    co_store_relaxed(&co_shm_control(team, team->self)->last_stream, last_stream_word(op, team->self));
}

static size_t write_some(struct co_shm_op *op, bool reads)
{
    struct co_shm_team *team = op->team;
    uint64_t tick = op->tick + op->written, slots = team->slot_mask + 1, own_ticks = ticks_of(op, team->self);
    uint64_t left = own_ticks - least(op->written, own_ticks);

    if (left == 0) {
        return 0;
    }
    if (tick >= team->granted[CO_SHM_BULK] + slots && !co_shm_ask_credit(team, CO_SHM_BULK, tick, slots)) {
        team->shortages++;
        return 0;
    }
    uint64_t slot = tick & team->slot_mask;
    uint64_t ticks = least(least(left, slots - slot), least(WRITE_TICKS, slots / 2));
    ticks = least(ticks, team->granted[CO_SHM_BULK] + slots - tick);
    size_t offset = (size_t)op->written * CO_SHM_FRAGMENT, length = length_of(op, team->self, op->written, ticks);
    co_memory_copy(team->slots + slot * CO_SHM_FRAGMENT, op->mine + offset, length);
    if (op->written == 0) {
        write_head(op);
    }
    op->written = ticks == left ? op->ticks : op->written + ticks;
    team->stream_end = op->tick + op->written;
    // release W1: the payload, and where it is.
    co_store_release(&co_shm_control(team, team->self)->written, team->stream_end);
    if (!reads) {
        consume(team, team->stream_end); // at once: other writers of a gather wait for every member
    }
    if (op->call == CO_SHM_ALLGATHER) {
        char *own = co_shm_block_place(op, team->self);
        if (op->mine != own) {
            copy_home(op, own + offset, op->mine + offset, length);
        }
    }
    return (size_t)ticks * CO_SHM_FRAGMENT;
}

// Up to `most` ticks of `peer`, from fragment `first` of its block on; how many.
static uint64_t copy_ticks(struct co_shm_op *op, int peer, char *block, uint64_t first, uint64_t most)
{
    struct co_shm_team *team = op->team;
    struct co_shm_control *control = co_shm_control(team, peer);
    uint64_t tick = op->tick + first;

    if (op->remote <= tick) {
        op->remote = co_load_acquire(&control->written); // acquire W1: payload and memory of all ticks before
        if (op->remote <= tick) {
            return 0;
        }
    }
    struct co_shm_slots slots;
    if (!co_shm_find_slots(team, peer, &slots)) {
        return 0;
    }
    uint64_t count = slots.mask + 1, slot = tick & slots.mask;
    op->least_slots = least(op->least_slots, count);
    uint64_t ticks = least(least(op->remote - tick, count - slot), least(most, count / 4));
    copy_home(op, block + first * CO_SHM_FRAGMENT, slots.first + slot * CO_SHM_FRAGMENT,
              length_of(op, peer, first, ticks));
    return ticks;
}

// A member's stream has come. False: it has not, or what is there is another call's, or the block has another length:
// the root's, to which the operation goes over before it comes here again (co_shm_op_look_at_lengths).
static bool meet(struct co_shm_op *op, int member)
{
    struct co_shm_control *control = co_shm_control(op->team, member);
    struct co_shm_where where;
    struct co_shm_slots slots;

    if (co_load_acquire(&control->written) <= op->tick) { // acquire W1: which stream it is
        return false;
    }
    // relaxed: a later one has another number
    if (co_load_relaxed(&control->last_stream) == last_stream_word(op, member)) {
        return true;
    }
    if (co_shm_find_slots(op->team, member, &slots)) { // its writer is ahead of us
        const struct co_shm_head *head = &slots.heads[op->tick & slots.mask];
        if (head->stream == co_shm_stream_of(op) && head->bytes == co_shm_block_told(op, member)) {
            return true;
        }
    }
    size_t bytes = co_shm_length_of(op, member, &where);
    op->has_met_other = bytes != 0 && bytes != co_shm_block_told(op, member);
    return bytes != 0 && !op->has_met_other;
}

// The root's block.
static size_t read_root(struct co_shm_op *op)
{
    if (op->read == 0 && !meet(op, op->root)) {
        return 0;
    }
    uint64_t ticks = op->read < op->ticks ? copy_ticks(op, op->root, op->target, op->read, op->ticks - op->read) : 0;

    if (ticks == 0) {
        return 0;
    }
    op->read += ticks;
    consume(op->team, op->tick + op->read);
    return (size_t)ticks * CO_SHM_FRAGMENT;
}

// The others' blocks, a few ticks of each in turn. A turn is at most what any of them has slots for: the slowest
// member, which holds the writers back, then always finds all its turn needs, or its writers find room to write it;
// half of that, and they need not wait for the end of its round. In the first round nobody has told yet where its slots
// are, and a lane holds the least.
static uint64_t turn_ticks(const struct co_shm_op *op)
{
    bool is_first = op->read == 0;
    uint64_t lane = op->team->shape.ring[CO_SHM_BULK].mask + 1;
    uint64_t turn = least(is_first ? lane : op->least_slots / 2, TURN_TICKS);

    return least(turn, op->ticks - op->read);
}

static size_t read_all(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    if (op->read == op->ticks || (op->read + op->position == 0 && !meet(op, op->peer))) {
        return 0;
    }
    uint64_t turn = turn_ticks(op);
    uint64_t of_peer = least(turn, ticks_of(op, op->peer) - least(op->read, ticks_of(op, op->peer)));
    uint64_t ticks = op->position == of_peer ? 0
                                             : copy_ticks(op, op->peer, co_shm_block_place(op, op->peer),
                                                          op->read + op->position, of_peer - op->position);
    op->position += ticks;
    bool is_over = op->position == of_peer;
    if (is_over) {
        op->position = 0;
        op->remote = 0;
        op->peer = op->peer + 1 == team->count ? 0 : op->peer + 1;
        if (op->peer == team->self) {
            op->peer = team->self + 1 == team->count ? 0 : team->self + 1;
            op->read += turn;
            consume(team, op->tick + op->read);
        }
    }
    return (size_t)ticks * CO_SHM_FRAGMENT + is_over;
}

static size_t bytes_of_all(const struct co_shm_op *op)
{
    size_t bytes = 0;

    for (int member = 0; member < op->team->count; member++) {
        bytes += op->blocks[member].bytes;
    }
    return bytes;
}

// What the ranks of this node touch together is more than their cache: nothing of it will be there afterwards.
static bool exceeds_cache(const struct co_shm_op *op)
{
    size_t count = (size_t)op->team->count;
    if (op->blocks != NULL) {
        return bytes_of_all(op) >= op->team->node->cache_bytes / (count + 1);
    }
    size_t blocks = op->call == CO_SHM_ALLGATHER ? count * (count + 1) : op->call == CO_SHM_BCAST ? count : 2 * count;

    return op->bytes >= op->team->node->cache_bytes / blocks;
}

static void begin(struct co_shm_op *op, bool writes)
{
    char *own = co_shm_block_place(op, op->team->self);

    op->past_cache = exceeds_cache(op);
    if (op->call == CO_SHM_GATHER && op->root == op->team->self && op->mine != own) {
        co_memory_copy(own, op->mine, op->bytes);
    }
    op->remote = 0;
    op->least_slots = UINT64_MAX;
    co_shm_op_tell(op);
    if (writes) {
        co_shm_loan_begin(op->team, co_shm_block_bytes(op, op->team->self));
    }
}

static int end(struct co_shm_op *op, bool writes)
{
    struct co_shm_team *team = op->team;

    if (op->call == CO_SHM_ALLGATHER) {
        co_shm_grant_from_allgather(op);
    }
    consume(team, op->tick + op->ticks);
    if (writes) {
        co_shm_loan_rest(team);
    }
    co_shm_team_count(team, co_shm_block_bytes(op, team->self), 0);
    if (op->call == CO_SHM_BCAST && !writes) {
        co_shm_bcast_has_read(op);
    }
    if (op->is_tried) {
        co_shm_tried(team);
    }
    return 1;
}

int co_shm_stream_step(struct co_shm_op *op)
{
    bool is_root = op->root == op->team->self; // of an allgather everyone is
    bool writes = op->call == CO_SHM_ALLGATHER || is_root == (op->call == CO_SHM_BCAST);
    bool reads = op->call == CO_SHM_ALLGATHER || !writes;
    size_t moved = 0;

    if (op->phase == PHASE_BEGIN) {
        begin(op, writes);
        op->phase = writes ? PHASE_SWITCH : PHASE_FLOW;
    }
    for (size_t all = 0; all < CO_SHM_STEP_BYTES; all += moved) {
        if (op->phase == PHASE_SWITCH && use_memory(op->team)) {
            op->phase = PHASE_FLOW;
        }
        moved = writes && op->phase == PHASE_FLOW ? write_some(op, reads) : 0;
        if (reads) {
            moved += op->call == CO_SHM_BCAST ? read_root(op) : read_all(op);
        }
        if (op->written == (writes ? op->ticks : 0) && op->read == (reads ? op->ticks : 0)) {
            return end(op, writes);
        }
        if (moved == 0) {
            return 0;
        }
    }
    return 0;
}
