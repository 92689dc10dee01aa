// SPDX-License-Identifier: BSD-3-Clause
// A buffer of more bytes than an int counts, in elements of 1 MiB, which two ranks fill together: each its own block of
// a layout. Single-threaded; one buffer a program.
#ifndef CO_TEST_MEBIBYTES_H
#define CO_TEST_MEBIBYTES_H

#include <mpi.h>
#include <stdbool.h>

#define CO_MEBIBYTES_MANY 2050
#define CO_MEBIBYTES_FEW 3

// Elements of each rank, and where they are.
struct co_mebibytes_layout {
    int counts[2], places[2];
    bool has_gap; // the element behind the first CO_MEBIBYTES_FEW is nobody's
};

struct co_mebibytes {
    unsigned char *buffer; // of MANY + FEW + 1
    MPI_Datatype type;
};

bool co_mebibytes_open(struct co_mebibytes *all); // false: there is no memory
void co_mebibytes_close(struct co_mebibytes *all);
// The own block, which another operation has left other bytes in, and the gap.
void co_mebibytes_fill(const struct co_mebibytes *all, const struct co_mebibytes_layout *layout, int operation);
// Every byte of both blocks and of the gap; the digest takes samples.
void co_mebibytes_check(const struct co_mebibytes *all, const struct co_mebibytes_layout *layout, int operation);

#endif
