// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks by threads: a turn posts receives for some blocks, outside the time, and has them matched one after the
// other, as a stream of messages would be. Threads wait for the next block by looking at its number. Turns of several
// threads are short, so that where others use the cores, too, most turns are undisturbed. The caller has the last lane:
// it begins while the others have not heard of the block yet, and an earlier lane in its place would be done with it.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "match_speed.h"

enum { TURNS_MAX = 20000, BLOCKS_MAX = 64, THREADS_MAX = CO_MATCH_LANES_MAX };

struct team {
    struct speed_rig rig;
    struct co_match_batch blocks[BLOCKS_MAX];
    unsigned lanes, threads, block_count;         // of a turn
    unsigned long by_path, behind_first;          // lanes
    alignas(CO_LINE_PAIR) _Atomic unsigned begun; // blocks, since the beginning
    _Atomic unsigned current;                     // which of `blocks` that is
    struct {
        alignas(CO_LINE_PAIR) _Atomic unsigned done; // blocks of which this thread has run its lanes
    } members[THREADS_MAX];
    _Atomic bool ends;
};

struct member {
    struct team *team;
    unsigned index;
    pthread_t thread;
};

// Whom we wait for may not be running: cores are shared.
static void spin(unsigned *spins)
{
    co_cpu_relax();
    if (++*spins % 4096 == 0) {
        sched_yield();
    }
}

static void pause_lane(void *arg, unsigned lane)
{
    static _Thread_local unsigned spins;
    (void)arg;
    (void)lane;
    spin(&spins);
}

static void run_share(struct team *team, struct co_match_batch *block, unsigned member)
{
    for (unsigned lane = member; lane < team->lanes; lane += team->threads) {
        co_match_lane_run(block, lane);
    }
}

static void *member_main(void *arg)
{
    struct member *self = arg;
    struct team *team = self->team;
    for (unsigned next = 1, spins = 0;; next++) {
        while (co_load_acquire(&team->begun) < next) { // acquire S1: sees the block
            if (co_load_relaxed(&team->ends)) {
                return NULL;
            }
            spin(&spins);
        }
        run_share(team, &team->blocks[co_load_relaxed(&team->current)], self->index);
        co_store_release(&team->members[self->index].done, next); // release S2
    }
}

static void run_block(struct team *team, unsigned i)
{
    struct co_match_batch *block = &team->blocks[i];
    if (!co_match_batch_begin(block)) {
        fputs("match_speed: the table is full\n", stderr);
        exit(1);
    }
    unsigned number = co_load_relaxed(&team->begun) + 1, spins = 0;
    co_store_relaxed(&team->current, i);
    co_store_release(&team->begun, number); // release S1
    run_share(team, block, team->threads - 1);
    for (unsigned member = 0; member + 1 < team->threads; member++) {
        while (co_load_acquire(&team->members[member].done) < number) { // acquire S2: sees what its lanes took
            spin(&spins);
        }
    }
    co_match_batch_end(block);
}

static double turn(struct team *team, enum co_match_path path)
{
    unsigned lanes = team->lanes;
    speed_rig_post(&team->rig, path, team->block_count * lanes);
    for (unsigned i = 0; i < team->block_count; i++) {
        speed_rig_block(&team->rig, &team->blocks[i], path, i * lanes, lanes);
        team->blocks[i].pause = pause_lane;
    }
    uint64_t start = co_clock_now_ns();
    for (unsigned i = 0; i < team->block_count; i++) {
        run_block(team, i);
    }
    double took = (double)(co_clock_now_ns() - start);
    for (unsigned i = 0; i < team->block_count; i++) {
        team->by_path += speed_rig_check(&team->rig, &team->blocks[i], path, i * lanes);
        team->behind_first += lanes - 1;
    }
    return took / (team->block_count * lanes);
}

static double run_turns(struct team *team, enum co_match_path path, double seconds)
{
    static double times[TURNS_MAX];
    uint64_t start = co_clock_now_ns();
    int turns = 0;
    turn(team, path); // warms up
    while (turns < TURNS_MAX && (turns < 5 || (double)(co_clock_now_ns() - start) < seconds * 1e9)) {
        times[turns++] = turn(team, path);
    }
    return speed_median(times, turns);
}

double speed_threads(enum co_match_path path, unsigned lanes, unsigned threads, double seconds, double *share)
{
    struct team *team = aligned_alloc(CO_LINE_PAIR, sizeof *team);
    struct member members[THREADS_MAX];
    if (team == NULL) {
        fputs("match_speed: out of memory\n", stderr);
        exit(1);
    }
    *team = (struct team){.lanes = lanes, .threads = threads};
    team->block_count = threads > 1 ? 8 : lanes < SPEED_RECEIVES / BLOCKS_MAX ? BLOCKS_MAX : SPEED_RECEIVES / lanes;
    speed_rig_open(&team->rig);
    for (unsigned i = 0; i + 1 < threads; i++) {
        members[i] = (struct member){.team = team, .index = i};
        if (pthread_create(&members[i].thread, NULL, member_main, &members[i]) != 0) {
            fputs("match_speed: no more threads\n", stderr);
            exit(1);
        }
    }
    double ns = run_turns(team, path, seconds);
    co_store_relaxed(&team->ends, true);
    for (unsigned i = 0; i + 1 < threads; i++) {
        pthread_join(members[i].thread, NULL);
    }
    *share = team->behind_first == 0 ? 0 : (double)team->by_path / (double)team->behind_first;
    speed_rig_close(&team->rig);
    free(team);
    return ns;
}
