// SPDX-License-Identifier: BSD-3-Clause
// Contents of messages for programs of several threads: a pattern of so many bytes, in memory of one of several layouts
// that all have the signature of bytes, so that sender and receiver may choose different ones. Any thread, each parcel
// by one at a time.
#ifndef CO_TEST_PARCEL_H
#define CO_TEST_PARCEL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_PARCEL_LAYOUTS 4

struct co_parcel {
    void *memory; // to pass to MPI, with the following
    int count;
    MPI_Datatype type;
    int layout;
    size_t bytes; // of the pattern, or the room for one
};

// The types of all layouts; before any thread, and after all of them.
void co_parcel_types_make(void);
void co_parcel_types_free(void);

// A layout that can hold exactly `bytes` bytes, `choice` says which.
int co_parcel_layout_for(size_t bytes, unsigned choice);

// Allocates room for `bytes` bytes, which the layout can hold exactly, and marks it.
void co_parcel_open(struct co_parcel *parcel, int layout, size_t bytes);
void co_parcel_close(struct co_parcel *parcel);

void co_parcel_fill(struct co_parcel *parcel, uint64_t seed);
// True: the first `bytes` are the pattern of `seed`, and nothing else was written, not between them either.
bool co_parcel_holds(const struct co_parcel *parcel, size_t bytes, uint64_t seed);

// A pseudo-random number below `limit`; `state` is moved. The same on all machines.
unsigned co_parcel_random(uint64_t *state, unsigned limit);

#endif
