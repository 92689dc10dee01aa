// SPDX-License-Identifier: BSD-3-Clause
// What is called beside MPI_Bcast and MPI_Allgather, and persistent ones, with types as MPI allows them and few
// programs have them: extents that are negative, places before the buffer's address, ints out of their order, absolute
// addresses with MPI_BOTTOM, and on the sending side extents of nothing, instances that overlap, and one int twice.
// Each rank has other ones, on either side; every third operation some are in place. Types are freed before a
// nonblocking one ends.
// ranks: 1 2 3 5
// mpirun: --mca coll basic,self,libnbc
// expect: the right ints in the right places, nothing else written
// taken: MPI_Allgatherv MPI_Iallgatherv MPI_Ibcast MPIX_Allgatherv_init MPIX_Allgather_init MPIX_Bcast_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif

#include <string.h>

#define RANKS 8
#define ITEMS 3
#define HALF 2048 // ints before a buffer's address, and from there on
#define UNTOUCHED (-1)

struct kind {
    MPI_Aint offsets[ITEMS];
    MPI_Aint extent;
    bool is_absolute;
};

static const struct kind kinds[] = {
    {{0, 4, 8}, 12, false},
    {{8, 0, 4}, 12, false},
    {{-8, 16, 0}, 32, false},
    {{0, 4, 8}, -16, false},
    {{0, 4, 8}, 12, true},
    {{-12, 4, -4}, 24, true},
    {{4, 0, 12}, -20, true},
    // To send alone: a receive may write no int twice.
    {{0, 4, 8}, 0, false},
    {{0, 4, 8}, 4, false},
    {{4, 4, 0}, 12, false},
    {{0, 8, 4}, 0, true},
};

enum { TO_RECEIVE = 7, TO_SEND = sizeof kinds / sizeof *kinds };

enum form { ALLGATHERV, IALLGATHERV, ALLGATHERV_INIT, ALLGATHER_INIT, IBCAST, BCAST_INIT, FORMS };

struct operation {
    int number, counts[RANKS], places[RANKS];
    enum form form;
    bool is_in_place; // here
    int receive_kind;
};

static int sent[2 * HALF], received[2 * HALF], wanted[2 * HALF];

static int root_of(const struct operation *operation)
{
    return operation->number % co_test_size();
}

static bool is_broadcast(const struct operation *operation)
{
    return operation->form == IBCAST || operation->form == BCAST_INIT;
}

static int send_kind_of(const struct operation *operation, int rank)
{
    return (rank * 3 + operation->number) % TO_SEND;
}

static int number_of_int(const struct kind *kind, int instance, int item)
{
    return HALF + (int)((instance * kind->extent + kind->offsets[item]) / (MPI_Aint)sizeof(int));
}

static int value_at(const struct operation *operation, int rank, int index)
{
    return 1 + index + 4096 * (rank + RANKS * operation->number);
}

static MPI_Datatype type_of(const struct kind *kind, int *buffer, void **address)
{
    MPI_Datatype ints, type;
    MPI_Aint start = 0, offsets[ITEMS];
    *address = buffer + HALF;
    if (kind->is_absolute) {
        MPI_Get_address(*address, &start);
        *address = MPI_BOTTOM;
    }
    for (int item = 0; item < ITEMS; item++) {
        offsets[item] = start + kind->offsets[item];
    }
    MPI_Type_create_hindexed_block(ITEMS, 1, offsets, MPI_INT, &ints);
    MPI_Type_create_resized(ints, start, kind->extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&ints);
    return type;
}

// What rank gives, to where it belongs in this rank's buffer.
static void place(const struct operation *operation, int rank, int *buffer)
{
    const struct kind *from = &kinds[send_kind_of(operation, rank)], *to = &kinds[operation->receive_kind];
    for (int instance = 0; instance < operation->counts[rank]; instance++) {
        for (int item = 0; item < ITEMS; item++) {
            buffer[number_of_int(to, operation->places[rank] + instance, item)] =
                value_at(operation, rank, number_of_int(from, instance, item));
        }
    }
}

static void lay_out(struct operation *operation)
{
    int size = co_test_size(), self = co_test_rank();
    bool is_equal = operation->form >= ALLGATHER_INIT;
    operation->receive_kind = (self + operation->number * 2) % TO_RECEIVE;
    operation->is_in_place = operation->form <= IALLGATHERV && operation->number % 3 == 0 && self % 2 == 0;
    for (int rank = 0; rank < size; rank++) {
        operation->counts[rank] = is_equal ? 3 : (rank + operation->number) % 4;
        operation->places[rank] = operation->form == ALLGATHER_INIT ? 3 * rank
                                  : is_broadcast(operation)         ? 0
                                                                    : (size - 1 - rank) * (4 + self % 2) - 9;
    }
    for (int i = 0; i < 2 * HALF; i++) {
        sent[i] = value_at(operation, self, i);
        received[i] = wanted[i] = UNTOUCHED;
    }
    for (int rank = 0; rank < size; rank++) {
        if (!is_broadcast(operation) || (rank == root_of(operation) && rank != self)) {
            place(operation, rank, wanted);
        }
    }
    if (operation->is_in_place) {
        place(operation, self, received);
    }
}

static void complete(MPI_Request *request, bool is_persistent)
{
    for (int i = 0; i < 2 && is_persistent; i++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (is_persistent) {
        MPI_Request_free(request);
    } else {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

static void call(const struct operation *operation)
{
    void *from, *to;
    int self = co_test_rank(), root = root_of(operation), mine = operation->counts[self];
    MPI_Datatype send = type_of(&kinds[send_kind_of(operation, self)], sent, &from);
    MPI_Datatype receive = type_of(&kinds[operation->receive_kind], received, &to);
    const void *source = operation->is_in_place ? MPI_IN_PLACE : from;
    MPI_Request request = MPI_REQUEST_NULL;
    switch (operation->form) {
    case ALLGATHERV:
        MPI_Allgatherv(source, mine, send, to, operation->counts, operation->places, receive, MPI_COMM_WORLD);
        break;
    case IALLGATHERV:
        MPI_Iallgatherv(source, mine, send, to, operation->counts, operation->places, receive, MPI_COMM_WORLD,
                        &request);
        break;
    case ALLGATHERV_INIT:
        MPIX_Allgatherv_init(source, mine, send, to, operation->counts, operation->places, receive, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &request);
        break;
    case ALLGATHER_INIT:
        MPIX_Allgather_init(source, mine, send, to, mine, receive, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        break;
    case IBCAST:
        MPI_Ibcast(self == root ? from : to, mine, self == root ? send : receive, root, MPI_COMM_WORLD, &request);
        break;
    default:
        MPIX_Bcast_init(self == root ? from : to, mine, self == root ? send : receive, root, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &request);
    }
    bool is_persistent =
        operation->form == ALLGATHERV_INIT || operation->form == ALLGATHER_INIT || operation->form == BCAST_INIT;
    if (is_persistent) { // Open MPI 4.1 needs their types for each start
        complete(&request, true);
    }
    MPI_Type_free(&send);
    MPI_Type_free(&receive);
    if (!is_persistent) {
        complete(&request, false);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int number = 0; number < TO_SEND * TO_RECEIVE * FORMS; number++) {
        struct operation operation = {.number = number, .form = (enum form)(number % FORMS)};
        lay_out(&operation);
        call(&operation);
        co_test_expect(memcmp(received, wanted, sizeof wanted) == 0, "operation %d, form %d: other ints", number,
                       operation.form);
        co_test_absorb(received, sizeof received);
        for (int i = 0; i < 2 * HALF; i++) {
            co_test_expect(sent[i] == value_at(&operation, co_test_rank(), i), "operation %d wrote what it sends",
                           number);
        }
    }
    return co_test_finish();
}
