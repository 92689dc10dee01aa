// SPDX-License-Identifier: BSD-3-Clause
//
// The directory of a node: which team owns which area. Open addressing by the team's key, guarded by one lock in the
// segment; taken when a communicator begins or ends, never by an operation. The lock is robust: when its owner is
// killed the next one takes over, and every step below leaves the directory usable.
#include "mcast/shm/shm_node.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/log.h"

static int lock(struct co_shm_header *header)
{
    int error = pthread_mutex_lock(&header->lock);

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

static int64_t claim(struct co_shm_node *node, uint64_t key, int count)
{
    for (uint32_t distance = 0; distance < node->plan.entries; distance++) {
        uint32_t index = index_at(node, key, distance);
        struct co_shm_entry *entry = &node->entries[index];
        if (entry->key != 0) {
            continue;
        }
        entry->count = (uint32_t)count;
        entry->joined = 0;
        entry->left = 0;
        entry->generation++;
        co_store_relaxed(&entry->broken, 0); // relaxed: published by the lock
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

// All members have left, so nobody looks at the area any more: its pages can go, and the next team finds zeroes
// without a slow member of this one in between.
static void free_area(struct co_shm_node *node, uint32_t index)
{
    if (co_load_relaxed(&node->entries[index].touched) == 0) { // relaxed: ordered by the lock, taken when leaving
        return;
    }
    char *area = co_shm_node_area(node, index);
    if (madvise(area, node->plan.area_bytes, MADV_REMOVE) != 0) {
        __builtin_memset(area, 0, node->plan.area_bytes);
    }
    co_shm_loans_return(node, index);
    co_store_relaxed(&node->entries[index].touched, 0); // relaxed: published by the lock
}

void co_shm_directory_leave(struct co_shm_node *node, uint32_t index)
{
    struct co_shm_entry *entry = &node->entries[index];

    if (lock(node->header) != 0) {
        return;
    }
    entry->left++;
    if (entry->left == entry->count) {
        free_area(node, index);
        entry->key = 0;
    }
    unlock(node->header);
}
