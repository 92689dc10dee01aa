// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a broadcast goes over the group is decided by each member for itself, by the length that it was called with;
// where a program calls them with unequal lengths, which works without us, some may let go another way what others wait
// for here. So those collectives take a number of the group's, too: nobody mistakes what comes later for what he waits
// for, and who asks a root for an operation that it has skipped is told so. Numbers are taken when such a call is over,
// and become a gap when the next operation begins. The count of calls is warm, all else rare.
#include "mcast/state/skipped_numbers.h"

#include "base/atomics.h"
#include "mcast/wire/serial.h"

// Far fewer than there are numbers. All members skip the same ones, and stop at the same one.
#define SKIPPED_MOST (UINT32_C(1) << 30)

// A seed's word is twice their count, and one more if all that was called before the last one had begun by then.
static uint32_t count_in(uint32_t skips)
{
    return skips / 2;
}

void co_mcast_seed_skip(struct co_mcast_seed *seed, bool is_next)
{
    uint32_t skipped = count_in(co_load_relaxed(&seed->skips)); // relaxed: one thread writes it
    if (skipped < SKIPPED_MOST) {
        co_store_release(&seed->skips, 2 * (skipped + 1) + is_next); // release N1: after the calls before it
    }
}

uint32_t co_mcast_group_skipped(const struct co_mcast_group *group)
{
    return count_in(co_load_acquire(&group->seed->skips)); // acquire N1
}

void co_mcast_group_skips_follow(struct co_mcast_group *group, uint32_t skipped)
{
    group->skips_that_follow = skipped;
}

// As if operations with these numbers had begun and ended. More of them change nothing than there are to be known of.
static void pass_by(struct co_mcast_group *group, uint32_t count)
{
    struct co_skipped_range *range = &group->skips[group->skip_count++ % CO_SKIPS_KEPT];
    *range = (struct co_skipped_range){group->next_operation, count};
    for (uint32_t i = 0; i < count && i < CO_WAYS_LATER; i++) {
        co_agreed_ways_begin(&group->ways, group->next_operation + i, 0, false);
    }
    group->next_operation += count;
    for (uint32_t i = 1; i <= count && i <= CO_RECENT_OPERATIONS; i++) {
        group->recent_roots[(group->next_operation - i) % CO_RECENT_OPERATIONS] = -1;
    }
}

bool co_mcast_group_skip_to(struct co_mcast_group *group, uint32_t skipped)
{
    uint32_t count = skipped - group->skipped;
    for (uint32_t i = 0; i < count && i < CO_WAYS_LATER; i++) {
        if (!co_agreed_ways_are_known(&group->ways, group->next_operation + i)) {
            return false;
        }
    }
    if (count > 0) {
        pass_by(group, count);
        group->skipped = skipped;
    }
    return true;
}

bool co_skipped_numbers_have(const struct co_mcast_group *group, uint32_t number)
{
    for (unsigned i = 0; i < group->skip_count && i < CO_SKIPS_KEPT; i++) {
        if (number - group->skips[i].first < group->skips[i].count) {
            return true;
        }
    }
    // relaxed: where it says so, what was called before has begun under the lock that is held
    uint32_t skips = co_load_relaxed(&group->seed->skips);
    uint32_t follow = skips % 2 != 0 ? count_in(skips) : group->skips_that_follow;
    return co_serial_before(group->skipped, follow) && number - group->next_operation < follow - group->skipped;
}
