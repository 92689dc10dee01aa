// SPDX-License-Identifier: BSD-3-Clause
// Values follow from the request's number, the start, the rank whose they are and their place.
#include "oracle/planned.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>

#include "oracle/verdict.h"

#define UNTOUCHED (-77)

static int value_of(const struct co_planned *planned, int of, int i)
{
    return planned->number * 1000003 + planned->starts * 7919 + of * 5077 + i * 3;
}

// Blocks in rank order for even numbers, else backwards, with a gap after each; every third has equal ones.
static void place_unequal(struct co_planned *planned)
{
    int at = 0;
    for (int turn = 0; turn < planned->size; turn++) {
        int of = planned->number % 2 == 0 ? turn : planned->size - 1 - turn;
        planned->counts[of] = planned->number % 3 == 0 ? planned->ints : (planned->ints * (of + 1) + of) % 60000;
        planned->places[of] = at;
        at += planned->counts[of] + planned->number % 2;
    }
    planned->room = at;
}

static void place(struct co_planned *planned)
{
    if (planned->kind == CO_PLANNED_ALLGATHERV) {
        place_unequal(planned);
        return;
    }
    bool is_bcast = planned->kind == CO_PLANNED_BCAST;
    for (int of = 0; of < planned->size; of++) {
        planned->counts[of] = is_bcast && of != planned->root ? 0 : planned->ints;
        planned->places[of] = is_bcast ? 0 : of * planned->ints;
    }
    planned->room = is_bcast ? planned->ints : planned->size * planned->ints;
}

static void make_type(struct co_planned *planned)
{
    planned->type = MPI_INT;
    if (planned->is_gap) {
        MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(planned->stride * (int)sizeof(int)), &planned->type);
        MPI_Type_commit(&planned->type);
    }
}

void co_planned_make(struct co_planned *planned, MPI_Comm comm)
{
    MPI_Comm_rank(comm, &planned->rank);
    MPI_Comm_size(comm, &planned->size);
    planned->root = planned->number % planned->size;
    planned->stride = planned->is_gap ? 3 : 1;
    planned->starts = 0;
    place(planned);
    make_type(planned);
    planned->receive = malloc(((size_t)planned->room + 1) * (size_t)planned->stride * sizeof(int));
    planned->send = malloc(((size_t)planned->counts[planned->rank] + 1) * (size_t)planned->stride * sizeof(int));
    int mine = planned->counts[planned->rank];
    const void *send = planned->is_in_place ? MPI_IN_PLACE : planned->send;
    int error;
    switch (planned->kind) {
    case CO_PLANNED_BCAST:
        error = MPIX_Bcast_init(planned->receive, planned->ints, planned->type, planned->root, comm, MPI_INFO_NULL,
                                &planned->request);
        break;
    case CO_PLANNED_ALLGATHER:
        error = MPIX_Allgather_init(send, mine, planned->type, planned->receive, planned->ints, planned->type, comm,
                                    MPI_INFO_NULL, &planned->request);
        break;
    default:
        error = MPIX_Allgatherv_init(send, mine, planned->type, planned->receive, planned->counts, planned->places,
                                     planned->type, comm, MPI_INFO_NULL, &planned->request);
    }
    planned->first = planned->request;
    if (error != MPI_SUCCESS || planned->request == MPI_REQUEST_NULL) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

void co_planned_free_type(struct co_planned *planned)
{
    if (planned->type != MPI_INT) {
        MPI_Type_free(&planned->type);
        planned->type = MPI_INT;
    }
}

void co_planned_fill(struct co_planned *planned)
{
    int all = (planned->room + 1) * planned->stride, rank = planned->rank;
    bool is_in_receive = planned->kind == CO_PLANNED_BCAST ? rank == planned->root : planned->is_in_place;
    planned->starts++;
    for (int i = 0; i < all; i++) {
        planned->receive[i] = UNTOUCHED;
    }
    for (int i = 0; i < planned->counts[rank]; i++) {
        planned->send[i * planned->stride] = value_of(planned, rank, i);
        if (is_in_receive) {
            planned->receive[(planned->places[rank] + i) * planned->stride] = value_of(planned, rank, i);
        }
    }
}

int co_planned_wrong(struct co_planned *planned)
{
    int all = (planned->room + 1) * planned->stride, wrong = 0;
    for (int of = 0; of < planned->size; of++) {
        for (int i = 0; i < planned->counts[of]; i++) {
            int *at = &planned->receive[(planned->places[of] + i) * planned->stride];
            wrong += *at != value_of(planned, of, i);
            *at = UNTOUCHED;
        }
    }
    for (int i = 0; i < all; i++) {
        wrong += planned->receive[i] != UNTOUCHED;
    }
    return wrong + (planned->request != planned->first);
}

void co_planned_check(struct co_planned *planned)
{
    for (int of = 0; of < planned->size; of++) {
        for (int i = 0; i < planned->counts[of]; i++) {
            co_test_absorb(&planned->receive[(planned->places[of] + i) * planned->stride], sizeof(int));
        }
    }
    co_test_expect(planned->request == planned->first, "request %d: the handle has changed", planned->number);
    int wrong = co_planned_wrong(planned);
    co_test_expect(wrong == 0, "request %d of kind %d, %d ints, start %d: %d wrong", planned->number,
                   (int)planned->kind, planned->ints, planned->starts, wrong);
}

void co_planned_free(struct co_planned *planned)
{
    MPI_Request_free(&planned->request);
    co_test_expect(planned->request == MPI_REQUEST_NULL, "request %d: freed, but not null", planned->number);
    co_planned_free_type(planned);
    free(planned->send);
    free(planned->receive);
}
