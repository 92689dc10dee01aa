// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that take lanes of a batch, one after the other in ascending order, as whoever brought it does: so a lane
// waits only for lanes that somebody runs. A word says which batch it is, how many lanes it has and which comes next;
// a thread that wakes late finds none left. After a while without a batch the threads sleep. Hot.
#include "p2p/lanes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_thread.h"

#define LOOK_NS (50 * CO_NS_PER_US) // for the next batch, before a thread sleeps
#define SPINS 64                    // between looks at the clock, and of a lane before it yields

// The word: number of the batch, its lanes, the next one.
#define FIELD_BITS 16
#define FIELD_MASK ((UINT64_C(1) << FIELD_BITS) - 1)

struct co_lanes {
    unsigned count, threads_wanted, threads_begun;
    struct co_match_batch *batch;
    alignas(CO_LINE_PAIR) _Atomic uint64_t word;
    alignas(CO_LINE_PAIR) _Atomic unsigned done; // lanes of this batch
    _Atomic unsigned sleepers;
    _Atomic bool ends;
    pthread_mutex_t lock;
    pthread_cond_t has_batch;
    pthread_t threads[CO_MATCH_LANES_MAX];
};

static uint64_t word_number(uint64_t word)
{
    return word >> (2 * FIELD_BITS);
}

static bool word_has_lanes(uint64_t word)
{
    return (word & FIELD_MASK) < (word >> FIELD_BITS & FIELD_MASK);
}

static void lane_pause(void *arg, unsigned lane)
{
    static _Thread_local unsigned spins;
    (void)arg;
    (void)lane;
    co_cpu_relax();
    if (++spins % SPINS == 0) {
        sched_yield(); // whom it waits for may be without a processor
    }
}

// Lanes of the present batch until none is left. How many.
static unsigned lanes_run_some(struct co_lanes *lanes)
{
    unsigned ran = 0;
    uint64_t word = co_load_acquire(&lanes->word); // acquire L1
    while (word_has_lanes(word)) {
        // acquire L1: the batch; that lane is ours, and its batch stays until it is done
        if (atomic_compare_exchange_weak_explicit(&lanes->word, &word, word + 1, memory_order_acquire,
                                                  memory_order_acquire)) {
            co_match_lane_run(lanes->batch, (unsigned)(word & FIELD_MASK));
            co_add_acq_rel(&lanes->done, 1); // release L2: what the lane took
            ran++;
            word = co_load_acquire(&lanes->word);
        }
    }
    return ran;
}

// The next batch has begun, or it is over. Sequentially consistent, as in co_lanes_match: either he sees the sleeper or
// the sleeper sees his batch.
static void lane_sleep_until_batch(struct co_lanes *lanes, uint64_t seen)
{
    pthread_mutex_lock(&lanes->lock);
    atomic_fetch_add(&lanes->sleepers, 1);
    while (word_number(atomic_load(&lanes->word)) == seen && !atomic_load(&lanes->ends)) {
        pthread_cond_wait(&lanes->has_batch, &lanes->lock);
    }
    atomic_fetch_sub(&lanes->sleepers, 1);
    pthread_mutex_unlock(&lanes->lock);
}

static void *lane_work(void *arg)
{
    struct co_lanes *lanes = arg;
    uint64_t since_ns = co_clock_now_ns();
    for (unsigned spins = 1; !co_load_relaxed(&lanes->ends); spins++) { // relaxed: seen soon enough
        uint64_t seen = word_number(co_load_relaxed(&lanes->word));     // relaxed: compared only
        if (lanes_run_some(lanes) > 0) {
            since_ns = co_clock_now_ns();
        } else if (spins % SPINS == 0 && co_clock_now_ns() - since_ns > LOOK_NS) {
            lane_sleep_until_batch(lanes, seen);
            since_ns = co_clock_now_ns();
        }
        co_cpu_relax();
    }
    return NULL;
}

struct co_lanes *co_lanes_open(unsigned count)
{
    struct co_lanes *lanes = aligned_alloc(CO_LINE_PAIR, sizeof(*lanes));
    if (lanes != NULL) {
        *lanes = (struct co_lanes){.count = count, .threads_wanted = count - 1};
        pthread_mutex_init(&lanes->lock, NULL);
        pthread_cond_init(&lanes->has_batch, NULL);
    }
    return lanes;
}

void co_lanes_close(struct co_lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    pthread_mutex_lock(&lanes->lock);
    atomic_store(&lanes->ends, true);
    pthread_cond_broadcast(&lanes->has_batch);
    pthread_mutex_unlock(&lanes->lock);
    for (unsigned i = 0; i < lanes->threads_begun; i++) {
        pthread_join(lanes->threads[i], NULL);
    }
    pthread_cond_destroy(&lanes->has_batch);
    pthread_mutex_destroy(&lanes->lock);
    free(lanes);
}

unsigned co_lanes_count(const struct co_lanes *lanes)
{
    return lanes->count;
}

// Without them the caller runs all lanes.
static void lanes_start_threads(struct co_lanes *lanes)
{
    while (lanes->threads_begun < lanes->threads_wanted) {
        int error = co_own_thread_start(&lanes->threads[lanes->threads_begun], lane_work, lanes);
        if (error != 0) {
            co_log(CO_LOG_WARN, CO_SUBSYS_P2P, "%u threads for lanes of the matcher, not %u (error %d)",
                   lanes->threads_begun, lanes->threads_wanted, error);
            lanes->threads_wanted = lanes->threads_begun;
            break;
        }
        lanes->threads_begun++;
    }
}

static void lanes_wake(struct co_lanes *lanes)
{
    if (atomic_load(&lanes->sleepers) > 0) {
        pthread_mutex_lock(&lanes->lock);
        pthread_cond_broadcast(&lanes->has_batch);
        pthread_mutex_unlock(&lanes->lock);
    }
}

void co_lanes_match(struct co_lanes *lanes, struct co_match_batch *batch)
{
    batch->pause = lane_pause;
    if (!co_match_batch_begin(batch)) {
        return;
    }
    if (lanes->threads_begun < lanes->threads_wanted) {
        lanes_start_threads(lanes);
    }
    uint64_t number = word_number(co_load_relaxed(&lanes->word)) + 1; // relaxed: ours alone to write
    lanes->batch = batch;
    co_store_relaxed(&lanes->done, 0); // relaxed: published by the word
    // release L1: the batch; and sequentially consistent for lane_sleep_until_batch
    atomic_store(&lanes->word, number << (2 * FIELD_BITS) | (uint64_t)batch->count << FIELD_BITS);
    lanes_wake(lanes);
    lanes_run_some(lanes);
    while (co_load_acquire(&lanes->done) < batch->count) { // acquire L2
        lane_pause(NULL, 0);
    }
    co_match_batch_end(batch);
}
