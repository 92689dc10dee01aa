// SPDX-License-Identifier: BSD-3-Clause
//
// The pool grows by blocks and never shrinks before the end. Writers hold a short lock, never across a native call;
// readers follow the published table, whose predecessors stay valid until the end because someone may be in them.
#include "pmpi/request/request_handles.h"

#include "base/plain_counters.h"
#include "pmpi/request/requests.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_REQUESTS 64

struct block {
    struct block *next;
    struct co_mpi_request requests[BLOCK_REQUESTS];
};

// Handles of other requests on the way to ours are told without a look at the requests themselves.
struct cell {
    _Atomic(MPI_Request) handle;    // NULL: free
    struct co_mpi_request *request; // as long as the handle is there
};

struct handle_table {
    struct handle_table *older;
    size_t mask;
    struct cell cells[];
};

static struct {
    struct co_trylock lock;
    MPI_Comm self;
    struct block *blocks;
    struct co_mpi_request *free;
    size_t count;
    _Atomic(struct handle_table *) table;
    MPI_Request done; // request_null: none
} pool = {.lock = CO_TRYLOCK_INIT};

_Atomic uint64_t co_request_handles_renewed;

static size_t cell_of(MPI_Request handle, size_t mask)
{
    return (size_t)CO_HANDLE_HASH(handle) & mask;
}

// From the cell of the handle's hash on.
static struct co_mpi_request *find_from(const struct handle_table *table, size_t cell, MPI_Request handle)
{
    for (size_t i = cell;; i = (i + 1) & table->mask) {
        MPI_Request there = co_load_acquire(&table->cells[i].handle); // acquire P2
        if (there == handle) {
            return table->cells[i].request;
        }
        if (there == CO_NO_HANDLE) {
            return NULL;
        }
    }
}

struct co_mpi_request *co_request_handles_find(MPI_Request handle)
{
    const struct handle_table *table = co_load_acquire(&pool.table); // acquire P1
    return table == NULL ? NULL : find_from(table, cell_of(handle, table->mask), handle);
}

static inline void fetch_cell(struct co_request_walk *walk, int i)
{
    if (i < walk->count && walk->handles[i] != pool.done) {
        size_t cell = cell_of(walk->handles[i], walk->table->mask);
        walk->cells[(unsigned)i % CO_REQUEST_WALK_AHEAD] = cell;
        __builtin_prefetch(&walk->table->cells[cell]);
    }
}

static inline void fetch_request(const struct co_request_walk *walk, int i)
{
    if (i < walk->count && walk->handles[i] != pool.done) {
        const struct cell *cell = &walk->table->cells[walk->cells[(unsigned)i % CO_REQUEST_WALK_AHEAD]];
        if (co_load_acquire(&cell->handle) == walk->handles[i]) { // acquire P2
            __builtin_prefetch(cell->request);
        }
    }
}

void co_request_walk_begin(struct co_request_walk *walk, int count, const MPI_Request handles[])
{
    // Acquire P1. What the array names was there before, and so it is in this table, whatever comes after.
    walk->table = co_load_acquire(&pool.table);
    walk->count = walk->table == NULL ? 0 : count;
    walk->handles = handles;
    for (int i = 0; i < CO_REQUEST_WALK_AHEAD && i < walk->count; i++) {
        fetch_cell(walk, i);
    }
}

struct co_mpi_request *co_request_walk_find(struct co_request_walk *walk, int i)
{
    bool is_none = walk->table == NULL || walk->handles[i] == pool.done;
    return is_none ? NULL : find_from(walk->table, walk->cells[(unsigned)i % CO_REQUEST_WALK_AHEAD], walk->handles[i]);
}

void co_request_walk_pass(struct co_request_walk *walk, int i)
{
    fetch_cell(walk, i + CO_REQUEST_WALK_AHEAD);
    fetch_request(walk, i + CO_REQUEST_WALK_AHEAD / 2);
}

static void insert_locked(struct handle_table *table, struct co_mpi_request *request)
{
    size_t i = cell_of(request->handle, table->mask);
    while (co_load_relaxed(&table->cells[i].handle) != CO_NO_HANDLE) { // relaxed: only the holder of the lock writes
        i = (i + 1) & table->mask;
    }
    table->cells[i].request = request;
    co_store_release(&table->cells[i].handle, request->handle); // release P2: whose it is
}

// Room for one block more, at most half full.
static int reserve_locked(void)
{
    struct handle_table *old = co_load_relaxed(&pool.table); // relaxed: only the holder of the lock writes
    size_t cells = old == NULL ? 4 * BLOCK_REQUESTS : old->mask + 1;
    if (old != NULL && 2 * (pool.count + BLOCK_REQUESTS) <= cells) {
        return 0;
    }
    cells = old == NULL ? cells : 2 * cells;
    struct handle_table *table = calloc(1, sizeof *table + cells * sizeof table->cells[0]);
    if (table == NULL) {
        return -ENOMEM;
    }
    table->mask = cells - 1;
    table->older = old;
    for (struct block *block = pool.blocks; block != NULL; block = block->next) {
        for (int i = 0; i < BLOCK_REQUESTS; i++) {
            insert_locked(table, &block->requests[i]);
        }
    }
    co_store_release(&pool.table, table); // release P1: the table is complete
    return 0;
}

static int add_block_locked(struct block *block)
{
    int error = reserve_locked();
    for (int i = 0; error == 0 && i < BLOCK_REQUESTS; i++) {
        if (co_request_handles_find(block->requests[i].handle) != NULL) {
            // Two equal handles. Those inserted so far stay in the table, so the block stays, too; none is handed out.
            error = -ENOTUNIQ;
        } else {
            insert_locked(co_load_relaxed(&pool.table), &block->requests[i]);
        }
    }
    if (error == -ENOMEM) {
        return error;
    }
    block->next = pool.blocks;
    pool.blocks = block;
    pool.count += BLOCK_REQUESTS;
    co_add_relaxed(&co_request_handles_renewed, 1); // relaxed: who has one of them has it from here
    for (int i = 0; error == 0 && i < BLOCK_REQUESTS; i++) {
        block->requests[i].next = pool.free;
        pool.free = &block->requests[i];
    }
    return error;
}

static void free_handles(struct block *block, int count)
{
    for (int i = 0; i < count; i++) {
        co_next.Request_free(&block->requests[i].handle);
    }
}

static int add_block(void)
{
    struct block *block = aligned_alloc(alignof(struct block), sizeof *block);
    if (block == NULL) {
        return -ENOMEM;
    }
    memset(block, 0, sizeof *block);
    for (int i = 0; i < BLOCK_REQUESTS; i++) {
        if (co_next.Recv_init(NULL, 0, co_next.byte, MPI_PROC_NULL, 0, pool.self, &block->requests[i].handle) !=
            MPI_SUCCESS) {
            free_handles(block, i);
            free(block);
            return -EIO;
        }
    }
    co_plain_lock_take(&pool.lock);
    int error = add_block_locked(block);
    co_plain_lock_drop(&pool.lock);
    if (error == -ENOMEM) {
        free_handles(block, BLOCK_REQUESTS);
        free(block);
    }
    return error;
}

static MPI_Request send_to_nobody(void)
{
    MPI_Request handle = co_next.request_null;
    return co_next.Isend(NULL, 0, co_next.byte, MPI_PROC_NULL, 0, pool.self, &handle) == MPI_SUCCESS
               ? handle
               : co_next.request_null;
}

// Native answers each send that has left with one and the same request, which nobody owns: it is the same while it is
// held, and after it was completed.
static MPI_Request learn_done(void)
{
    MPI_Request first = send_to_nobody(), second = send_to_nobody();
    bool is_shared = first == second;
    MPI_Request known = first;
    co_next.Wait(&first, MPI_STATUS_IGNORE);
    co_next.Wait(&second, MPI_STATUS_IGNORE);
    second = send_to_nobody();
    is_shared = is_shared && second == known;
    co_next.Wait(&second, MPI_STATUS_IGNORE);
    return is_shared ? known : co_next.request_null;
}

int co_request_handles_open(MPI_Comm self)
{
    pool.self = self;
    pool.done = learn_done();
    return add_block();
}

MPI_Request co_request_handles_done(void)
{
    return pool.done;
}

void co_request_handles_close(void)
{
    struct handle_table *table = co_load_acquire(&pool.table); // acquire P1
    co_store_release(&pool.table, NULL);                       // release P1
    while (table != NULL) {
        struct handle_table *older = table->older;
        free(table);
        table = older;
    }
    while (pool.blocks != NULL) {
        struct block *block = pool.blocks;
        pool.blocks = block->next;
        free_handles(block, BLOCK_REQUESTS);
        free(block);
    }
    pool.free = NULL;
    pool.count = 0;
}

static struct co_mpi_request *take_free(void)
{
    co_plain_lock_take(&pool.lock);
    struct co_mpi_request *request = pool.free;
    if (request != NULL) {
        pool.free = request->next;
    }
    co_plain_lock_drop(&pool.lock);
    return request;
}

struct co_mpi_request *co_request_handles_take(void)
{
    struct co_mpi_request *request = take_free();
    while (request == NULL) {
        if (add_block() != 0) {
            return NULL;
        }
        request = take_free();
    }
    return request;
}

void co_request_handles_give(struct co_mpi_request *request)
{
    co_plain_lock_take(&pool.lock);
    request->next = pool.free;
    pool.free = request;
    co_plain_lock_drop(&pool.lock);
}

void co_request_handles_visit(void (*visit)(struct co_mpi_request *request, void *arg), void *arg)
{
    co_plain_lock_take(&pool.lock);
    struct block *block = pool.blocks; // blocks are only ever put in front, so the rest of the list stands still
    co_plain_lock_drop(&pool.lock);
    for (; block != NULL; block = block->next) {
        for (int i = 0; i < BLOCK_REQUESTS; i++) {
            visit(&block->requests[i], arg);
        }
    }
}
