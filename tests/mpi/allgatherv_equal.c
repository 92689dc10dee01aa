// SPDX-License-Identifier: BSD-3-Clause
// Unequal allgathers of equal counts at every size class: in a row on some ranks, which makes them an allgather, and on
// others with gaps or backwards, for places are each rank's own affair; some ranks receive a type with gaps, some
// give the own block in place. Blocking, nonblocking and persistent, the persistent one started twice.
// ranks: 2 3 4 6
// mpirun: --mca coll basic,self,libnbc
// expect: the right ints in the right places, no gap written
// taken: MPI_Allgatherv MPI_Iallgatherv MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>

#define RANKS 8
#define UNTOUCHED (-77)

enum way { BLOCKING, NONBLOCKING, PERSISTENT, WAYS };

static int rank, size, number;
static MPI_Datatype strided; // one int, the next one two further on

struct gather {
    int count, counts[RANKS], places[RANKS], stride, room;
    MPI_Datatype type;
    bool is_in_place;
    int *send, *receive;
};

static int value_of(int of, int i)
{
    return number * 7919 + of * 5077 + i * 3;
}

static void lay_out(struct gather *gather, int count)
{
    enum { ROW, GAPS, BACKWARDS, PLACINGS };
    int placing = (rank + number) % PLACINGS, gap = placing == ROW ? 0 : placing == GAPS ? 5 : 1, at = number % 4;
    gather->count = count;
    for (int turn = 0; turn < size; turn++) {
        int of = placing == BACKWARDS ? size - 1 - turn : turn;
        gather->counts[of] = count;
        gather->places[of] = at;
        at += count + gap;
    }
    gather->stride = (rank + 2 * number) % 5 == 0 ? 2 : 1;
    gather->type = gather->stride == 1 ? MPI_INT : strided;
    gather->room = (at + 1) * gather->stride;
    gather->is_in_place = (number / PLACINGS) % 2 == 1;
    gather->send = malloc(((size_t)count + 1) * sizeof(int));
    gather->receive = malloc((size_t)gather->room * sizeof(int));
}

static int *item(const struct gather *gather, int of, int i)
{
    return &gather->receive[(gather->places[of] + i) * gather->stride];
}

static void fill(struct gather *gather)
{
    for (int i = 0; i < gather->room; i++) {
        gather->receive[i] = UNTOUCHED;
    }
    for (int i = 0; i < gather->count; i++) {
        gather->send[i] = value_of(rank, i);
        *item(gather, rank, i) = gather->is_in_place ? value_of(rank, i) : UNTOUCHED;
    }
}

static void check(struct gather *gather)
{
    int wrong = 0;
    for (int of = 0; of < size; of++) {
        for (int i = 0; i < gather->count; i++) {
            int *at = item(gather, of, i);
            wrong += *at != value_of(of, i);
            co_test_absorb(at, sizeof *at);
            *at = UNTOUCHED;
        }
    }
    for (int i = 0; i < gather->room; i++) {
        wrong += gather->receive[i] != UNTOUCHED;
    }
    co_test_expect(wrong == 0, "operation %d, %d ints each: %d ints are wrong or in gaps", number, gather->count,
                   wrong);
}

static void run(int count, enum way way)
{
    struct gather gather;
    MPI_Request request;
    lay_out(&gather, count);
    const void *send = gather.is_in_place ? MPI_IN_PLACE : gather.send;
    fill(&gather);
    if (way == BLOCKING) {
        MPI_Allgatherv(send, count, MPI_INT, gather.receive, gather.counts, gather.places, gather.type, MPI_COMM_WORLD);
        check(&gather);
    } else if (way == NONBLOCKING) {
        MPI_Iallgatherv(send, count, MPI_INT, gather.receive, gather.counts, gather.places, gather.type, MPI_COMM_WORLD,
                        &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(&gather);
    } else {
        MPIX_Allgatherv_init(send, count, MPI_INT, gather.receive, gather.counts, gather.places, gather.type,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        for (int time = 0; time < 2; time++) {
            fill(&gather);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check(&gather);
            number += 1000;
        }
        number -= 2000;
        MPI_Request_free(&request);
    }
    free(gather.send);
    free(gather.receive);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 12, 30, 31, 128, 158, 159, 400, 3000, 8193, 70000};
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int turn = 0; turn < 2 * WAYS; turn++) {
            number++;
            run(counts[i], (enum way)(turn % WAYS));
        }
    }
    MPI_Type_free(&strided);
    return co_test_finish();
}
