// SPDX-License-Identifier: BSD-3-Clause
//
// Objects of one size, all memory asked for at open, so that a full pool is an answer and not an allocation on the
// hot path. Pages are touched when an object is first taken, not before. One thread at a time. Hot.
#ifndef CASTOFF_BASE_MEMORY_FIXED_POOL_H
#define CASTOFF_BASE_MEMORY_FIXED_POOL_H

#include <stddef.h>
#include <stdint.h>

struct co_fixed_pool {
    unsigned char *memory;
    void *free_list;     // given back, most recent first: it may still be in the cache
    size_t object_bytes; // rounded up, so that every object is aligned for any type
    size_t count;
    size_t touched; // objects [touched, count) were never taken
    size_t in_use;
    size_t high_water;  // most in use at a time
    uint64_t overflows; // takes that found nothing
};

// -EINVAL for a size or count of 0 or too large, -ENOMEM.
int co_fixed_pool_open(struct co_fixed_pool *pool, size_t object_bytes, size_t count);

// All objects become invalid, whether given back or not.
void co_fixed_pool_close(struct co_fixed_pool *pool);

// An object of undefined content, or NULL when all are in use, which is counted.
void *co_fixed_pool_take(struct co_fixed_pool *pool);

// NULL is allowed and does nothing.
void co_fixed_pool_give(struct co_fixed_pool *pool, void *object);

#endif
