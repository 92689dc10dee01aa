// SPDX-License-Identifier: BSD-3-Clause
//
// The measurement of shm_measure.h. The first two ranks of the node do what collectives and messages do, in the node's
// staging, which nobody has yet; the first one holds the clock. Who waits too long gives up, and so does the other. The
// least of some rounds counts: who loses the processor meanwhile makes a round longer, never shorter.
#include "shm/shm_measure.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/shm_node.h"

#define BUDGET_NS (UINT64_C(3) * CO_NS_PER_MS)   // then no further size is begun
#define PATIENCE_NS (UINT64_C(5) * CO_NS_PER_MS) // then nobody is waited for: what is measured by then counts
#define ROUNDS 6                                 // of each, every other one from memory just written
#define GIVEN_UP UINT64_MAX
#define SPINS 200 // before the processor is offered to others
#define LOANS 4   // of the node's staging: two for each player
#define LARGEST (CO_SHM_MEASURED_LEAST << (2 * (CO_SHM_MEASURED_SIZES - 1)))
#define MESSAGE_PIECE ((size_t)8 << 10) // as in the ring of messages
#define MESSAGE_SLOTS 4
#define STREAM_PIECE ((size_t)16 << 10)
#define STREAM_SLOTS 16
#define BCAST_RUN 8 // broadcasts that follow each other: by ring the root need not wait for the end of one

// At the start of a player's part of the staging; behind it, a page further, the slots.
struct stage {
    alignas(CO_LINE_PAIR) _Atomic uint64_t step;   // of the protocol; GIVEN_UP
    alignas(CO_LINE_PAIR) _Atomic uint64_t pieces; // written, in all
    alignas(CO_LINE_PAIR) _Atomic uint64_t taken;  // of the other's
    alignas(CO_LINE_PAIR) uint64_t source, target; // addresses in this process
    bool is_over;
};

struct player {
    struct co_shm_node *node;
    struct stage *mine, *other;
    char *source, *target;
    uint64_t step, written, read; // so far
    uint64_t end_ns;              // of patience
    bool is_first, has_failed;
};

static struct stage *stage_of(const struct co_shm_node *node, int rank)
{
    size_t offset = node->plan.staging_offset + (size_t)rank * (LOANS / 2) * CO_SHM_LOAN_BYTES;
    return (struct stage *)((char *)node->segment.base + offset);
}

static char *slot(struct stage *stage, uint64_t piece, size_t bytes, size_t slots)
{
    return (char *)stage + CO_SHM_PAGE + (size_t)(piece % slots) * bytes;
}

static bool fail(struct player *player)
{
    player->has_failed = true;
    co_store_release(&player->mine->step, GIVEN_UP); // release M1
    return false;
}

// Until the other has said so much. GIVEN_UP is more than anything, and is found at the next step.
static bool await(struct player *player, const _Atomic uint64_t *word, uint64_t least)
{
    for (unsigned turns = 0; co_load_acquire(word) < least; turns++) { // acquire M1
        if (turns < SPINS) {
            co_cpu_relax();
            continue;
        }
        sched_yield();
        if (co_load_acquire(&player->other->step) == GIVEN_UP || co_clock_now_ns() > player->end_ns) {
            return fail(player);
        }
    }
    return true;
}

static bool meet(struct player *player)
{
    co_store_release(&player->mine->step, ++player->step); // release M1: all before it
    return await(player, &player->other->step, player->step) &&
           (co_load_acquire(&player->other->step) != GIVEN_UP || fail(player));
}

static bool write_piece(struct player *player, size_t piece, size_t slots, size_t at)
{
    uint64_t number = player->written;
    if (number >= slots && !await(player, &player->other->taken, number - slots + 1)) {
        return false;
    }
    memcpy(slot(player->mine, number, piece, slots), player->source + at, piece);
    co_store_release(&player->mine->pieces, ++player->written); // release M1
    return true;
}

static bool read_piece(struct player *player, size_t piece, size_t slots, size_t at)
{
    uint64_t number = player->read;
    if (!await(player, &player->other->pieces, number + 1)) {
        return false;
    }
    memcpy(player->target + at, slot(player->other, number, piece, slots), piece);
    co_store_release(&player->mine->taken, ++player->read); // release M1
    return true;
}

static bool by_ring(struct player *player, enum co_shm_way way, size_t bytes)
{
    bool is_message = way == CO_SHM_WAY_MESSAGE, are_both = way == CO_SHM_WAY_ALLGATHER;
    size_t piece = is_message ? MESSAGE_PIECE : STREAM_PIECE, slots = is_message ? MESSAGE_SLOTS : STREAM_SLOTS;
    for (size_t at = 0; at < bytes; at += piece) {
        if ((player->is_first || are_both) && !write_piece(player, piece, slots, at)) {
            return false;
        }
        if ((!player->is_first || are_both) && !read_piece(player, piece, slots, at)) {
            return false;
        }
    }
    return true;
}

static bool straight(struct player *player, enum co_shm_way way, size_t bytes)
{
    int peer = player->is_first ? 1 : 0, error = 0;
    size_t half = way == CO_SHM_WAY_BCAST && bytes > CO_SHM_PIECE_LEAST ? bytes / 2 : bytes;
    if (!player->is_first || way == CO_SHM_WAY_ALLGATHER) {
        error = co_shm_node_read(player->node, peer, player->target, player->other->source, half);
    } else if (way == CO_SHM_WAY_BCAST && half < bytes) {
        error =
            co_shm_node_write(player->node, peer, player->source + half, player->other->target + half, bytes - half);
    }
    return error == 0 || fail(player);
}

typedef bool copy_function(struct player *, enum co_shm_way, size_t);

// How many are done before the two meet. Straight they cannot overlap: each waits for the word where its block is, and
// for the word that it has been read. Of the largest, by ring, the pieces of one follow each other.
static unsigned run_of(copy_function *copy, enum co_shm_way way, size_t bytes)
{
    return way == CO_SHM_WAY_BCAST && copy == by_ring && bytes < LARGEST ? BCAST_RUN : 1;
}

static bool copy_run(struct player *player, copy_function *copy, enum co_shm_way way, size_t bytes)
{
    bool is_announced = way != CO_SHM_WAY_BCAST || copy == by_ring || meet(player);
    for (unsigned left = run_of(copy, way, bytes); is_announced && left > 0; left--) {
        if (!copy(player, way, bytes)) {
            return false;
        }
    }
    return is_announced && meet(player);
}

// The least of some rounds from memory that stays, and the least of as many from memory just written. 0: failed.
static uint64_t time_of(struct player *player, copy_function *copy, enum co_shm_way way, size_t bytes)
{
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX};
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned kind = round % 2;
        if (kind == 1) {
            memset(player->source, (int)round, bytes);
        }
        if (!meet(player)) {
            return 0;
        }
        uint64_t start_ns = co_clock_now_ns();
        if (!copy_run(player, copy, way, bytes)) {
            return 0;
        }
        uint64_t took_ns = (co_clock_now_ns() - start_ns) / run_of(copy, way, bytes);
        least[kind] = took_ns < least[kind] ? took_ns : least[kind];
    }
    return least[0] + least[1];
}

// Each way counts its pieces from none.
static bool begin(struct player *player)
{
    player->written = player->read = 0;
    co_store_relaxed(&player->mine->pieces, 0);
    co_store_relaxed(&player->mine->taken, 0);
    return meet(player);
}

static void play(struct player *player, struct co_shm_times times[CO_SHM_WAYS][CO_SHM_MEASURED_SIZES])
{
    uint64_t start_ns = co_clock_now_ns();
    player->end_ns = start_ns + PATIENCE_NS;
    memset(player->source, 1, 2 * LARGEST);
    player->mine->source = (uint64_t)(uintptr_t)player->source;
    player->mine->target = (uint64_t)(uintptr_t)player->target;
    for (unsigned i = CO_SHM_MEASURED_SIZES; i-- > 0;) {
        player->mine->is_over = player->is_first && co_clock_now_ns() - start_ns > BUDGET_NS;
        if (!meet(player) || player->mine->is_over || player->other->is_over) {
            return;
        }
        for (int way = 0; way < CO_SHM_WAYS; way++) {
            size_t bytes = co_shm_measured_size(i);
            struct co_shm_times *time = &times[way][i];
            if (!begin(player) || (time->ring_ns = time_of(player, by_ring, (enum co_shm_way)way, bytes)) == 0) {
                return;
            }
            time->straight_ns = time_of(player, straight, (enum co_shm_way)way, bytes);
            if (time->straight_ns == 0 || !meet(player)) {
                return;
            }
        }
    }
}

static void tell(struct co_shm_times times[CO_SHM_WAYS][CO_SHM_MEASURED_SIZES], uint64_t took_ns)
{
    co_log(CO_LOG_DEBUG, CO_SUBSYS_SHM, "single copy was measured in %.1f ms", (double)took_ns / 1e6);
    for (unsigned i = 0; i < CO_SHM_MEASURED_SIZES; i++) {
        co_log(
            CO_LOG_DEBUG, CO_SUBSYS_SHM,
            "%zu KiB twice, by ring and straight: message %.1f, %.1f us, bcast %.1f, %.1f us, allgather %.1f, %.1f us",
            co_shm_measured_size(i) >> 10, (double)times[0][i].ring_ns / 1e3, (double)times[0][i].straight_ns / 1e3,
            (double)times[1][i].ring_ns / 1e3, (double)times[1][i].straight_ns / 1e3, (double)times[2][i].ring_ns / 1e3,
            (double)times[2][i].straight_ns / 1e3);
    }
}

// One of the two players. What was found, by the first, is left in the header.
static void take_part(struct co_shm_node *node)
{
    bool is_first = node->config.rank == 0;
    struct co_shm_times times[CO_SHM_WAYS][CO_SHM_MEASURED_SIZES] = {0};
    char *memory = aligned_alloc(CO_SHM_PAGE, 2 * LARGEST);
    struct player player = {.node = node,
                            .mine = stage_of(node, is_first ? 0 : 1),
                            .other = stage_of(node, is_first ? 1 : 0),
                            .source = memory,
                            .target = memory == NULL ? NULL : memory + LARGEST,
                            .is_first = is_first};
    uint64_t start_ns = co_clock_now_ns();
    if (memory == NULL) {
        fail(&player);
    } else {
        play(&player, times);
    }
    bool is_measured =
        times[CO_SHM_WAYS - 1][CO_SHM_MEASURED_SIZES - 1].straight_ns != 0; // the largest, which is first
    for (int way = 0; is_first && way < CO_SHM_WAYS; way++) {
        node->header->straight_from[way] = is_measured ? co_shm_straight_from(times[way]) : 0;
    }
    if (is_first) {
        tell(times, co_clock_now_ns() - start_ns);
    }
    free(memory);
}

// A full /dev/shm is an error here and no signal later.
static int touch(const struct co_shm_node *node)
{
    bool takes_part = node->config.rank < 2;
    return takes_part ? co_shm_segment_touch((char *)stage_of(node, node->config.rank), CO_SHM_PAGE + LARGEST) : 0;
}

bool co_shm_measure(struct co_shm_node *node, size_t from[CO_SHM_WAYS], int *error)
{
    const struct co_shm_config *config = &node->config;
    *error = 0;
    if (config->size < 2 || node->plan.loans < LOANS) {
        return false;
    }
    if (config->all_agree(config->arg, touch(node)) != 0) {
        return false;
    }
    if (config->rank < 2) {
        take_part(node);
    }
    *error = config->barrier(config->arg);
    if (*error == 0 && config->rank == 0) { // the memory is lent from now on; what stays of it are the two first pages
        for (int rank = 0; rank < 2; rank++) {
            madvise((char *)stage_of(node, rank) + CO_SHM_PAGE, LARGEST, MADV_REMOVE);
        }
    }
    *error = *error != 0 ? *error : config->barrier(config->arg);
    for (int way = 0; way < CO_SHM_WAYS; way++) {
        from[way] = (size_t)node->header->straight_from[way];
    }
    return *error == 0 && from[0] != 0;
}
