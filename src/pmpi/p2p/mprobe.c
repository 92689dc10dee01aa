// SPDX-License-Identifier: BSD-3-Clause
//
// The pool of messages' handles: grows by one, never shrinks before the end. No lock is held across a native call.
#include "pmpi/p2p/mprobe.h"

#include "base/hash_map.h"
#include "base/atomics.h"
#include "pmpi/datatype/packing.h"

#include <stdlib.h>

static struct {
    struct co_trylock lock;
    struct co_hash_map by_handle; // all of them
    struct co_matched *free;
} pool = {.lock = CO_TRYLOCK_INIT};

int co_mprobe_make(MPI_Message *handle, MPI_Comm comm, int rank)
{
    MPI_Request request;
    int tag = co_packing_tag(), is_there = 0;
    int code = co_next.Isend(NULL, 0, co_next.byte, rank, tag, comm, &request);
    while (code == MPI_SUCCESS && !is_there) {
        code = co_next.Improbe(rank, tag, comm, &is_there, handle, MPI_STATUS_IGNORE);
    }
    return code == MPI_SUCCESS ? co_next.Wait(&request, MPI_STATUS_IGNORE) : code;
}

static void unmake(MPI_Message *handle)
{
    co_next.Mrecv(NULL, 0, co_next.byte, handle, MPI_STATUS_IGNORE);
}

static uint64_t key_of(MPI_Message handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static struct co_matched *add(void)
{
    struct co_matched *matched = calloc(1, sizeof *matched);
    if (matched == NULL || co_mprobe_make(&matched->handle, co_process.self, 0) != MPI_SUCCESS) {
        free(matched);
        return NULL;
    }
    co_trylock_wait(&pool.lock);
    int error = co_hash_map_put(&pool.by_handle, key_of(matched->handle), matched);
    co_trylock_drop(&pool.lock);
    if (error != 0) {
        unmake(&matched->handle);
        free(matched);
        return NULL;
    }
    return matched;
}

struct co_matched *co_mprobe_take(void)
{
    co_trylock_wait(&pool.lock);
    struct co_matched *matched = pool.free;
    if (matched != NULL) {
        pool.free = matched->next;
    }
    co_trylock_drop(&pool.lock);
    return matched != NULL ? matched : add();
}

void co_mprobe_give(struct co_matched *matched)
{
    co_trylock_wait(&pool.lock);
    matched->message = NULL;
    matched->next = pool.free;
    pool.free = matched;
    co_trylock_drop(&pool.lock);
}

struct co_matched *co_mprobe_find_slowly(MPI_Message handle)
{
    co_trylock_wait(&pool.lock);
    struct co_matched *matched = co_hash_map_get(&pool.by_handle, key_of(handle));
    co_trylock_drop(&pool.lock);
    return matched;
}

void co_mprobe_close(void)
{
    struct co_matched *matched;
    size_t position = 0;
    while ((matched = co_hash_map_next(&pool.by_handle, &position, NULL)) != NULL) {
        if (matched->message != NULL) {
            co_p2p_drop_taken(matched->message);
            co_communicator_drop(matched->communicator);
        }
        unmake(&matched->handle);
        free(matched);
    }
    co_hash_map_close(&pool.by_handle);
    co_hash_map_open(&pool.by_handle);
    pool.free = NULL;
}
