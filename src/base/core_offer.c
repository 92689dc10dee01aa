// SPDX-License-Identifier: BSD-3-Clause
//
// Counts what the kernel says: how often this thread has lost its core to another one, which is how it counts a yield
// that was taken.
#include "base/core_offer.h"

#include <sched.h>
#include <time.h>

#include "base/atomics.h"
#include "base/clock.h"

#define OFFERS_FOR_TRY 64

static bool try_to_yield(void)
{
    uint64_t before = co_clock_preemptions();
    sched_yield();
    return co_clock_preemptions() != before;
}

void co_core_offer(struct co_core_offer *offer)
{
    // relaxed, all of them: hints
    if (co_add_relaxed(&offer->offers, 1) % OFFERS_FOR_TRY == 0) {
        co_store_relaxed(&offer->is_taken, try_to_yield());
    } else if (co_load_relaxed(&offer->is_taken)) {
        sched_yield();
    } else {
        nanosleep(&(struct timespec){.tv_nsec = 1}, NULL); // some 50 us: the kernel's slack
    }
}
