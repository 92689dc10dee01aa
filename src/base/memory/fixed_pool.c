// SPDX-License-Identifier: BSD-3-Clause
//
// Pool of equal objects: a free list threaded through the free objects themselves, and a frontier behind which
// nothing was ever touched. One thread at a time. Hot.
#include "base/memory/fixed_pool.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"

int co_fixed_pool_open(struct co_fixed_pool *pool, size_t object_bytes, size_t count)
{
    const size_t alignment = alignof(max_align_t);
    size_t bytes, rounded;
    void *memory;

    if (object_bytes == 0 || count == 0 || __builtin_add_overflow(object_bytes, alignment - 1, &rounded)) {
        return -EINVAL;
    }
    rounded -= rounded % alignment;
    if (__builtin_mul_overflow(rounded, count, &bytes) || bytes > SIZE_MAX / 2) {
        return -EINVAL;
    }
    // Whole cache lines, so that the pool shares none with a stranger.
    if (posix_memalign(&memory, CO_CACHE_LINE, (bytes + CO_CACHE_LINE - 1) / CO_CACHE_LINE * CO_CACHE_LINE) != 0) {
        return -ENOMEM;
    }
    *pool = (struct co_fixed_pool){.memory = memory, .object_bytes = rounded, .count = count};
    return 0;
}

void co_fixed_pool_close(struct co_fixed_pool *pool)
{
    free(pool->memory);
    *pool = (struct co_fixed_pool){.memory = NULL};
}

void *co_fixed_pool_take(struct co_fixed_pool *pool)
{
    void *object = pool->free_list;

    if (object) {
        memcpy(&pool->free_list, object, sizeof pool->free_list);
    } else if (pool->touched < pool->count) {
        object = pool->memory + pool->touched++ * pool->object_bytes;
    } else {
        pool->overflows++;
        return NULL;
    }
    if (++pool->in_use > pool->high_water) {
        pool->high_water = pool->in_use;
    }
    return object;
}

void co_fixed_pool_give(struct co_fixed_pool *pool, void *object)
{
    if (!object) {
        return;
    }
    size_t offset = (size_t)((unsigned char *)object - pool->memory);
    assert(offset % pool->object_bytes == 0 && offset / pool->object_bytes < pool->touched && pool->in_use > 0);
    (void)offset;
    memcpy(object, &pool->free_list, sizeof pool->free_list);
    pool->free_list = object;
    pool->in_use--;
}
