// SPDX-License-Identifier: BSD-3-Clause
//
// A block as it would go with a core for every lane: lanes are coroutines, and in a round each of them makes one step.
// A step is a fetch of a receive's descriptor, a look at the stage of another lane or at a booking, or a change of a
// booking, a taking or a stage, each taken to cost the same; what a lane does with its own data costs nothing. A look
// at a stage that is not reached yet takes a round and is no work. Begin and end of the block are not counted: they
// are the caller's.
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

// The lanes once more, with steps; the other parts of this program run those of the library, which have none.
#define CO_MATCH_STEPS
#define co_match_lane_run counted_lane_run
#define co_match_lane_book counted_lane_book
#define co_match_lane_settle counted_lane_settle
#include "match_speed.h"

#include "matching/match_steps.h"
#include "matching/matcher_state.h"

static void step(void);
#undef co_load_acquire
#define co_load_acquire(object) (step(), atomic_load_explicit((object), memory_order_acquire))
#define co_posted_at(posted, link) (step(), (co_posted_at)((posted), (link)))
#include "matching/match_lane.c"

enum { LANES = CO_MATCH_LANES_MAX, STACK = 64 << 10 };

static ucontext_t scheduler, lane_context[LANES];
static char stacks[LANES][STACK];
static bool has_ended[LANES];
static struct co_match_batch block;
static unsigned current, work;

static void step(void)
{
    work++;
    swapcontext(&lane_context[current], &scheduler);
}

void co_match_step(struct co_match_batch *of, unsigned lane)
{
    (void)of;
    (void)lane;
    step();
}

static void pause_lane(void *arg, unsigned lane)
{
    (void)arg;
    (void)lane;
    work--; // the look before was in vain
}

static void lane_main(unsigned lane)
{
    counted_lane_run(&block, lane);
    has_ended[lane] = true;
    swapcontext(&lane_context[lane], &scheduler);
}

// Late lanes first, so that nobody sees in a round what an earlier lane does in that one.
static unsigned run_lanes(void)
{
    for (unsigned rounds = 0;; rounds++) {
        bool is_over = true;
        for (current = block.count; current-- > 0;) {
            if (!has_ended[current]) {
                is_over = false;
                swapcontext(&scheduler, &lane_context[current]);
            }
        }
        if (is_over) {
            return rounds - 1; // in the first they only came to their first step
        }
    }
}

static void open_lane(unsigned lane)
{
    has_ended[lane] = false;
    getcontext(&lane_context[lane]);
    lane_context[lane].uc_stack.ss_sp = stacks[lane];
    lane_context[lane].uc_stack.ss_size = STACK;
    lane_context[lane].uc_link = NULL;
    makecontext(&lane_context[lane], (void (*)(void))lane_main, 1, lane);
}

struct speed_steps speed_steps_count(enum co_match_path path, unsigned lanes)
{
    static struct speed_rig rig;
    struct speed_steps steps;
    speed_rig_open(&rig);
    speed_rig_post(&rig, path, 2 * lanes);
    speed_rig_block(&rig, &block, path, 0, lanes);
    block.pause = pause_lane;
    if (!co_match_batch_begin(&block)) {
        abort();
    }
    for (unsigned lane = 0; lane < lanes; lane++) {
        open_lane(lane);
    }
    work = 0;
    steps.rounds = run_lanes();
    steps.work = work;
    co_match_batch_end(&block);
    if (speed_rig_check(&rig, &block, path, 0) != lanes - 1) {
        fputs("match_speed: lanes went by another path than the one that was meant\n", stderr);
        exit(1);
    }
    speed_rig_close(&rig);
    return steps;
}
