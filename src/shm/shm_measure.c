// SPDX-License-Identifier: BSD-3-Clause
//
// The measurement of shm_measure.h. The first two ranks of the node do what collectives and messages do, in the node's
// staging, which nobody has yet; the first one holds the clock and says what is copied next. Who waits too long gives
// up, and so does the other. A copy during which one of them lost its processor does not count: on a busy machine that
// happens to those more that wait for each other longer. What the others tell is shm_judge.c's.
#define _GNU_SOURCE // for RUSAGE_THREAD
#include "shm/shm_measure.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/shm_node.h"

#define BUDGET_NS (UINT64_C(3) * CO_NS_PER_MS)   // then no further pair of copies is begun
#define PATIENCE_NS (UINT64_C(5) * CO_NS_PER_MS) // then nobody is waited for, if nobody says how long else
#define OVER UINT64_MAX
#define GIVEN_UP UINT64_MAX
#define SPIN_NS                                                                                                        \
    (UINT64_C(500) * CO_NS_PER_US) // before the processor is offered to others: who takes it keeps it longer
#define TURNS 64                   // between two looks at the clock
#define LOANS 4                    // of the node's staging: two for each player
#define LARGEST (CO_SHM_MEASURED_LEAST << (2 * (CO_SHM_MEASURED_SIZES - 1)))
#define STREAM_PIECE ((size_t)16 << 10) // as in the streams of collectives, and in rings of messages of few ranks
#define STREAM_SLOTS 16
#define BCAST_RUN 8 // broadcasts that follow each other: by ring the root need not wait for the end of one

// At the start of a player's part of the staging; behind it, a page further, the slots.
struct stage {
    alignas(CO_LINE_PAIR) _Atomic uint64_t step;   // of the protocol; GIVEN_UP
    alignas(CO_LINE_PAIR) _Atomic uint64_t pieces; // written, in all
    alignas(CO_LINE_PAIR) _Atomic uint64_t taken;  // of the other's
    alignas(CO_LINE_PAIR) uint64_t source, target; // addresses in this process
    uint64_t next;                                 // the first player's: the pair to be copied, OVER
    _Atomic bool is_refused;                       // the kernel does not copy
    bool is_disturbed;                             // lost its processor during the last copy
};

struct player {
    struct co_shm_node *node;
    struct stage *mine, *other;
    char *source, *target;
    uint64_t step, written, read, rounds; // so far
    uint64_t end_ns;                      // of patience
    bool is_first, has_failed;
};

static struct stage *stage_of(const struct co_shm_node *node, int rank)
{
    size_t offset = node->plan.staging_offset + (size_t)rank * (LOANS / 2) * CO_SHM_LOAN_BYTES;
    return (struct stage *)((char *)node->segment.base + offset);
}

static char *slot(struct stage *stage, uint64_t piece)
{
    return (char *)stage + CO_SHM_PAGE + (size_t)(piece % STREAM_SLOTS) * STREAM_PIECE;
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
    uint64_t spun_ns = 0;
    for (unsigned turns = 1; co_load_acquire(word) < least; turns++) { // acquire M1
        if (turns % TURNS != 0) {
            co_cpu_relax();
            continue;
        }
        uint64_t now_ns = co_clock_now_ns();
        if (co_load_acquire(&player->other->step) == GIVEN_UP || now_ns > player->end_ns) {
            return fail(player);
        }
        spun_ns = spun_ns == 0 ? now_ns + SPIN_NS : spun_ns;
        if (now_ns > spun_ns) {
            sched_yield();
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

static bool write_piece(struct player *player, size_t at)
{
    uint64_t number = player->written;
    if (number >= STREAM_SLOTS && !await(player, &player->other->taken, number - STREAM_SLOTS + 1)) {
        return false;
    }
    memcpy(slot(player->mine, number), player->source + at, STREAM_PIECE);
    co_store_release(&player->mine->pieces, ++player->written); // release M1
    return true;
}

static bool read_piece(struct player *player, size_t at)
{
    uint64_t number = player->read;
    if (!await(player, &player->other->pieces, number + 1)) {
        return false;
    }
    memcpy(player->target + at, slot(player->other, number), STREAM_PIECE);
    co_store_release(&player->mine->taken, ++player->read); // release M1
    return true;
}

static bool by_ring(struct player *player, enum co_shm_pattern pattern, size_t bytes)
{
    bool are_both = pattern == CO_SHM_PATTERN_ALLGATHER;
    for (size_t at = 0; at < bytes; at += STREAM_PIECE) {
        if ((player->is_first || are_both) && !write_piece(player, at)) {
            return false;
        }
        if ((!player->is_first || are_both) && !read_piece(player, at)) {
            return false;
        }
    }
    return true;
}

static bool straight(struct player *player, enum co_shm_pattern pattern, size_t bytes)
{
    int peer = player->is_first ? 1 : 0, error = 0;
    size_t half = pattern == CO_SHM_PATTERN_BCAST && bytes > CO_SHM_PIECE_LEAST ? bytes / 2 : bytes;
    if (!player->is_first || pattern == CO_SHM_PATTERN_ALLGATHER) {
        error = co_shm_node_read(player->node, peer, player->target, player->other->source, half);
    } else if (pattern == CO_SHM_PATTERN_BCAST && half < bytes) {
        error =
            co_shm_node_write(player->node, peer, player->source + half, player->other->target + half, bytes - half);
    }
    if (error != 0) {
        co_store_relaxed(&player->mine->is_refused, true); // relaxed: a barrier follows
        return fail(player);
    }
    return true;
}

typedef bool copy_function(struct player *, enum co_shm_pattern, size_t);

// How many are done before the two meet. Straight they cannot overlap: each waits for the word where its block is, and
// for the word that it has been read. Of the largest, by ring, the pieces of one follow each other.
static unsigned run_of(copy_function *copy, enum co_shm_pattern pattern, size_t bytes)
{
    return pattern == CO_SHM_PATTERN_BCAST && copy == by_ring && bytes < LARGEST ? BCAST_RUN : 1;
}

static bool copy_run(struct player *player, copy_function *copy, enum co_shm_pattern pattern, size_t bytes)
{
    bool is_announced = pattern != CO_SHM_PATTERN_BCAST || copy == by_ring || meet(player);
    for (unsigned left = run_of(copy, pattern, bytes); is_announced && left > 0; left--) {
        if (!copy(player, pattern, bytes)) {
            return false;
        }
    }
    return is_announced && meet(player);
}

// How often this thread has lost its processor. A yield that nobody took is not counted.
static long switches(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

// Each copy counts its pieces from none.
static bool take_sample(struct player *player, int pair, int copy, int source, struct co_shm_samples *samples)
{
    enum co_shm_pattern pattern = (enum co_shm_pattern)(pair / CO_SHM_MEASURED_SIZES);
    size_t bytes = co_shm_measured_size((unsigned)pair % CO_SHM_MEASURED_SIZES);
    copy_function *function = copy == CO_COPY_BY_RING ? by_ring : straight;
    if (source == CO_SHM_REWRITTEN) {
        memset(player->source, (int)player->rounds, bytes);
    }
    player->written = player->read = 0;
    co_store_relaxed(&player->mine->pieces, 0);
    co_store_relaxed(&player->mine->taken, 0);
    long before = switches();
    if (!meet(player)) {
        return false;
    }
    uint64_t start_ns = co_clock_now_ns();
    if (!copy_run(player, function, pattern, bytes)) {
        return false;
    }
    uint64_t took_ns = (co_clock_now_ns() - start_ns) / run_of(function, pattern, bytes);
    player->mine->is_disturbed = switches() != before;
    if (!meet(player)) {
        return false;
    }
    co_shm_samples_add(samples, took_ns, player->mine->is_disturbed || player->other->is_disturbed);
    return true;
}

// By ring and straight from memory just written, and then, the reader having it in its cache, from the same again.
static bool take_round(struct player *player, uint64_t next, struct co_shm_evidence *evidence)
{
    struct co_shm_pair *pair = &evidence->pairs[next / CO_SHM_MEASURED_SIZES][next % CO_SHM_MEASURED_SIZES];
    pair->rounds++;
    player->rounds++;
    for (int source = 0; source < CO_SHM_SOURCES; source++) {
        for (int copy = 0; copy < CO_COPY_PATHS; copy++) {
            if (!take_sample(player, (int)next, copy, source, &pair->samples[copy][source])) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t choose(const struct player *player, const struct co_shm_evidence *evidence, uint64_t start_ns)
{
    int next = co_shm_evidence_next(evidence);
    bool is_late = player->rounds > 0 && co_clock_now_ns() - start_ns > BUDGET_NS;
    return next < 0 || is_late ? OVER : (uint64_t)next;
}

static void play(struct player *player, struct co_shm_evidence *evidence)
{
    uint64_t start_ns = co_clock_now_ns(), asked_ns = player->node->config.measure_patience_ns, next;
    player->end_ns = start_ns + (asked_ns != 0 ? asked_ns : PATIENCE_NS);
    do {
        if (player->is_first) {
            player->mine->next = choose(player, evidence, start_ns);
        }
        if (!meet(player)) {
            return;
        }
        next = player->is_first ? player->mine->next : player->other->next;
    } while (next < CO_SHM_PAIRS && take_round(player, next, evidence));
}

static void tell(const struct co_shm_evidence *evidence, unsigned certain, uint64_t took_ns)
{
    static const char *const patterns[CO_SHM_PATTERNS] = {"message", "bcast", "allgather"};
    co_log(CO_LOG_DEBUG, CO_SUBSYS_SHM, "single copy was measured in %.1f ms, %u of %d pairs of copies are certain",
           (double)took_ns / 1e6, certain, CO_SHM_PAIRS);
    for (int pair = 0; pair < CO_SHM_PAIRS; pair++) {
        int pattern = pair / CO_SHM_MEASURED_SIZES, size = pair % CO_SHM_MEASURED_SIZES;
        const struct co_shm_pair *told = &evidence->pairs[pattern][size];
        const struct co_shm_samples *ring = told->samples[CO_COPY_BY_RING];
        const struct co_shm_samples *direct = told->samples[CO_COPY_STRAIGHT];
        co_log(CO_LOG_DEBUG, CO_SUBSYS_SHM,
               "%s of %zu KiB, %u rounds: by ring %.1f us from memory just written (next %.1f), %.1f (%.1f) from the "
               "same again; straight %.1f (%.1f), %.1f (%.1f)",
               patterns[pattern], co_shm_measured_size((unsigned)size) >> 10, told->rounds,
               (double)ring[0].least_ns / 1e3, (double)ring[0].second_ns / 1e3, (double)ring[1].least_ns / 1e3,
               (double)ring[1].second_ns / 1e3, (double)direct[0].least_ns / 1e3, (double)direct[0].second_ns / 1e3,
               (double)direct[1].least_ns / 1e3, (double)direct[1].second_ns / 1e3);
    }
}

// The largest, whoever has a processor: a kernel that refuses is found however busy the machine is.
static bool may_copy(const struct player *player)
{
    int peer = player->is_first ? 1 : 0;
    return co_shm_node_read(player->node, peer, player->target, player->other->source, LARGEST) == 0;
}

// One of the two players. What was found, by the first, is left in the header.
static void take_part(struct co_shm_node *node, char *memory)
{
    bool is_first = node->config.rank == 0;
    struct co_shm_evidence evidence = {0};
    struct player player = {.node = node,
                            .mine = stage_of(node, is_first ? 0 : 1),
                            .other = stage_of(node, is_first ? 1 : 0),
                            .source = memory,
                            .target = memory + LARGEST,
                            .is_first = is_first};
    uint64_t start_ns = co_clock_now_ns();
    if (may_copy(&player)) {
        play(&player, &evidence);
    } else {
        co_store_relaxed(&player.mine->is_refused, true); // relaxed: a barrier follows
        fail(&player);
    }
    if (is_first) {
        co_shm_evidence_judge(&evidence, &node->header->measured);
        tell(&evidence, node->header->measured.certain, co_clock_now_ns() - start_ns);
    }
}

bool co_shm_measure_is_possible(const struct co_shm_node *node)
{
    return node->config.size >= 2 && node->plan.loans >= LOANS;
}

int co_shm_measure_prepare(const struct co_shm_node *node, char **memory)
{
    *memory = NULL;
    if (node->config.rank >= 2) {
        return 0;
    }
    // A full /dev/shm is an error here and no signal later.
    struct stage *stage = stage_of(node, node->config.rank);
    int error = co_shm_segment_touch((char *)stage, CO_SHM_PAGE + LARGEST);
    *memory = error == 0 ? aligned_alloc(CO_SHM_PAGE, 2 * LARGEST) : NULL;
    if (*memory != NULL) {
        memset(*memory, 1, 2 * LARGEST);
        stage->source = (uint64_t)(uintptr_t)*memory;
        stage->target = stage->source + LARGEST;
    }
    return error != 0 ? error : *memory == NULL ? -ENOMEM : 0;
}

// The memory is lent from now on; what stays of it is the first page. The other one may read there yet, if one of us
// has given up: what it finds counts no more.
void co_shm_measure_cancel(struct co_shm_node *node, const char *memory)
{
    if (memory != NULL) {
        co_shm_segment_erase((char *)stage_of(node, node->config.rank) + CO_SHM_PAGE, LARGEST);
    }
}

int co_shm_measure_run(struct co_shm_node *node, char *memory)
{
    if (memory == NULL) {
        return 0;
    }
    take_part(node, memory);
    bool is_refused = co_load_relaxed(&stage_of(node, node->config.rank)->is_refused); // relaxed: our own
    co_shm_measure_cancel(node, memory);
    return is_refused ? -EPERM : 0;
}
