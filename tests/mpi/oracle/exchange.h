// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls that know what each has to deliver: equal blocks or unequal ones, some without bytes, with gaps between
// them, in another order on each side, in place or not. Each belongs to one thread at a time.
#ifndef CO_TEST_EXCHANGE_H
#define CO_TEST_EXCHANGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct co_exchange {
    MPI_Comm comm;
    int number;   // the same on all members, another one for each
    size_t bytes; // of a block, or about so many
    bool is_uneven, is_in_place;
    bool is_native_spared; // blocks of no bytes where native cannot have them
    // Filled in by co_exchange_open.
    int rank, size, fills;
    unsigned char *send, *receive;
    size_t send_room, room;
    int *send_counts, *send_places, *counts, *places;
    MPI_Request request;
};

// comm, number, bytes, is_uneven and is_in_place are there.
void co_exchange_open(struct co_exchange *exchange);
// The data of the next call, to be called before it.
void co_exchange_fill(struct co_exchange *exchange);
// MPI_Ialltoall or MPI_Ialltoallv.
void co_exchange_start(struct co_exchange *exchange);
// MPIX_Alltoall_init or MPIX_Alltoallv_init; collective.
void co_exchange_plan(struct co_exchange *exchange);
// After its end: the blocks, the gaps, and what was sent.
void co_exchange_check(const struct co_exchange *exchange, const char *what);
// The same for threads, and for a look before the end: how many bytes are wrong; nothing is said.
size_t co_exchange_wrong(const struct co_exchange *exchange);
// Whether nothing was written into the receive buffer since co_exchange_fill.
bool co_exchange_is_untouched(const struct co_exchange *exchange);
// Not the request.
void co_exchange_close(struct co_exchange *exchange);

#endif
