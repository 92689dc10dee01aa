// SPDX-License-Identifier: BSD-3-Clause
//
// Teams: opening and closing, their pages, the credit of their rings, where the slots of bulk rings are, and what
// members tell of calls that are tried.
#include "shm/shm_team.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/mix_bits.h"

#define COUNT_EVERY_BYTES ((uint64_t)1 << 20)

// Two halves of a split may carry the same id at the same time; their first members differ.
static uint64_t directory_key(uint64_t team_id, int first_member)
{
    uint64_t key = co_mix_bits(team_id * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)first_member + 1);

    return key ? key : 1;
}

int co_shm_seat_take(struct co_shm_node *node, uint64_t team_id, int first, int count)
{
    return count < 2 || count > node->config.size ? -EINVAL
                                                  : co_shm_directory_join(node, directory_key(team_id, first), count);
}

void co_shm_seat_decline(struct co_shm_node *node, uint64_t team_id, int first)
{
    co_shm_directory_decline(node, directory_key(team_id, first));
}

void co_shm_seat_break(struct co_shm_node *node, int seat, int error)
{
    co_store_relaxed(&node->entries[seat].broken, (uint16_t)-error); // relaxed: the word is all
}

void co_shm_seat_let_go(struct co_shm_node *node, int seat, uint64_t bcast)
{
    _Atomic uint64_t *last = &node->entries[seat].let_go;
    uint64_t known = co_load_relaxed(last); // relaxed: the exchange looks again
    // release L1: what this member has given before. Who is ahead may have told of a later one.
    while (known < bcast &&
           !atomic_compare_exchange_weak_explicit(last, &known, bcast, memory_order_release, memory_order_relaxed)) {
    }
}

void co_shm_seat_take_back(struct co_shm_node *node, int seat, uint64_t bcast)
{
    atomic_compare_exchange_strong(&node->entries[seat].let_go, &bcast, bcast - 1);
}

int co_shm_team_open(struct co_shm_team **out, struct co_shm_node *node, int seat, const int *members, int count,
                     int self)
{
    if (count <= 0 || count > node->config.size || self < 0 || self >= count || members[self] != node->config.rank ||
        (count > 1 && seat < 0)) {
        return -EINVAL;
    }
    struct co_shm_team *team = calloc(1, sizeof *team + (size_t)count * sizeof(int));
    if (!team) {
        return -ENOMEM;
    }
    team->node = node;
    team->count = count;
    team->self = self;
    team->loan = CO_SHM_NO_LOAN;
    memcpy(team->members, members, (size_t)count * sizeof(int));
    co_shm_shape_compute(&team->shape, count, node->config.team_bytes);
    if (count > 1) { // alone it needs no memory
        team->entry = (uint32_t)seat;
        team->key = node->entries[seat].key; // whose seat we have: it stays until we leave
        team->area = co_shm_node_area(node, team->entry);
    }
    *out = team;
    return 0;
}

size_t co_shm_team_bytes(const struct co_shm_team *team)
{
    return sizeof *team + (size_t)team->count * sizeof(int);
}

static void flush_counts(struct co_shm_team *team)
{
    co_counter_add(CO_COUNT_SHM_BYTES, team->bytes_uncounted);
    co_counter_add(CO_COUNT_SINGLE_COPY_BYTES, team->single_bytes_uncounted);
    team->bytes_uncounted = 0;
    team->single_bytes_uncounted = 0;
}

void co_shm_team_close(struct co_shm_team *team)
{
    if (!team) {
        return;
    }
    flush_counts(team);
    if (team->count > 1) {
        co_shm_seat_leave(team->node, (int)team->entry);
    }
    co_shm_bcast_trials_close(team);
    free(team);
}

void co_shm_team_break(struct co_shm_team *team, int error)
{
    if (team->count > 1) {
        co_shm_seat_break(team->node, (int)team->entry, error);
    }
}

int co_shm_team_broken(const struct co_shm_team *team)
{
    return team->count > 1 ? -(int)co_load_relaxed(&team->node->entries[team->entry].broken) : 0; // relaxed: likewise
}

void co_shm_team_let_go(struct co_shm_team *team, uint64_t bcast)
{
    co_shm_seat_let_go(team->node, (int)team->entry, bcast);
}

void co_shm_team_skip(struct co_shm_team *team, uint32_t calls)
{
    team->number += calls;
}

void co_shm_team_count(struct co_shm_team *team, size_t bytes, size_t single_bytes)
{
    team->bytes_uncounted += bytes;
    team->single_bytes_uncounted += single_bytes;
    if (team->bytes_uncounted + team->single_bytes_uncounted >= COUNT_EVERY_BYTES) {
        flush_counts(team);
    }
}

// Lanes and rings share pages, and each counts them: too many, but never more than the area has.
static void count_pages(const struct co_shm_team *team, size_t offset, size_t length)
{
    size_t most = team->shape.area_bytes / CO_SHM_PAGE;
    uint32_t pages = (uint32_t)((offset + length + CO_SHM_PAGE - 1) / CO_SHM_PAGE - offset / CO_SHM_PAGE);

    // relaxed: what is left to do is read after the lock of the directory, which this member takes again to leave
    size_t touched = co_add_relaxed(&team->node->entries[team->entry].touched, pages) + pages;
    co_counter_raise(CO_COUNT_COMMUNICATOR_SHARED_HIGH,
                     (touched < most ? touched : most) * CO_SHM_PAGE + sizeof(struct co_shm_entry));
}

// Makes the pages of a ring exist before its writer needs them; the control's with the first one.
int co_shm_touch_ring(struct co_shm_team *team, unsigned ring)
{
    const struct co_shm_ring_shape *shape = &team->shape.ring[ring];
    size_t first = ring == CO_SHM_LINES ? 0 : shape->offset;
    size_t length = shape->offset + shape->bytes - first;
    char *lane = co_shm_lane(team, team->self);

    team->touched |= 1u << ring;
    count_pages(team, (size_t)(lane - team->area) + first, length);
    int error = co_shm_segment_touch(lane + first, length);
    if (error == 0) {
        co_store_relaxed(&co_shm_control(team, team->self)->touched, team->touched); // relaxed: a page is there or not
    }
    return error;
}

static uint64_t consumed_by(const struct co_shm_team *team, int member, unsigned ring)
{
    // acquire R2: the member's reads of the slots before are over.
    return co_load_acquire(&co_shm_control(team, member)->consumed[ring]);
}

bool co_shm_ask_credit(struct co_shm_team *team, unsigned ring, uint64_t tick, uint64_t slots)
{
    uint64_t least = UINT64_MAX;

    // While the last one has not moved there is no need to look at the lines of all others.
    if (team->laggard != team->self && tick >= consumed_by(team, team->laggard, ring) + slots) {
        return false;
    }
    for (int member = 0; member < team->count; member++) {
        uint64_t consumed = member == team->self ? UINT64_MAX : consumed_by(team, member, ring);
        if (consumed < least) {
            least = consumed;
            team->laggard = member;
        }
    }
    if (least > team->granted[ring]) {
        team->granted[ring] = least;
    }
    return tick < team->granted[ring] + slots;
}

// Lent slots, their heads behind them. Of fewer than four none would ever be read.
static bool is_inside(const struct co_shm_team *team, uint64_t offset, unsigned order)
{
    size_t slot = CO_SHM_FRAGMENT + sizeof(struct co_shm_head);
    uint64_t places = team->node->segment.bytes / slot, slots = UINT64_C(1) << order;
    return slots >= 4 && slots <= places && offset <= team->node->segment.bytes - (size_t)slots * slot;
}

// Where they are stands in memory that the member's process can write to as it likes.
bool co_shm_find_slots(struct co_shm_team *team, int member, struct co_shm_slots *slots)
{
    uint64_t memory = co_load_relaxed(&co_shm_control(team, member)->memory); // relaxed: published by release W1
    uint64_t offset = memory - memory % CO_CACHE_LINE;
    unsigned order = (unsigned)(memory % CO_CACHE_LINE);
    char *lane = co_shm_lane(team, member), *first = (char *)team->node->segment.base + offset;
    const struct co_shm_ring_shape *ring = &team->shape.ring[CO_SHM_BULK];

    bool is_lane = first == lane + ring->offset && UINT64_C(1) << order == ring->mask + 1;
    if (!is_lane && !is_inside(team, offset, order)) {
        co_shm_team_break(team, -EPROTO);
        return false;
    }
    slots->mask = (UINT64_C(1) << order) - 1;
    slots->first = first;
    slots->heads = (const void *)(is_lane ? lane + team->shape.heads : first + (slots->mask + 1) * CO_SHM_FRAGMENT);
    return true;
}

// What a member tells of a call the others read at the end of the next one, to which it has come then, and before it
// can be at the end of the one after that, which has the same place.
void co_shm_tried(struct co_shm_team *team)
{
    uint64_t least_ns = UINT64_MAX;

    // relaxed: published with this member's first word in the next call, and read behind that
    co_store_relaxed(&co_shm_control(team, team->self)->took_ns[team->tried % 2], co_clock_now_ns() - team->tried_ns);
    for (int member = 0; team->tried > 0 && member < team->count; member++) {
        uint64_t its_ns = co_load_relaxed(&co_shm_control(team, member)->took_ns[(team->tried - 1) % 2]);
        least_ns = its_ns < least_ns ? its_ns : least_ns;
    }
    if (team->tried > 0) {
        const struct co_shm_tried *before = &team->calls[(team->tried - 1) % 2];
        co_trial_took(&team->trials, before->class, (enum co_copy_path)before->path, least_ns);
    }
    team->tried++;
}
