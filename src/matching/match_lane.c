// SPDX-License-Identifier: BSD-3-Clause
//
// One lane of a batch. What the published text leaves open, and what breaks otherwise: the slow path waits for all
// earlier lanes, not for the one before; a conflict makes all later lanes look again, also those without one of their
// own; the fast path counts receives that still wait, and needs all lanes on the run.
// Each is a mutant that the tests must kill (CO_MATCH_MUTANT, tests/unit/matching/match_mutants.sh).
// Freestanding, hot.
#include "matching/match_lane.h"

#include <limits.h>

#include "matching/match_steps.h"
#include "matching/matcher_state.h"

// Lanes that come before.
static co_match_booking lanes_earlier(unsigned lane)
{
    return ((co_match_booking)1 << lane) - 1;
}

static void lane_wait_for(struct co_match_batch *batch, unsigned lane, unsigned other, enum co_match_stage stage)
{
    // acquire M1: sees what that lane wrote before it reached the stage (release M1 in reach).
    while (co_load_acquire(&batch->lanes[other].stage) < (uint32_t)stage) {
        batch->pause(batch->pause_arg, lane);
    }
}

static void lane_wait_for_all_earlier(struct co_match_batch *batch, unsigned lane, enum co_match_stage stage)
{
    for (unsigned other = 0; other < lane; other++) {
        lane_wait_for(batch, lane, other, stage);
    }
}

static void lane_reach(struct co_match_batch *batch, unsigned lane, enum co_match_stage stage)
{
    CO_MATCH_STEP(batch, lane);
    co_store_release(&batch->lanes[lane].stage, (uint32_t)stage); // release M1
}

// The first from `link` on that nobody has taken and that no lane of `booked_by` has booked, or 0.
static uint32_t chain_first_free(struct co_match_batch *batch, unsigned lane, uint32_t link, co_match_booking booked_by)
{
    const struct co_posted *posted = &batch->matcher->posted;
    const struct co_match_node *message = batch->messages[lane];
    while (link != 0) {
        struct co_posted_receive *receive = co_posted_at(posted, link);
        CO_MATCH_STEP(batch, lane);
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

// Where to begin in a class's bin: what is taken stays so until the batch ends, so a place that a search for the same
// source and tag has come to is good for all later ones.
static uint32_t chain_begin(const struct co_match_batch *batch, unsigned lane, int class)
{
    if (batch->lanes[lane].knows_from) {
        return batch->lanes[lane].from[class];
    }
    uint32_t hash = class == CO_MATCH_ANY_BOTH ? 0 : batch->hashes[lane].of[class];
    return co_posted_bin(&batch->matcher->posted, (enum co_match_class) class, hash)->first;
}

static uint32_t lane_search(struct co_match_batch *batch, unsigned lane, co_match_booking booked_by)
{
    const struct co_posted *posted = &batch->matcher->posted;
    uint32_t found = 0, came_to[CO_MATCH_CLASSES] = {0};
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        if (posted->count[class] == 0) {
            continue;
        }
        uint32_t link = came_to[class] = chain_first_free(batch, lane, chain_begin(batch, lane, class), booked_by);
        if (link != 0 && (found == 0 || co_posted_at(posted, link)->label < co_posted_at(posted, found)->label)) {
            found = link;
        }
    }
    if (booked_by == 0) { // what others have booked may be free again
        struct co_match_lane *own = &batch->lanes[lane];
        for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
            own->from[class] = came_to[class];
        }
        own->knows_from = true;
    }
    return found;
}

// From the last earlier lane with an equal message, which is done.
static void lane_learn_from_earlier(struct co_match_batch *batch, unsigned lane)
{
    const struct co_match_node *message = batch->messages[lane];
    struct co_match_lane *own = &batch->lanes[lane];
    for (unsigned other = lane; other-- > 0;) {
        const struct co_match_node *theirs = batch->messages[other];
        if (theirs->source == message->source && theirs->tag == message->tag && batch->lanes[other].knows_from) {
            for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
                own->from[class] = batch->lanes[other].from[class];
            }
            own->knows_from = true;
            return;
        }
    }
}

static void lane_take(struct co_match_batch *batch, unsigned lane, uint32_t link, enum co_match_path path)
{
    CO_MATCH_STEP(batch, lane);
    // Relaxed: later lanes read it after they have waited for this one's stage.
    if (link != 0 &&
        atomic_exchange_explicit(&co_posted_at(&batch->matcher->posted, link)->taken, 1, memory_order_relaxed) != 0) {
        co_add_relaxed(&batch->faults, 1);
    }
    batch->lanes[lane].taken = link;
    batch->lanes[lane].path = path;
    lane_reach(batch, lane, CO_LANE_IS_DONE);
}

// All lanes want the same receive: each may have the one as many places further as there are earlier lanes, if the run
// of equal receives is that long. Receives leave their bins between batches only, so these are the next in the bin.
static uint32_t sequence_find(const struct co_match_batch *batch, uint32_t link, unsigned lane)
{
    const struct co_posted *posted = &batch->matcher->posted;
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

static bool receive_is_wanted_by_all(const struct co_match_batch *batch, uint32_t link)
{
#if CO_MATCH_MUTANT == 4 // a run is a run, whoever wants it
    return true;
#endif
    co_match_booking all = batch->count == CHAR_BIT * sizeof all ? (co_match_booking)-1 : lanes_earlier(batch->count);
    return co_load_relaxed(&co_posted_at(&batch->matcher->posted, link)->booked) == all;
}

static bool lane_has_conflict(struct co_match_batch *batch, unsigned lane, uint32_t candidate)
{
    bool is_wanted = candidate != 0 && (co_load_relaxed(&co_posted_at(&batch->matcher->posted, candidate)->booked) &
                                        lanes_earlier(lane)) != 0;
#if CO_MATCH_MUTANT != 2
    for (unsigned other = 0; other < lane; other++) {
        lane_wait_for(batch, lane, other, CO_LANE_HAS_JUDGED);
        is_wanted = is_wanted || batch->lanes[other].has_conflict;
    }
#endif
    return is_wanted;
}

static void lane_resolve(struct co_match_batch *batch, unsigned lane, uint32_t candidate)
{
    uint32_t link =
        candidate != 0 && receive_is_wanted_by_all(batch, candidate) ? sequence_find(batch, candidate, lane) : 0;
    if (link != 0) {
        lane_take(batch, lane, link, CO_PATH_FAST);
        return;
    }
#if CO_MATCH_MUTANT == 1
    if (lane > 0) {
        lane_wait_for(batch, lane, lane - 1, CO_LANE_IS_DONE);
    }
#else
    lane_wait_for_all_earlier(batch, lane, CO_LANE_IS_DONE);
#endif
    lane_learn_from_earlier(batch, lane);
    lane_take(batch, lane, lane_search(batch, lane, 0), CO_PATH_SLOW);
}

void co_match_lane_book(struct co_match_batch *batch, unsigned lane)
{
    uint32_t candidate = lane_search(batch, lane, batch->early_check ? lanes_earlier(lane) : 0);
    if (candidate != 0) {
        CO_MATCH_STEP(batch, lane);
        // Relaxed: published by the stage.
        atomic_fetch_or_explicit(&co_posted_at(&batch->matcher->posted, candidate)->booked, (co_match_booking)1 << lane,
                                 memory_order_relaxed);
    }
    batch->lanes[lane].candidate = candidate;
    lane_reach(batch, lane, CO_LANE_HAS_BOOKED);
}

void co_match_lane_settle(struct co_match_batch *batch, unsigned lane)
{
    uint32_t candidate = batch->lanes[lane].candidate;
    lane_wait_for_all_earlier(batch, lane, CO_LANE_HAS_BOOKED);
    batch->lanes[lane].has_conflict = lane_has_conflict(batch, lane, candidate);
    lane_reach(batch, lane, CO_LANE_HAS_JUDGED);
    if (batch->lanes[lane].has_conflict) {
        lane_resolve(batch, lane, candidate);
    } else {
        lane_take(batch, lane, candidate, CO_PATH_FREE);
    }
}

void co_match_lane_run(struct co_match_batch *batch, unsigned lane)
{
    co_match_lane_book(batch, lane);
    co_match_lane_settle(batch, lane);
}
