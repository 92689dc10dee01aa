// SPDX-License-Identifier: BSD-3-Clause
//
// The start of an operation, where its path is chosen from its size alone, so that all members choose the same; and its
// start anew where they do not, because the program has called them with different lengths (shm_lengths.c). Hot.
#include "shm/shm_team.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

// As deep as this a ring of slots with words costs no more turns of the core than the bulk ring saves.
#define FEW_SLOTS 32
#define LOOK_EVERY 64 // turns of a waiting caller
#define PAST_MOVES 4  // of who finds all that the other gave: one may end where it began

static int nothing_left_step(struct co_shm_op *op)
{
    (void)op;
    return 1;
}

// Alone or without bytes: only the own block has to get to its place.
static void start_trivial(struct co_shm_op *op)
{
    bool receives = op->call != CO_SHM_BCAST && (op->call == CO_SHM_ALLGATHER || op->root == op->team->self);

    if (op->bytes > 0 && receives && op->mine != op->target) {
        memmove(op->target, op->mine, op->bytes);
    }
    op->step = nothing_left_step;
}

static void take_ticks(struct co_shm_op *op, unsigned ring, uint64_t ticks)
{
    struct co_shm_team *team = op->team;

    op->ring = ring;
    op->tick = team->clock[ring];
    op->ticks = ticks;
    team->clock[ring] += ticks;
}

// Where ranks share cores a root should get far ahead before it gives its core away to those that wait for it: the bulk
// ring gets as many slots as that takes.
static bool is_shallow(const struct co_shm_op *op, unsigned ring)
{
    const struct co_shm_node *node = op->team->node;
    return node->shares_cores && node->plan.loans > 0 && op->call == CO_SHM_BCAST &&
           op->team->shape.ring[ring].mask + 1 < FEW_SLOTS;
}

static unsigned ring_for(const struct co_shm_op *op)
{
    for (unsigned ring = CO_SHM_LINES; ring < CO_SHM_BULK; ring++) {
        if (op->bytes <= op->team->shape.ring[ring].payload && !is_shallow(op, ring)) {
            return ring;
        }
    }
    return CO_SHM_BULK;
}

// Of equal blocks: unequal ones some members may have none of, and no word from them.
static bool is_straight_allgather(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    enum co_copy_path path =
        op->bytes >= team->node->direct_allgather_min ? CO_COPY_STRAIGHT : CO_COPY_BY_RING; // the first guess

    op->is_tried = op->blocks == NULL && op->bytes >= team->node->tried_allgather_min;
    if (op->is_tried) {
        unsigned class = co_trial_class(op->bytes, CO_SHM_TRIAL_LEAST);
        team->tried_ns = co_clock_now_ns();
        path = co_trial_next(&team->trials, class, path);
        co_trial_went(&team->trials, class, path);
        team->calls[team->tried % 2] = (struct co_shm_tried){(uint8_t) class, (uint8_t)path};
    }
    return path == CO_COPY_STRAIGHT;
}

static bool is_straight(struct co_shm_op *op)
{
    const struct co_shm_node *node = op->team->node;

    return op->call == CO_SHM_ALLGATHER ? is_straight_allgather(op)
           : op->call == CO_SHM_BCAST   ? co_shm_bcast_goes_straight(op)
                                        : op->bytes >= node->direct_gather_min;
}

static void choose_path(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    bool is_bcast = op->call == CO_SHM_BCAST, is_allgather = op->call == CO_SHM_ALLGATHER;
    unsigned ring = ring_for(op);

    op->sequence = 0;
    op->is_tried = false;
    if (ring == CO_SHM_LINES) {
        take_ticks(op, ring, 1);
        op->step = is_bcast             ? co_shm_bcast_line_step
                   : op->blocks != NULL ? co_shm_allgatherv_slot_step
                   : is_allgather       ? co_shm_allgather_line_step
                                        : co_shm_slot_step;
    } else if (is_straight(op)) {
        take_ticks(op, CO_SHM_LINES, 1);
        op->sequence = ++team->sequence;
        op->step = is_allgather ? co_shm_direct_step : co_shm_star_step;
    } else {
        size_t payload = team->shape.ring[ring].payload;
        take_ticks(op, ring, (op->bytes + payload - 1) / payload);
        op->step = ring == CO_SHM_BULK  ? co_shm_stream_step
                   : op->blocks != NULL ? co_shm_allgatherv_slot_step
                                        : co_shm_slot_step;
    }
}

static int failed_touch_step(struct co_shm_op *op)
{
    (void)op;
    return -ENOMEM;
}

// Everyone needs its first pages for what it acknowledges; the other rings only exist for who writes them.
static void touch_new(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    bool writes = op->call == CO_SHM_ALLGATHER || (op->root == team->self) == (op->call == CO_SHM_BCAST);
    unsigned needed = 1u << CO_SHM_LINES | (writes ? 1u << op->ring : 0);

    for (unsigned ring = 0; ring < CO_SHM_RINGS; ring++) {
        if ((needed & ~team->touched & 1u << ring) != 0 && co_shm_touch_ring(team, ring) != 0) {
            op->step = failed_touch_step;
        }
    }
}

static void begin(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    op->phase = 0;
    op->written = 0;
    op->read = 0;
    op->position = 0;
    op->stuck = 0;
    op->was_refused = false;
    op->has_met_other = false;
    op->asked = 0;
    op->peer = team->self + 1 == team->count ? 0 : team->self + 1;
    op->helped_peer = op->root;
    choose_path(op);
    if (((1u << CO_SHM_LINES | 1u << op->ring) & ~team->touched) != 0) {
        touch_new(op);
    }
}

static void start(struct co_shm_op *op)
{
    op->whole = NULL;
    op->looks = 0;
    op->sequence = 0;
    if (op->bytes == 0 || op->team->count == 1) {
        op->phase = 0;
        op->peer = op->team->self;
        op->written = op->read = op->position = 0;
        start_trivial(op);
        return;
    }
    op->number = (op->team->number + 1) << CO_SHM_CALL_BITS | (uint64_t)op->call;
    op->team->number += op->call == CO_SHM_ALLGATHER ? (uint64_t)op->team->count : 1;
    begin(op);
}

void co_shm_bcast_start(struct co_shm_op *op, struct co_shm_team *team, int root, void *buffer, size_t bytes)
{
    op->team = team;
    op->call = CO_SHM_BCAST;
    op->root = root;
    op->mine = buffer;
    op->target = buffer;
    op->bytes = bytes;
    op->blocks = NULL;
    op->bcast = 0;
    start(op);
}

void co_shm_allgather_start(struct co_shm_op *op, struct co_shm_team *team, const void *mine, void *all, size_t bytes)
{
    op->team = team;
    op->call = CO_SHM_ALLGATHER;
    op->root = team->self;
    op->mine = mine ? mine : (char *)all + (size_t)team->self * bytes;
    op->target = all;
    op->bytes = bytes;
    op->blocks = NULL;
    start(op);
}

void co_shm_allgatherv_start(struct co_shm_op *op, struct co_shm_team *team, const struct co_block blocks[])
{
    op->team = team;
    op->call = CO_SHM_ALLGATHER;
    op->root = team->self;
    op->mine = op->target = blocks[team->self].buffer;
    op->bytes = 0;
    for (int member = 0; member < team->count; member++) {
        op->bytes = blocks[member].bytes > op->bytes ? blocks[member].bytes : op->bytes;
    }
    op->blocks = blocks;
    start(op);
}

void co_shm_gather_start(struct co_shm_op *op, struct co_shm_team *team, int root, const void *mine, void *all,
                         size_t bytes)
{
    op->team = team;
    op->call = CO_SHM_GATHER;
    op->root = root;
    op->mine = mine || team->self != root ? mine : (char *)all + (size_t)root * bytes;
    op->target = all;
    op->bytes = bytes;
    op->blocks = NULL;
    start(op);
}

static int no_memory_step(struct co_shm_op *op)
{
    (void)op;
    return -ENOMEM;
}

// Of a bcast of which nothing was read: as if it had not begun, but for its number.
static void give_places_back(struct co_shm_op *op)
{
    op->team->clock[op->ring] = op->tick;
    op->team->sequence -= co_shm_op_is_large(op);
}

// Begins it anew with the root's length, on the path of that length.
static void adopt(struct co_shm_op *op, size_t bytes)
{
    give_places_back(op);
    if (co_shm_op_take_length(op, bytes) != 0) {
        op->step = no_memory_step;
        return;
    }
    begin(op);
    co_shm_op_truncate_at_end(op);
}

// Whose bytes it waits for, or -1: it only waits until others are done.
static int awaited(const struct co_shm_op *op)
{
    int self = op->team->self, member = op->call == CO_SHM_BCAST || op->root != self ? op->root : op->peer;

    return member == self ? -1 : member;
}

// All that the other gave for this operation is there, if it took our path.
static int end_or_fail(struct co_shm_op *op)
{
    struct co_shm_op before = *op;

    for (int move = 0; move < PAST_MOVES; move++) {
        int state = co_shm_op_progress(op);
        if (state != 0 || op->peer != before.peer || op->position != before.position || op->read != before.read ||
            op->written != before.written || op->phase != before.phase) {
            return state;
        }
    }
    return -EMSGSIZE;
}

// Its root gave nothing before it said so, and will not.
static bool is_let_go(const struct co_shm_op *op)
{
    const struct co_shm_team *team = op->team;
    struct co_shm_where where;
    return op->call == CO_SHM_BCAST && op->bcast != 0 && op->root != team->self && op->read == 0 &&
           co_load_acquire(&team->node->entries[team->entry].let_go) >= op->bcast && // acquire L1, before the look
           co_shm_length_of(op, op->root, &where) == 0;
}

// A reader that its root, which chooses as it likes, has not met yet.
static bool may_be_elsewhere(const struct co_shm_op *op)
{
    return op->call == CO_SHM_BCAST && op->bytes >= op->team->node->tried_bcast_min && op->root != op->team->self &&
           op->read == 0;
}

int co_shm_op_look_at_lengths(struct co_shm_op *op)
{
    struct co_shm_where where;

    bool has_length = op->call <= CO_SHM_GATHER; // else it is none of the numbered ones
    if (!has_length || (++op->looks % LOOK_EVERY != 0 && !op->has_met_other && !may_be_elsewhere(op))) {
        return 0;
    }
    if (is_let_go(op)) {
        give_places_back(op);
        return -ECANCELED;
    }
    co_shm_op_tell(op);
    if (co_shm_op_is_contradicted(op)) {
        return -EMSGSIZE;
    }
    int member = awaited(op);
    if (member < 0) {
        return 0;
    }
    size_t bytes = co_shm_length_of(op, member, &where);
    if (where.is_past) {
        return end_or_fail(op);
    }
    bool is_elsewhere = may_be_elsewhere(op) && where.is_straight != co_shm_op_is_large(op);
    if (bytes == 0 || (bytes == co_shm_block_told(op, member) && !is_elsewhere)) {
        return 0;
    }
    if (op->call != CO_SHM_BCAST) {
        return -EMSGSIZE;
    }
    if (where.is_straight && co_shm_op_is_large(op)) {
        return 0; // its step takes the length: what we have told of our memory is being read (shm_star.c)
    }
    co_shm_bcast_follow(op->team, bytes, where.is_straight);
    adopt(op, bytes);
    return 0;
}

void co_shm_op_abandon(struct co_shm_op *op)
{
    if (co_shm_op_is_large(op) && op->call == CO_SHM_ALLGATHER) {
        co_shm_direct_abandon(op);
    } else if (co_shm_op_is_large(op)) {
        co_shm_star_abandon(op);
    }
}

void co_shm_op_describe(const struct co_shm_op *op, char *text, size_t room)
{
    static const char *const calls[] = {"bcast", "allgather", "gather", "agreement", "follow"};
    static const char *const rings[] = {"lines", "mail", "bulk"};
    const struct co_shm_team *team = op->team;
    bool large = co_shm_op_is_large(op);

    snprintf(text, room, "shm %s of %zu bytes, root %d, %s tick %llu: %llu of %llu written, %llu read, next peer %d%s",
             calls[op->call], op->bytes, op->call == CO_SHM_ALLGATHER ? -1 : op->root,
             large ? "single copy" : rings[op->ring], (unsigned long long)op->tick, (unsigned long long)op->written,
             (unsigned long long)op->ticks, (unsigned long long)op->read, team->members[op->peer],
             op->stuck ? ", through the bounce page" : "");
}
