// SPDX-License-Identifier: BSD-3-Clause
//
// Slabs, which grow in number and go at the end. The lock is a real one: a thread of castoff's own may end what has
// been freed.
#include "pmpi/p2p/message_pool.h"

#include "pmpi/p2p/message_requests.h"

#include <stdlib.h>

#define SLAB_OPERATIONS 32

struct place {
    alignas(CO_CACHE_LINE) struct co_message_operation operation;
};

struct slab {
    struct place places[SLAB_OPERATIONS]; // touched in turn
    struct slab *next;
    unsigned used;
};

static struct {
    struct co_trylock lock;
    struct slab *slabs; // the first alone may have places that nobody has had
    struct co_message_operation *free;
} pool = {.lock = CO_TRYLOCK_INIT};

static struct co_message_operation *take_locked(void)
{
    struct co_message_operation *operation = pool.free;
    if (operation != NULL) {
        pool.free = operation->next_ended;
    } else if (pool.slabs != NULL && pool.slabs->used < SLAB_OPERATIONS) {
        operation = &pool.slabs->places[pool.slabs->used++].operation;
    }
    return operation;
}

static struct slab *make_slab(void)
{
    struct slab *slab = aligned_alloc(alignof(struct slab), sizeof *slab);
    if (slab != NULL) {
        slab->used = 0;
    }
    return slab;
}

// Two threads may both bring one: what the other's has left is lost until the end.
static struct co_message_operation *take_from_new(void)
{
    struct slab *slab = make_slab();
    if (slab == NULL) {
        return NULL;
    }
    co_trylock_wait(&pool.lock);
    slab->next = pool.slabs;
    pool.slabs = slab;
    struct co_message_operation *operation = take_locked();
    co_trylock_drop(&pool.lock);
    return operation;
}

struct co_message_operation *co_message_pool_take(void)
{
    co_trylock_wait(&pool.lock);
    struct co_message_operation *operation = take_locked();
    co_trylock_drop(&pool.lock);
    return operation != NULL ? operation : take_from_new();
}

void co_message_pool_give(struct co_message_operation *operation)
{
    co_trylock_wait(&pool.lock);
    operation->next_ended = pool.free;
    pool.free = operation;
    co_trylock_drop(&pool.lock);
}

void co_message_pool_close(void)
{
    while (pool.slabs != NULL) {
        struct slab *slab = pool.slabs;
        pool.slabs = slab->next;
        free(slab);
    }
    pool.free = NULL;
}
