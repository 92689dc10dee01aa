// SPDX-License-Identifier: BSD-3-Clause
//
// One lane of a block. What the published text leaves open, and what breaks otherwise: the slow path waits for all
// earlier lanes, not for the one before; a conflict makes all later lanes look again, also those without one of their
// own; the fast path counts receives that still wait, and needs all lanes on the run.
// Each is a mutant that the tests must kill (CO_MATCH_MUTANT, tests/unit/matching/match_mutants.sh).
// Freestanding, hot.
#include "matching/match_lane.h"

#include <limits.h>

#include "matching/match_steps.h"
#include "matching/matcher_state.h"

// Lanes that come before.
static co_match_booking earlier(unsigned lane)
{
    return ((co_match_booking)1 << lane) - 1;
}

static void wait_for(struct co_match_block *block, unsigned lane, unsigned other, enum co_match_stage stage)
{
    // acquire M1: sees what that lane wrote before it reached the stage (release M1 in reach).
    while (co_load_acquire(&block->lanes[other].stage) < (uint32_t)stage) {
        block->pause(block->pause_arg, lane);
    }
}

static void wait_for_all_earlier(struct co_match_block *block, unsigned lane, enum co_match_stage stage)
{
    for (unsigned other = 0; other < lane; other++) {
        wait_for(block, lane, other, stage);
    }
}

static void reach(struct co_match_block *block, unsigned lane, enum co_match_stage stage)
{
    CO_MATCH_STEP(block, lane);
    co_store_release(&block->lanes[lane].stage, (uint32_t)stage); // release M1
}

// The first from `link` on that nobody has taken and that no lane of `booked_by` has booked, or 0.
static uint32_t first_free(struct co_match_block *block, unsigned lane, uint32_t link, co_match_booking booked_by)
{
    const struct co_posted *posted = &block->matcher->posted;
    const struct co_match_node *message = block->messages[lane];
    while (link != 0) {
        struct co_posted_receive *receive = co_posted_at(posted, link);
        CO_MATCH_STEP(block, lane);
        CO_MATCH_COUNT(walked);
        // Relaxed: a booking or taking that is seen late shows as a conflict; what is decided on is read after a wait.
        if (co_match_fits(receive->source, receive->tag, message->source, message->tag) &&
            co_load_relaxed(&receive->taken) == 0 && (co_load_relaxed(&receive->booked) & booked_by) == 0) {
            return link;
        }
        link = receive->next;
    }
    return 0;
}

// Where to begin in a class's bin: what is taken stays so until the block ends, so a place that a search for the same
// source and tag has come to is good for all later ones.
static uint32_t begin_of(const struct co_match_block *block, unsigned lane, int class)
{
    if (block->lanes[lane].knows_from) {
        return block->lanes[lane].from[class];
    }
    uint32_t hash = class == CO_MATCH_ANY_BOTH ? 0 : block->hashes[lane].of[class];
    return co_posted_bin(&block->matcher->posted, (enum co_match_class) class, hash)->first;
}

static uint32_t search(struct co_match_block *block, unsigned lane, co_match_booking booked_by)
{
    const struct co_posted *posted = &block->matcher->posted;
    uint32_t found = 0, came_to[CO_MATCH_CLASSES] = {0};
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        if (posted->count[class] == 0) {
            continue;
        }
        uint32_t link = came_to[class] = first_free(block, lane, begin_of(block, lane, class), booked_by);
        if (link != 0 && (found == 0 || co_posted_at(posted, link)->label < co_posted_at(posted, found)->label)) {
            found = link;
        }
    }
    if (booked_by == 0) { // what others have booked may be free again
        struct co_match_lane *own = &block->lanes[lane];
        for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
            own->from[class] = came_to[class];
        }
        own->knows_from = true;
    }
    return found;
}

// From the last earlier lane with an equal message, which is done.
static void learn_from_earlier(struct co_match_block *block, unsigned lane)
{
    const struct co_match_node *message = block->messages[lane];
    struct co_match_lane *own = &block->lanes[lane];
    for (unsigned other = lane; other-- > 0;) {
        const struct co_match_node *theirs = block->messages[other];
        if (theirs->source == message->source && theirs->tag == message->tag && block->lanes[other].knows_from) {
            for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
                own->from[class] = block->lanes[other].from[class];
            }
            own->knows_from = true;
            return;
        }
    }
}

static void take(struct co_match_block *block, unsigned lane, uint32_t link, enum co_match_path path)
{
    CO_MATCH_STEP(block, lane);
    // Relaxed: later lanes read it after they have waited for this one's stage.
    if (link != 0 &&
        atomic_exchange_explicit(&co_posted_at(&block->matcher->posted, link)->taken, 1, memory_order_relaxed) != 0) {
        co_add_relaxed(&block->faults, 1);
    }
    block->lanes[lane].taken = link;
    block->lanes[lane].path = path;
    reach(block, lane, CO_LANE_IS_DONE);
}

// All lanes want the same receive: each may have the one as many places further as there are earlier lanes, if the run
// of equal receives is that long. Receives leave their bins between blocks only, so these are the next in the bin.
static uint32_t in_run(const struct co_match_block *block, uint32_t link, unsigned lane)
{
    const struct co_posted *posted = &block->matcher->posted;
    uint64_t sequence = co_posted_at(posted, link)->sequence;
#if CO_MATCH_MUTANT == 3 // places in the table in order of posting, holes and all
    link += lane;
    bool is_free = link <= posted->fresh && co_load_relaxed(&co_posted_at(posted, link)->taken) == 0;
    return is_free && co_posted_at(posted, link)->sequence == sequence ? link : 0;
#endif
    for (unsigned i = 0; i < lane && link != 0; i++) {
        CO_MATCH_COUNT(walked);
        link = co_posted_at(posted, link)->next;
    }
    return link != 0 && co_posted_at(posted, link)->sequence == sequence ? link : 0;
}

static bool is_wanted_by_all(const struct co_match_block *block, uint32_t link)
{
#if CO_MATCH_MUTANT == 4 // a run is a run, whoever wants it
    return true;
#endif
    co_match_booking all = block->count == CHAR_BIT * sizeof all ? (co_match_booking)-1 : earlier(block->count);
    return co_load_relaxed(&co_posted_at(&block->matcher->posted, link)->booked) == all;
}

static bool has_conflict(struct co_match_block *block, unsigned lane, uint32_t candidate)
{
    bool is_wanted = candidate != 0 &&
                     (co_load_relaxed(&co_posted_at(&block->matcher->posted, candidate)->booked) & earlier(lane)) != 0;
#if CO_MATCH_MUTANT != 2
    for (unsigned other = 0; other < lane; other++) {
        wait_for(block, lane, other, CO_LANE_HAS_JUDGED);
        is_wanted = is_wanted || block->lanes[other].has_conflict;
    }
#endif
    return is_wanted;
}

static void resolve(struct co_match_block *block, unsigned lane, uint32_t candidate)
{
    uint32_t link = candidate != 0 && is_wanted_by_all(block, candidate) ? in_run(block, candidate, lane) : 0;
    if (link != 0) {
        take(block, lane, link, CO_PATH_FAST);
        return;
    }
#if CO_MATCH_MUTANT == 1
    if (lane > 0) {
        wait_for(block, lane, lane - 1, CO_LANE_IS_DONE);
    }
#else
    wait_for_all_earlier(block, lane, CO_LANE_IS_DONE);
#endif
    learn_from_earlier(block, lane);
    take(block, lane, search(block, lane, 0), CO_PATH_SLOW);
}

void co_match_lane_book(struct co_match_block *block, unsigned lane)
{
    uint32_t candidate = search(block, lane, block->early_check ? earlier(lane) : 0);
    if (candidate != 0) {
        CO_MATCH_STEP(block, lane);
        // Relaxed: published by the stage.
        atomic_fetch_or_explicit(&co_posted_at(&block->matcher->posted, candidate)->booked, (co_match_booking)1 << lane,
                                 memory_order_relaxed);
    }
    block->lanes[lane].candidate = candidate;
    reach(block, lane, CO_LANE_HAS_BOOKED);
}

void co_match_lane_settle(struct co_match_block *block, unsigned lane)
{
    uint32_t candidate = block->lanes[lane].candidate;
    wait_for_all_earlier(block, lane, CO_LANE_HAS_BOOKED);
    block->lanes[lane].has_conflict = has_conflict(block, lane, candidate);
    reach(block, lane, CO_LANE_HAS_JUDGED);
    if (block->lanes[lane].has_conflict) {
        resolve(block, lane, candidate);
    } else {
        take(block, lane, candidate, CO_PATH_FREE);
    }
}

void co_match_lane_run(struct co_match_block *block, unsigned lane)
{
    co_match_lane_book(block, lane);
    co_match_lane_settle(block, lane);
}
