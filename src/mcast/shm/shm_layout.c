// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes and offsets of a node's shared segment, from values that all ranks share. Pure. Set-up only.
#include "mcast/shm/shm_layout.h"

#include <stdbool.h>

// Address space, not memory: pages of a team that never ran do not exist.
#define SEGMENT_BYTES_MAX ((size_t)8 << 30)

#define BULK_SLOTS_MAX (CO_SHM_LOAN_BYTES / CO_SHM_FRAGMENT)
#define BULK_SLOTS_MIN 4
#define MAIL_STRIDE ((size_t)640) // five pairs of lines

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t power_of_two_below(size_t number)
{
    size_t power = 1;
    while (power * 2 <= number) {
        power *= 2;
    }
    return power;
}

static void set_ring(struct co_shm_ring_shape *ring, size_t offset, size_t slots, size_t stride, size_t head)
{
    ring->mask = slots - 1;
    ring->quantum = slots >= 8 ? (uint32_t)slots / 4 : 1;
    ring->stride = (uint32_t)stride;
    ring->head = (uint32_t)head;
    ring->payload = (uint32_t)(stride - head);
    ring->offset = offset;
}

void co_shm_shape_compute(struct co_shm_shape *shape, int count, size_t team_bytes)
{
    size_t bulk = power_of_two_below(team_bytes / (size_t)count / CO_SHM_FRAGMENT | 1);
    bulk = bulk < BULK_SLOTS_MIN ? BULK_SLOTS_MIN : bulk > BULK_SLOTS_MAX ? BULK_SLOTS_MAX : bulk;
    bool roomy = bulk > BULK_SLOTS_MIN;
    size_t offset = sizeof(struct co_shm_control);

    size_t lines = roomy ? 64 : 16;
    set_ring(&shape->ring[CO_SHM_LINES], offset, lines, CO_LINE_PAIR, sizeof(uint64_t));
    offset += lines * CO_LINE_PAIR;
    size_t mail = roomy ? 16 : 8;
    set_ring(&shape->ring[CO_SHM_MAIL], offset, mail, MAIL_STRIDE, sizeof(uint64_t));
    offset += mail * MAIL_STRIDE;
    offset = round_up(offset, CO_SHM_PAGE);
    set_ring(&shape->ring[CO_SHM_BULK], offset, bulk, CO_SHM_FRAGMENT, 0);
    offset += bulk * CO_SHM_FRAGMENT;

    size_t lane = round_up(offset, CO_SHM_PAGE);
    shape->lane_bytes = lane;
    shape->bounce_offset = lane * (size_t)count;
    shape->area_bytes = shape->bounce_offset + CO_SHM_PAGE * (size_t)count;
}

void co_shm_plan_compute(struct co_shm_plan *plan, int size, size_t team_bytes, size_t staging_bytes, size_t entries)
{
    // Small teams get wide lanes, large teams many: the largest area is not always that of the whole node.
    plan->area_bytes = 0;
    for (int count = 1; count <= size; count++) {
        struct co_shm_shape shape;
        co_shm_shape_compute(&shape, count, team_bytes);
        plan->area_bytes = shape.area_bytes > plan->area_bytes ? shape.area_bytes : plan->area_bytes;
    }
    size_t fitting = SEGMENT_BYTES_MAX / plan->area_bytes;
    fitting = fitting < CO_SHM_ENTRIES_MIN ? CO_SHM_ENTRIES_MIN : fitting;
    entries = entries > fitting ? fitting : entries;
    plan->entries = (uint32_t)entries;
    plan->process_offset = CO_SHM_PAGE;
    plan->entry_offset = plan->process_offset + round_up((size_t)size * sizeof(struct co_shm_process), CO_SHM_PAGE);
    plan->loan_offset = plan->entry_offset + round_up(entries * sizeof(struct co_shm_entry), CO_SHM_PAGE);
    size_t loans = staging_bytes / CO_SHM_LOAN_BYTES;
    plan->loans = (uint32_t)(loans < CO_SHM_LOANS_MAX ? loans : CO_SHM_LOANS_MAX);
    plan->area_offset = plan->loan_offset + round_up(plan->loans * sizeof(struct co_shm_loan), CO_SHM_PAGE);
    plan->staging_offset = plan->area_offset + entries * plan->area_bytes;
    plan->bytes = plan->staging_offset + plan->loans * CO_SHM_LOAN_BYTES;
}
