// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives that know what each start has to deliver: broadcasts, allgathers and allgathers of unequal
// blocks, of ints in a row or with gaps, in place or not. Each belongs to one thread at a time.
#ifndef CO_TEST_PLANNED_H
#define CO_TEST_PLANNED_H

#include <mpi.h>
#include <stdbool.h>

#define CO_PLANNED_RANKS 8

enum co_planned_kind { CO_PLANNED_BCAST, CO_PLANNED_ALLGATHER, CO_PLANNED_ALLGATHERV, CO_PLANNED_KINDS };

struct co_planned {
    enum co_planned_kind kind;
    int number;  // the same on all ranks, another one for each
    int ints;    // of the message, or about so many of a block
    bool is_gap; // other ints between those of this rank
    bool is_in_place;
    // Filled in by co_planned_make.
    MPI_Request request, first; // as it was made
    int rank, size, root, stride, room, starts;
    int counts[CO_PLANNED_RANKS], places[CO_PLANNED_RANKS];
    int *send, *receive;
    MPI_Datatype type;
};

// Makes the request, collective over comm; kind, number, ints, is_gap and is_in_place are there.
void co_planned_make(struct co_planned *planned, MPI_Comm comm);
// The program's type is gone before the first start.
void co_planned_free_type(struct co_planned *planned);
// The data of the next start, to be called before it.
void co_planned_fill(struct co_planned *planned);
// After its end: the ints, the gaps, and the handle.
void co_planned_check(struct co_planned *planned);
// The number of wrong ints and written gaps, for threads; nothing is said.
int co_planned_wrong(struct co_planned *planned);
// Frees the request and all else.
void co_planned_free(struct co_planned *planned);

#endif
