// SPDX-License-Identifier: BSD-3-Clause
//
// The directory of a node: which team has which area. Open addressing by the team's key, guarded by one lock in the
// segment; taken when a communicator begins or ends, never by an operation. The lock is robust: when its owner is
// killed the next one takes over, and every step below leaves the directory usable.
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

static uint32_t index_at(const struct co_shm_node *node, uint64_t key, uint32_t distance)
{
    return (uint32_t)((key + distance) % node->plan.entries);
}

// Entries come and go, so a free one does not end the search; the farthest distance ever used does.
static int64_t find(const struct co_shm_node *node, uint64_t key)
{
    for (uint32_t distance = 0; distance <= node->header->farthest; distance++) {
        uint32_t index = index_at(node, key, distance);
        if (node->entries[index].key == key) {
            return index;
        }
    }
    return -ENOENT;
}

// A warm one, last freed first taken, or the first of the others. There are as many as entries, but one that a killed
// owner of the lock was about to free is lost.
static int64_t take_area(struct co_shm_node *node, bool *is_warm)
{
    struct co_shm_header *header = node->header;
    *is_warm = header->warm_count > 0;
    if (*is_warm) {
        return header->warm_areas[--header->warm_count];
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

static int64_t claim(struct co_shm_node *node, uint64_t key, int count)
{
    for (uint32_t distance = 0; distance < node->plan.entries; distance++) {
        uint32_t index = index_at(node, key, distance);
        struct co_shm_entry *entry = &node->entries[index];
        if (entry->key != 0) {
            continue;
        }
        bool is_warm;
        int64_t area = take_area(node, &is_warm);
        if (area < 0) {
            return area;
        }
        entry->count = (uint32_t)count;
        entry->joined = 0;
        entry->left = 0;
        co_store_relaxed(&entry->area, (uint32_t)area); // relaxed: published by the lock
        co_store_relaxed(&entry->touched, is_warm);
        co_store_relaxed(&entry->broken, 0);
        if (distance > node->header->farthest) {
            node->header->farthest = distance;
        }
        entry->key = key; // last: an owner killed before this has claimed nothing
        return index;
    }
    return -ENOSPC;
}

int co_shm_directory_join(struct co_shm_node *node, uint64_t key, int count)
{
    int error = lock(node->header);

    if (error != 0) {
        return error;
    }
    int64_t index = find(node, key);
    if (index < 0) {
        index = claim(node, key, count);
    } else if (node->entries[index].count != (uint32_t)count ||
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
                const struct co_shm_ring_shape *slots = &shape.ring[ring];
                __builtin_memset(lane + slots->offset, 0, (size_t)(slots->mask + 1) * slots->stride);
            }
        }
        __builtin_memset(lane, 0, sizeof *control);
    }
}

// All members have left, so nobody looks at the area any more: the next team finds zeroes without a slow member of this
// one in between. Taking pages away, and making them anew, costs more than all else that a short communicator does, so
// a few areas keep theirs.
static void free_area(struct co_shm_node *node, uint32_t index)
{
    struct co_shm_header *header = node->header;
    struct co_shm_entry *entry = &node->entries[index];
    uint32_t number = co_load_relaxed(&entry->area);        // relaxed: ordered by the lock
    bool has_pages = co_load_relaxed(&entry->touched) != 0; // relaxed: likewise, taken when leaving
    bool stays_warm = has_pages && header->warm_count < CO_SHM_WARM_AREAS;
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
        header->warm_areas[header->warm_count++] = number;
    } else {
        header->taken_areas[number / 64] &= ~(UINT64_C(1) << number % 64);
    }
}

static void leave(struct co_shm_node *node, uint32_t index)
{
    struct co_shm_entry *entry = &node->entries[index];
    entry->left++;
    if (entry->left == entry->count) {
        free_area(node, index);
        entry->key = 0;
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
    int64_t index = find(node, key);
    if (index >= 0) { // or none has joined
        node->entries[index].joined++;
        leave(node, (uint32_t)index);
    }
    unlock(node->header);
}
