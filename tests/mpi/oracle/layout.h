// SPDX-License-Identifier: BSD-3-Clause
// Memory layouts for the datatype tests: each kind is a committed MPI datatype whose one instance has
// the signature of CO_LAYOUT_ITEMS ints, together with an independent description of where each
// of these ints lies. A check looks at every int and at every byte between them, so that a
// receive that writes into a gap is found. Used by the test programs' main thread.
#ifndef CO_TEST_LAYOUT_H
#define CO_TEST_LAYOUT_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define CO_LAYOUT_ITEMS 12

enum co_layout_kind {
    CO_LAYOUT_CONTIGUOUS,
    CO_LAYOUT_PLAIN, // MPI_INT itself, with 12 times the count
    CO_LAYOUT_VECTOR,
    CO_LAYOUT_NEGATIVE,
    CO_LAYOUT_REVERSED,
    CO_LAYOUT_RESIZED,
    CO_LAYOUT_STRUCT,
    CO_LAYOUT_INTERLEAVED,
    CO_LAYOUT_ABSOLUTE, // addresses from MPI_Get_address, used with MPI_BOTTOM; single instance only
    CO_LAYOUT_KINDS
};

struct co_layout {
    enum co_layout_kind kind;
    MPI_Datatype type;
    int count;     // to pass to MPI for all the instances
    void *address; // to pass to MPI
    ptrdiff_t offsets[CO_LAYOUT_ITEMS];
    ptrdiff_t extent;
    int instances;
    unsigned char *storage;
    size_t storage_bytes;
    unsigned char *origin;
};

const char *co_layout_name(enum co_layout_kind kind);

// Allocates storage for `instances` instances, filled with a mark that no check takes for data.
// CO_LAYOUT_ABSOLUTE can hold one instance.
void co_layout_create(struct co_layout *layout, enum co_layout_kind kind, int instances);

// Address of int `item` of instance `instance`.
int *co_layout_item(const struct co_layout *layout, int instance, int item);

// Writes the pattern of `seed` into instances first..first+instances-1.
void co_layout_write(struct co_layout *layout, int first, int instances, uint64_t seed);

// Adds the ints of these instances to the rank's digest and checks them against `seed`.
void co_layout_check(const struct co_layout *layout, int first, int instances, uint64_t seed, const char *what);

// Checks that no byte outside the ints of all instances was written.
void co_layout_check_gaps(const struct co_layout *layout, const char *what);

void co_layout_destroy(struct co_layout *layout);

#endif
