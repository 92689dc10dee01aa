// SPDX-License-Identifier: BSD-3-Clause
// Allgathers of unequal blocks, blocking and not: counts of any size, zeros, one rank that has everything, all equal;
// places in any order and with gaps, other ones on every rank; types that lie in a row and types that do not, on either
// side and other ones on every rank; in place. Between blocking ones several nonblocking ones are outstanding, with a
// broadcast between them. Gaps stay as they were.
// ranks: 2 3 5
// mpirun: --mca coll basic,self,libnbc
// expect: the right ints in the right places, no gap written
// taken: MPI_Allgatherv MPI_Iallgatherv
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define RANKS 8
#define OUTSTANDING 5
#define UNTOUCHED (-77)

enum shape { EQUAL, UNEVEN, SPARSE, LONELY, LARGE, SHAPES };

struct gather {
    int counts[RANKS], places[RANKS];
    MPI_Datatype type; // received
    int stride;        // of its ints
    int room;          // ints of `receive`
    int *receive, *send;
    int number;
};

static MPI_Datatype strided; // one int, the next one three further on
static int rank, size, number;

static int count_of(enum shape shape, int of)
{
    switch (shape) {
    case EQUAL:
        return 1 + number % 7 * 300;
    case UNEVEN:
        return 1 + (of * 37 + number * 11) % 500 * (1 + of * 3);
    case SPARSE:
        return (of + number) % 2 == 0 ? 0 : 100 + of;
    case LONELY:
        return of == number % size ? 70000 : 0;
    default:
        return of == number % size ? 400000 : 40000 + of;
    }
}

static int value_of(int operation, int of, int i)
{
    return operation * 1000003 + of * 5077 + i * 3;
}

// Blocks in an order that begins with another rank on each of them, with gaps of so many elements.
static void place(struct gather *gather, enum shape shape)
{
    int at = number % 3;
    for (int turn = 0; turn < size; turn++) {
        int of = number % 4 == 0 ? turn : (turn * (size > 2 ? size - 1 : 1) + rank + number) % size;
        gather->counts[of] = count_of(shape, of);
        gather->places[of] = at;
        at += gather->counts[of] + (number % 4 == 0 ? 0 : (number + rank) % 3);
    }
    gather->room = (at + 1) * gather->stride;
}

static void fill(struct gather *gather, bool is_in_place, int send_stride)
{
    gather->receive = malloc((size_t)gather->room * sizeof(int));
    for (int i = 0; i < gather->room; i++) {
        gather->receive[i] = UNTOUCHED;
    }
    int mine = gather->counts[rank];
    gather->send = malloc((size_t)(mine + 1) * (size_t)send_stride * sizeof(int));
    for (int i = 0; i < mine; i++) {
        gather->send[i * send_stride] = value_of(gather->number, rank, i);
        if (is_in_place) {
            gather->receive[(gather->places[rank] + i) * gather->stride] = value_of(gather->number, rank, i);
        }
    }
}

static void start(struct gather *gather, enum shape shape, MPI_Request *request)
{
    number++;
    gather->number = number;
    bool is_strided = (rank + number) % 3 == 0, is_in_place = number % 5 == 0;
    int send_stride = (rank + number) % 4 == 1 ? 3 : 1;
    gather->stride = is_strided ? 3 : 1;
    gather->type = is_strided ? strided : MPI_INT;
    place(gather, shape);
    fill(gather, is_in_place, send_stride);
    const void *send = is_in_place ? MPI_IN_PLACE : gather->send;
    MPI_Datatype send_type = send_stride == 1 ? MPI_INT : strided;
    int error = request == NULL
                    ? MPI_Allgatherv(send, gather->counts[rank], send_type, gather->receive, gather->counts,
                                     gather->places, gather->type, MPI_COMM_WORLD)
                    : MPI_Iallgatherv(send, gather->counts[rank], send_type, gather->receive, gather->counts,
                                      gather->places, gather->type, MPI_COMM_WORLD, request);
    co_test_expect(error == MPI_SUCCESS, "operation %d: error %d", number, error);
    co_test_expect(request == NULL || *request != MPI_REQUEST_NULL, "operation %d: null request", number);
}

static void finish(struct gather *gather)
{
    int wrong = 0;
    for (int of = 0; of < size; of++) {
        for (int i = 0; i < gather->counts[of]; i++) {
            int *at = &gather->receive[(gather->places[of] + i) * gather->stride];
            wrong += *at != value_of(gather->number, of, i);
            co_test_absorb(at, sizeof *at);
            *at = UNTOUCHED;
        }
    }
    co_test_expect(wrong == 0, "operation %d: %d wrong ints", gather->number, wrong);
    for (int i = 0; i < gather->room; i++) {
        wrong += gather->receive[i] != UNTOUCHED;
    }
    co_test_expect(wrong == 0, "operation %d: %d ints of gaps are written", gather->number, wrong);
    free(gather->receive);
    free(gather->send);
}

static void run_outstanding(int round)
{
    struct gather gathers[OUTSTANDING];
    MPI_Request requests[OUTSTANDING + 1];
    MPI_Status status = {.MPI_ERROR = -7};
    int shared = rank == round % size ? round : -1;
    for (int i = 0; i < OUTSTANDING; i++) {
        start(&gathers[i], (enum shape)((round + i) % SHAPES), &requests[i]);
    }
    MPI_Ibcast(&shared, 1, MPI_INT, round % size, MPI_COMM_WORLD, &requests[OUTSTANDING]);
    if (round % 2 == 0) {
        struct gather between;
        start(&between, UNEVEN, NULL);
        finish(&between);
        MPI_Wait(&requests[OUTSTANDING - 1], &status);
        co_test_expect(status.MPI_ERROR == -7, "MPI_ERROR is written by a call for one request");
    }
    MPI_Waitall(OUTSTANDING + 1, requests, MPI_STATUSES_IGNORE);
    co_test_expect(shared == round, "round %d: a broadcast among them", round);
    for (int i = 0; i < OUTSTANDING; i++) {
        co_test_expect(requests[i] == MPI_REQUEST_NULL, "request %d kept after completion", i);
        finish(&gathers[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    for (int round = 0; round < 12; round++) {
        for (int shape = 0; shape < SHAPES; shape++) {
            struct gather gather;
            start(&gather, (enum shape)shape, NULL);
            finish(&gather);
        }
        run_outstanding(round);
    }
    MPI_Type_free(&strided);
    return co_test_finish();
}
