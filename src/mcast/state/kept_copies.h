// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Memory for the copies that operations leave behind for their neighbours: free lists by powers
// of two, threaded through what is idle. By the holder of the endpoint; hot.
#ifndef CASTOFF_MCAST_STATE_KEPT_COPIES_H
#define CASTOFF_MCAST_STATE_KEPT_COPIES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CO_KEPT_CLASSES 16
#define CO_KEPT_LEAST_SHIFT 12 // less than a page costs nothing that would be saved

// What is given back is kept to be taken again, the latest first: handed to the C library it would go to the kernel
// whenever many are given back at once, and each page would have to come anew. In use and idle together never hold
// more than `most`.
struct co_kept_copies {
    size_t most, in_use, idle; // bytes
    void *idle_first[CO_KEPT_CLASSES];
};

// Which list it belongs to, -1: none.
static inline int co_kept_class(size_t bytes)
{
    if (bytes <= (size_t)1 << (CO_KEPT_LEAST_SHIFT - 1)) {
        return -1;
    }
    int list = 64 - __builtin_clzll(bytes - 1) - CO_KEPT_LEAST_SHIFT;
    return list < 0 ? 0 : list < CO_KEPT_CLASSES ? list : -1;
}

static inline size_t co_kept_room(int list, size_t bytes)
{
    return list < 0 ? bytes : (size_t)1 << (CO_KEPT_LEAST_SHIFT + list);
}

static inline void *co_kept_take_idle(struct co_kept_copies *kept, int list)
{
    void *copy = kept->idle_first[list];
    if (copy != NULL) {
        memcpy(&kept->idle_first[list], copy, sizeof copy);
        kept->idle -= co_kept_room(list, 0);
    }
    return copy;
}

static inline void co_kept_free_idle(struct co_kept_copies *kept)
{
    for (int list = 0; list < CO_KEPT_CLASSES && kept->idle > 0; list++) {
        void *copy;
        while ((copy = co_kept_take_idle(kept, list)) != NULL) {
            free(copy);
        }
    }
}

// NULL: as much is in use, or there is no memory.
static inline void *co_kept_take(struct co_kept_copies *kept, size_t bytes)
{
    int list = co_kept_class(bytes);
    size_t room = co_kept_room(list, bytes);
    if (room > kept->most || kept->in_use > kept->most - room) {
        return NULL;
    }
    void *copy = list < 0 ? NULL : co_kept_take_idle(kept, list);
    if (copy == NULL && kept->in_use + kept->idle > kept->most - room) {
        co_kept_free_idle(kept);
    }
    copy = copy == NULL ? malloc(room) : copy;
    kept->in_use += copy == NULL ? 0 : room;
    return copy;
}

// As it was taken.
static inline void co_kept_give(struct co_kept_copies *kept, void *copy, size_t bytes)
{
    int list = co_kept_class(bytes);
    kept->in_use -= co_kept_room(list, bytes);
    if (list < 0) {
        free(copy);
        return;
    }
    memcpy(copy, &kept->idle_first[list], sizeof copy);
    kept->idle_first[list] = copy;
    kept->idle += co_kept_room(list, bytes);
}

#endif
