// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a broadcast goes over the group is decided by each member for itself, by the length that it was called with;
// where a program calls them with unequal lengths, which works without us, some may let go another way what others wait
// for here. So those collectives take a number of the group's, too: nobody mistakes what comes later for what he waits
// for, and who asks a root for an operation that it has skipped is told so. Numbers are taken before such a call, which
// may wait for who waits here, and become a gap when the next operation begins. The count of calls is warm, all else
// rare.
#include "mcast/state/skipped_numbers.h"

#include <stdlib.h>

#include "base/atomics.h"
#include "mcast/wire/serial.h"

// Far fewer than there are numbers. All members skip the same ones, and stop at the same one.
#define SKIPPED_MOST (UINT32_C(1) << 30)
// Ranges that are kept: a root may be so many operations ahead of a member as that can stage, and a window.
#define SKIPS_LEAST 16
#define SKIPS_MOST 8192

void co_mcast_seed_skip(struct co_mcast_seed *seed)
{
    uint32_t skipped = co_load_relaxed(&seed->skipped); // relaxed: this thread alone writes it
    if (skipped < SKIPPED_MOST) {
        co_store_release(&seed->skipped, skipped + 1); // release N1: after the calls before it
    }
}

void co_mcast_seed_unskip(struct co_mcast_seed *seed)
{
    uint32_t skipped = co_load_relaxed(&seed->skipped); // relaxed: likewise
    if (skipped < SKIPPED_MOST) {
        co_store_release(&seed->skipped, skipped - 1); // release N1
    }
}

void co_mcast_group_skip(struct co_mcast_group *group)
{
    co_mcast_seed_skip(group->seed);
}

uint32_t co_mcast_group_call(struct co_mcast_group *group)
{
    co_add_relaxed(&group->yet_to_begin, 1);       // relaxed: for who sees a later skip
    return co_load_relaxed(&group->seed->skipped); // relaxed: this thread writes it
}

void co_mcast_group_call_begun(struct co_mcast_group *group)
{
    co_sub_relaxed(&group->yet_to_begin, 1); // relaxed: by the holder, who reads it
}

// Twice as many of them as there were, in their order. Where there is no memory, or there are too many, the eldest are
// forgotten.
static void make_room(struct co_mcast_group *group)
{
    uint32_t room = group->skip_room == 0 ? SKIPS_LEAST : 2 * group->skip_room;
    struct co_skipped_range *ranges = room > SKIPS_MOST ? NULL : malloc(room * sizeof *ranges);
    if (ranges == NULL) {
        return;
    }
    for (uint32_t i = 0; i < group->skip_count; i++) {
        ranges[i] = group->skips[i % group->skip_room];
    }
    free(group->skips);
    group->skips = ranges;
    group->storage_bytes += (room - group->skip_room) * sizeof *ranges;
    group->skip_room = room;
}

static void note_range(struct co_mcast_group *group, struct co_skipped_range range)
{
    if (group->skip_count == group->skip_room) { // later there is no more room to be made
        make_room(group);
    }
    if (group->skip_room > 0) {
        group->skips[group->skip_count++ % group->skip_room] = range;
    }
}

// As if operations with these numbers had begun and ended. More of them change nothing than there are to be known of.
static void pass_by(struct co_mcast_group *group, uint32_t count)
{
    note_range(group, (struct co_skipped_range){group->next_operation, count});
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

// They stand in the order of their numbers.
static bool is_in_a_range(const struct co_mcast_group *group, uint32_t number)
{
    uint32_t end = group->skip_count, kept = end < group->skip_room ? end : group->skip_room, first = end - kept;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        struct co_skipped_range range = group->skips[middle % group->skip_room];
        if (number - range.first < range.count) {
            return true;
        }
        if (co_serial_before(number, range.first)) {
            end = middle;
        } else {
            first = middle + 1;
        }
    }
    return false;
}

// Those that follow the latest operation: not known while one is yet to start that was called before them.
static uint32_t count_that_follow(const struct co_mcast_group *group)
{
    uint32_t skipped = co_load_acquire(&group->seed->skipped); // acquire N1
    uint32_t before = co_load_relaxed(&group->yet_to_begin);   // relaxed: all calls before the last of them are seen
    return before > 0 ? 0 : skipped - group->skipped;
}

bool co_skipped_numbers_have(const struct co_mcast_group *group, uint32_t number)
{
    return is_in_a_range(group, number) || number - group->next_operation < count_that_follow(group);
}
