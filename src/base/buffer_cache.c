// SPDX-License-Identifier: BSD-3-Clause
//
// A few spare buffers, each in a place that threads exchange without a lock. Very large ones for what may be short are
// pages that cost nothing until they are touched: a receive may have room for more than the machine.
#include "base/buffer_cache.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/atomics.h"
#include "base/memory/zeroed_pages.h"

enum { SPARES = 4 };
#define KEPT_LEAST ((size_t)64 << 10) // smaller ones malloc has at hand
#define KEPT_MOST (CO_BUFFER_CACHE_KEPT / SPARES)
#define PAGES_LEAST ((size_t)64 << 20) // malloc refuses what the machine has not

struct memory {
    size_t room;
    bool is_sparse;
    alignas(max_align_t) unsigned char bytes[];
};

static _Atomic(struct memory *) spares[SPARES];

static bool is_kept(size_t room)
{
    return room >= KEPT_LEAST && room <= KEPT_MOST;
}

// Powers of two, so that what one size has left suits others.
static size_t room_for(size_t bytes)
{
    size_t room = KEPT_LEAST;
    if (!is_kept(bytes)) {
        return bytes;
    }
    while (room < bytes) {
        room *= 2;
    }
    return room;
}

// acquire A: what its last user wrote stays before us; release A: there.
static struct memory *swap(int i, struct memory *memory)
{
    return atomic_exchange_explicit(&spares[i], memory, memory_order_acq_rel);
}

static struct memory *take_spare(size_t room)
{
    for (int i = 0; i < SPARES; i++) {
        struct memory *spare = swap(i, NULL);
        if (spare != NULL && spare->room == room) {
            return spare;
        }
        free(spare != NULL ? swap(i, spare) : NULL); // another thread may have put one there meanwhile
    }
    return NULL;
}

static struct memory *allocate(size_t room, bool is_sparse)
{
    if (room > SIZE_MAX - sizeof(struct memory)) {
        return NULL;
    }
    size_t bytes = sizeof(struct memory) + room;
    is_sparse = is_sparse && room >= PAGES_LEAST;
    struct memory *memory = is_sparse ? co_zeroed_pages_take(bytes) : malloc(bytes);
    if (memory != NULL) {
        memory->room = room;
        memory->is_sparse = is_sparse;
    }
    return memory;
}

static void release(struct memory *memory)
{
    if (memory != NULL && memory->is_sparse) {
        co_zeroed_pages_give(memory, sizeof(*memory) + memory->room);
    } else {
        free(memory);
    }
}

static void *take(size_t bytes, bool is_sparse)
{
    size_t room = room_for(bytes);
    struct memory *memory = is_kept(room) ? take_spare(room) : NULL;
    memory = memory != NULL ? memory : allocate(room, is_sparse);
    return memory == NULL ? NULL : memory->bytes;
}

void *co_buffer_cache_take(size_t bytes)
{
    return take(bytes, false);
}

void *co_buffer_cache_take_sparse(size_t bytes)
{
    return take(bytes, true);
}

void co_buffer_cache_give(void *bytes)
{
    if (bytes == NULL) {
        return;
    }
    struct memory *memory = (struct memory *)((unsigned char *)bytes - offsetof(struct memory, bytes));
    for (int i = 0; i < SPARES && memory != NULL && is_kept(memory->room); i++) {
        if (co_load_relaxed(&spares[i]) == NULL || i == SPARES - 1) { // relaxed: a hint; the last one gives way
            memory = swap(i, memory);
            break;
        }
    }
    release(memory);
}

void co_buffer_cache_close(void)
{
    for (int i = 0; i < SPARES; i++) {
        free(swap(i, NULL));
    }
}
