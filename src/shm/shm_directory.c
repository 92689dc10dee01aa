// SPDX-License-Identifier: BSD-3-Clause
//
// The directory of a node: which team has which area. A chain of entries for each remainder of a key, guarded by one
// lock in the segment; taken when a communicator begins or ends, never by an operation. The lock is robust: when its
// owner is killed the next one takes over, and every step below leaves the directory usable. A program may have more
// communicators than there is room for, and goes on making them, so neither a full directory nor what was full once may
// cost a look at every entry.
#include "shm/shm_node.h"

#include <errno.h>

#include "base/atomics.h"
#include "base/log.h"

enum { LOOKS = 200 }; // some microseconds

// Members of a new communicator come to the lock together, out of an exchange, and each holds it for less time than
// falling asleep takes. On a busy machine who has slept comes back when the others have used up their turns of the
// processor, waiting for it.
static int take(pthread_mutex_t *mutex)
{
    for (int look = 0; look < LOOKS; look++) {
        int error = pthread_mutex_trylock(mutex);
        if (error != EBUSY) {
            return error;
        }
        co_cpu_relax();
    }
    return pthread_mutex_lock(mutex);
}

static int lock(struct co_shm_header *header)
{
    int error = take(&header->lock);

    if (error == EOWNERDEAD) {
        // At worst the dead owner's entry stays taken for the rest of the job.
        pthread_mutex_consistent(&header->lock);
        return 0;
    }
    return -error;
}

static void unlock(struct co_shm_header *header)
{
    pthread_mutex_unlock(&header->lock);
}

int co_shm_directory_init(struct co_shm_header *header)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);

    if (error != 0) {
        return -error;
    }
    error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (error == 0) {
        error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    }
    if (error == 0) {
        error = pthread_mutex_init(&header->lock, &attributes);
    }
    pthread_mutexattr_destroy(&attributes);
    return -error;
}

// The chain that a key belongs to: the place that says its first entry.
static uint16_t *chain_of(const struct co_shm_node *node, uint64_t key)
{
    return &node->entries[key % node->plan.entries].first;
}

// The place that says the entry of this key; it says 0 where there is none.
static uint16_t *find(const struct co_shm_node *node, uint64_t key)
{
    uint16_t *place = chain_of(node, key);
    while (*place != 0 && node->entries[*place - 1].key != key) {
        place = &node->entries[*place - 1].next;
    }
    return place;
}

// A warm one, last freed first taken, or the first of the others. There are as many as entries, but one that a killed
// owner of the lock was about to free is lost.
static int64_t take_area(struct co_shm_node *node, bool *is_warm)
{
    struct co_shm_header *header = node->header;
    *is_warm = header->warm_first != 0;
    if (*is_warm) {
        uint32_t area = header->warm_first - 1;
        header->warm_first = node->entries[area].next;
        header->warm_count--;
        return area;
    }
    for (uint32_t word = 0; word < CO_SHM_ENTRIES_MAX / 64; word++) {
        uint64_t free_ones = ~header->taken_areas[word];
        uint32_t area = word * 64 + (free_ones == 0 ? 0 : (uint32_t)__builtin_ctzll(free_ones));
        if (free_ones != 0) {
            header->taken_areas[word] |= area < node->plan.entries ? free_ones & -free_ones : 0;
            return area < node->plan.entries ? (int64_t)area : -ENOSPC;
        }
    }
    return -ENOSPC;
}

// The entry has its area's number, so who has the one has the other.
static int64_t claim(struct co_shm_node *node, uint64_t key, int count)
{
    bool is_warm;
    int64_t area = take_area(node, &is_warm);
    if (area >= 0) {
        struct co_shm_entry *entry = &node->entries[area];
        uint16_t *chain = chain_of(node, key);
        entry->count = (uint16_t)count;
        entry->joined = 0;
        entry->left = 0;
        entry->next = *chain;
        co_store_relaxed(&entry->touched, is_warm); // relaxed: published by the lock
        co_store_relaxed(&entry->broken, 0);
        co_store_relaxed(&entry->let_go, 0);
        entry->key = key;
        *chain = (uint16_t)(area + 1); // last: an owner killed before this has claimed nothing
    }
    return area;
}

int co_shm_directory_join(struct co_shm_node *node, uint64_t key, int count)
{
    int error = lock(node->header);

    if (error != 0) {
        return error;
    }
    int64_t index = (int64_t)*find(node, key) - 1;
    if (index < 0) {
        index = claim(node, key, count);
    } else if (node->entries[index].count != (uint16_t)count ||
               node->entries[index].joined == node->entries[index].count) {
        index = -EINVAL;
    }
    if (index >= 0) {
        node->entries[index].joined++;
    }
    unlock(node->header);
    return (int)index;
}

// What its members have written: the heads of their lanes, and the rings whose pages they had made.
static void clear(const struct co_shm_node *node, char *area, int count)
{
    struct co_shm_shape shape;
    co_shm_shape_compute(&shape, count, node->config.team_bytes);
    for (int member = 0; member < count; member++) {
        char *lane = area + (size_t)member * shape.lane_bytes;
        struct co_shm_control *control = (struct co_shm_control *)lane;
        uint64_t touched = co_load_relaxed(&control->touched); // relaxed: its member has left, with the lock
        for (unsigned ring = 0; ring < CO_SHM_RINGS; ring++) {
            if (touched & UINT64_C(1) << ring) {
                __builtin_memset(lane + shape.ring[ring].offset, 0, shape.ring[ring].bytes);
            }
        }
        __builtin_memset(lane, 0, sizeof *control);
    }
}

// All members have left, so nobody looks at the area any more: the next team finds zeroes without a slow member of this
// one in between. Taking pages away, and making them anew, costs more than all else that a short communicator does, so
// areas keep theirs up to a part of the segment.
static void free_area(struct co_shm_node *node, uint32_t index)
{
    struct co_shm_header *header = node->header;
    struct co_shm_entry *entry = &node->entries[index];
    bool has_pages = co_load_relaxed(&entry->touched) != 0; // relaxed: ordered by the lock, taken when leaving
    bool stays_warm = has_pages && header->warm_count < node->plan.warm_most;
    char *area = co_shm_node_area(node, index);

    if (stays_warm) {
        clear(node, area, (int)entry->count);
    } else if (has_pages) {
        co_shm_segment_erase(area, node->plan.area_bytes);
    }
    if (has_pages) {
        co_shm_loans_return(node, index);
    }
    if (stays_warm) {
        entry->next = (uint16_t)header->warm_first;
        header->warm_first = index + 1;
        header->warm_count++;
    } else {
        header->taken_areas[index / 64] &= ~(UINT64_C(1) << index % 64);
    }
}

static void leave(struct co_shm_node *node, uint32_t index)
{
    struct co_shm_entry *entry = &node->entries[index];
    entry->left++;
    if (entry->left == entry->count) {
        *find(node, entry->key) = entry->next; // first: nobody finds what an owner who is killed here leaves behind
        entry->key = 0;
        free_area(node, index);
    }
}

void co_shm_seat_leave(struct co_shm_node *node, int seat)
{
    if (lock(node->header) == 0) {
        leave(node, (uint32_t)seat);
        unlock(node->header);
    }
}

void co_shm_directory_decline(struct co_shm_node *node, uint64_t key)
{
    if (lock(node->header) != 0) {
        return;
    }
    uint16_t found = *find(node, key);
    if (found != 0) { // or none has joined
        node->entries[found - 1].joined++;
        leave(node, found - 1u);
    }
    unlock(node->header);
}
