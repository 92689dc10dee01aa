// SPDX-License-Identifier: BSD-3-Clause
//
// Handles for requests of ours: genuine native persistent requests that are never started. Native calls see an
// inactive request, Fortran may look inside, debuggers know them; castoff finds its own request behind the handle in
// a table that only grows, so that looking up needs no lock. Hot; any thread.
#ifndef CASTOFF_PMPI_REQUEST_HANDLES_H
#define CASTOFF_PMPI_REQUEST_HANDLES_H

#include <stddef.h>
#include <stdint.h>

#include "mpi_below/next_mpi.h"

struct co_mpi_request;

// Makes the first handles on castoff's own duplicate of MPI_COMM_SELF and proves that native gives a distinct object
// for each, which the whole idea rests on. 0, -ENOTUNIQ, -ENOMEM or -EIO.
int co_request_handles_open(MPI_Comm self);

// Gives all handles back to native. No request may be in use.
void co_request_handles_close(void);

// The handle of what is complete: it has no place here and may be handed out any number of times. request_null: native
// has none.
MPI_Request co_request_handles_done(void);

// A free request with its handle, or NULL when native has no more.
struct co_mpi_request *co_request_handles_take(void);
void co_request_handles_give(struct co_mpi_request *request);

// The request behind a handle, in use or not; NULL: a native one.
struct co_mpi_request *co_request_handles_find(MPI_Request handle);

// Grows where a handle that a program had may be another request's from now on: there are more of ours, or one that was
// under way has been freed.
extern _Atomic uint64_t co_request_handles_renewed;

// A walk through an array of handles, from the first on: what is looked up soon comes to the cache, and each place in
// the table is found once.
#define CO_REQUEST_WALK_AHEAD 16
struct handle_table;
struct co_request_walk {
    const struct handle_table *table;
    const MPI_Request *handles;
    int count;
    size_t cells[CO_REQUEST_WALK_AHEAD]; // of the handles from the present one on
};

void co_request_walk_begin(struct co_request_walk *walk, int count, const MPI_Request handles[]);
// As co_request_handles_find, of the present handle; then on to the next one.
struct co_mpi_request *co_request_walk_find(struct co_request_walk *walk, int i);
void co_request_walk_pass(struct co_request_walk *walk, int i);

// Calls visit for every request there is, in use or not.
void co_request_handles_visit(void (*visit)(struct co_mpi_request *request, void *arg), void *arg);

#endif
