// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes and offsets of a node's shared segment, from values that all ranks share. Pure. Set-up only.
#include "shm/shm_layout.h"

#include <stdbool.h>

// Address space, not memory: pages of a team that never ran do not exist.
#define SEGMENT_BYTES_MAX ((size_t)8 << 30)

// What areas that nobody has keep at most: so much memory, and one part in so many of the segment.
#define WARM_BYTES_MOST ((size_t)64 << 20)
#define WARM_PART 4

#define MAIL_STRIDE ((size_t)640) // five pairs of lines

// How deep rings are: the first row that fits, and all that is left then for bulk. Small payloads have no other place
// than their rings, while bulk has the node's staging.
static const struct {
    size_t lines, mail, bulk; // slots; of bulk the least
} depths[] = {{64, 16, 16}, {32, 16, 8}, {32, 8, 8}, {16, 8, 4}, {16, 4, 4}};

#define DEPTHS (sizeof depths / sizeof depths[0])

_Static_assert(sizeof(struct co_shm_control) + 16 * CO_LINE_PAIR + 4 * MAIL_STRIDE + 4 * CO_SHM_FRAGMENT ==
                   CO_SHM_LANE_MIN,
               "the last row's lane");

_Static_assert(CO_SHM_LOAN_ROOM % CO_SHM_PAGE == 0, "loans stand back to back");
_Static_assert(MAIL_STRIDE < CO_SHM_INTRODUCTION, "a slot's length fits its word");

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

// Those of a few slots have their place in the control.
static size_t heads_bytes(size_t slots)
{
    return slots > CO_SHM_HEADS_HERE ? round_up(slots * sizeof(struct co_shm_head), CO_LINE_PAIR) : 0;
}

static size_t bulk_bytes(size_t slots)
{
    return slots * CO_SHM_FRAGMENT + heads_bytes(slots);
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
    ring->bytes = slots * stride;
}

static size_t bytes_before_bulk(unsigned depth)
{
    return sizeof(struct co_shm_control) + depths[depth].lines * CO_LINE_PAIR + depths[depth].mail * MAIL_STRIDE;
}

// What each member may have of the area, which is whole pages.
static size_t lane_room(int count, size_t team_bytes)
{
    size_t members = (size_t)count, beside = members * CO_SHM_MEMBER_HEAP + sizeof(struct co_shm_entry);
    size_t area = team_bytes > beside ? (team_bytes - beside) / CO_SHM_PAGE * CO_SHM_PAGE : 0;
    size_t room = area / members / CO_LINE_PAIR * CO_LINE_PAIR;

    return room < CO_SHM_LANE_MIN ? CO_SHM_LANE_MIN : room;
}

void co_shm_shape_compute(struct co_shm_shape *shape, int count, size_t team_bytes)
{
    size_t room = lane_room(count, team_bytes), offset = sizeof(struct co_shm_control);
    unsigned depth = 0;

    while (depth + 1 < DEPTHS && bytes_before_bulk(depth) + bulk_bytes(depths[depth].bulk) > room) {
        depth++;
    }
    size_t bulk = power_of_two_below((room - bytes_before_bulk(depth)) / CO_SHM_FRAGMENT);
    bulk = bulk_bytes(bulk) > room - bytes_before_bulk(depth) ? bulk / 2 : bulk;
    bulk = bulk > CO_SHM_LOAN_SLOTS ? CO_SHM_LOAN_SLOTS : bulk;

    set_ring(&shape->ring[CO_SHM_LINES], offset, depths[depth].lines, CO_LINE_PAIR, sizeof(uint64_t));
    offset += depths[depth].lines * CO_LINE_PAIR;
    set_ring(&shape->ring[CO_SHM_MAIL], offset, depths[depth].mail, MAIL_STRIDE, sizeof(uint64_t));
    offset += depths[depth].mail * MAIL_STRIDE;
    set_ring(&shape->ring[CO_SHM_BULK], offset, bulk, CO_SHM_FRAGMENT, 0);
    shape->ring[CO_SHM_BULK].bytes += heads_bytes(bulk);
    shape->heads = heads_bytes(bulk) > 0 ? offset + bulk * CO_SHM_FRAGMENT : offsetof(struct co_shm_control, heads);
    shape->lane_bytes = offset + bulk_bytes(bulk);
    shape->area_bytes = round_up(shape->lane_bytes * (size_t)count, CO_SHM_PAGE);
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
    plan->bytes = plan->staging_offset + plan->loans * CO_SHM_LOAN_ROOM;
    size_t warm = plan->bytes / WARM_PART < WARM_BYTES_MOST ? plan->bytes / WARM_PART : WARM_BYTES_MOST;
    plan->warm_most = (uint32_t)(warm / plan->area_bytes);
}
