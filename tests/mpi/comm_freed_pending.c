// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_free while Iallgathers, an Iallgatherv and an Ibcast are outstanding on the communicator (legal: it is freed
// when they are done), followed at once by a new communicator, which may get the same handle and is used before the old
// operations are waited for. Also the datatype and the parent freed meanwhile.
// ranks: 2 3
// expect: old and new operations deliver their own bytes
// taken: MPI_Iallgather MPI_Bcast MPI_Ibcast MPI_Iallgatherv
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define OUTSTANDING 5
#define INTS 30000
#define RANKS 8

static int send[OUTSTANDING][INTS];
static int receive[OUTSTANDING][INTS * RANKS];
static int spread[2 * INTS]; // every other int is broadcast
static int uneven[7 * INTS]; // rank r gives r + 1 parts of 6, with a gap behind each

static void start_on(MPI_Comm comm, MPI_Request *requests, int round)
{
    for (int i = 0; i < OUTSTANDING; i++) {
        MPI_Datatype type;
        int ints = INTS / (1 + i * i * 20);
        size_t bytes = (size_t)ints * sizeof(int);
        MPI_Type_contiguous(ints, MPI_INT, &type);
        MPI_Type_commit(&type);
        co_test_pattern_fill(send[i], bytes, co_test_seed(co_test_rank(), round * 10 + i, bytes));
        MPI_Iallgather(send[i], 1, type, receive[i], 1, type, comm, &requests[i]);
        MPI_Type_free(&type);
    }
}

// A type that is unpacked when the operation is over.
static void broadcast_on(MPI_Comm comm, MPI_Request *request, int round)
{
    MPI_Datatype type;
    MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * INTS; i++) {
        spread[i] = i % 2 == 0 && co_test_rank() == round % co_test_size() ? i + round : -1;
    }
    MPI_Ibcast(spread, 1, type, round % co_test_size(), comm, request);
    MPI_Type_free(&type);
}

static void check_spread(int round)
{
    int wrong = 0;
    for (int i = 0; i < 2 * INTS; i++) {
        wrong += spread[i] != (i % 2 == 0 ? i + round : -1);
    }
    co_test_expect(wrong == 0, "round %d: %d wrong ints of a broadcast", round, wrong);
}

static void check(int round)
{
    for (int i = 0; i < OUTSTANDING; i++) {
        int ints = INTS / (1 + i * i * 20);
        size_t bytes = (size_t)ints * sizeof(int);
        for (int r = 0; r < co_test_size(); r++) {
            co_test_received(receive[i] + r * ints, bytes, co_test_seed(r, round * 10 + i, bytes),
                             "round %d, operation %d, block %d", round, i, r);
        }
    }
}

// Counts and places are the call's alone, and gone when it returns.
static void gather_uneven_on(MPI_Comm comm, MPI_Request *request, int round)
{
    int counts[RANKS], places[RANKS], at = 0;
    for (int r = 0; r < co_test_size(); r++) {
        counts[r] = INTS / 6 * (r + 1);
        places[r] = at;
        at += counts[r] + 1;
    }
    for (int i = 0; i < at; i++) {
        int own = i - places[co_test_rank()];
        uneven[i] = own >= 0 && own < counts[co_test_rank()] ? round * 7 + i : -1;
    }
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_INT, uneven, counts, places, MPI_INT, comm, request);
    memset(counts, -1, sizeof counts);
    memset(places, -1, sizeof places);
}

static void check_uneven(int round)
{
    int wrong = 0, at = 0;
    for (int r = 0; r < co_test_size(); r++) {
        int count = INTS / 6 * (r + 1);
        for (int i = 0; i < count; i++) {
            wrong += uneven[at + i] != round * 7 + at + i;
        }
        wrong += uneven[at + count] != -1;
        at += count + 1;
    }
    co_test_expect(wrong == 0, "round %d: %d wrong ints of unequal blocks", round, wrong);
}

static void broadcast(MPI_Comm comm, int round)
{
    int data[500] = {0};
    uint64_t seed = co_test_seed(1, round, sizeof data);
    if (co_test_rank() == 1) {
        co_test_pattern_fill(data, sizeof data, seed);
    }
    MPI_Bcast(data, 500, MPI_INT, 1, comm);
    co_test_received(data, sizeof data, seed, "round %d, broadcast on the next communicator", round);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 30; round++) {
        MPI_Comm old;
        MPI_Comm next;
        MPI_Request requests[OUTSTANDING + 2];
        MPI_Comm_dup(MPI_COMM_WORLD, &old);
        start_on(old, requests, round);
        broadcast_on(old, &requests[OUTSTANDING], round);
        gather_uneven_on(old, &requests[OUTSTANDING + 1], round);
        MPI_Comm_free(&old);
        co_test_expect(old == MPI_COMM_NULL, "handle kept after free");
        MPI_Comm_dup(MPI_COMM_WORLD, &next);
        broadcast(next, round);
        MPI_Waitall(OUTSTANDING + 2, requests, MPI_STATUSES_IGNORE);
        check(round);
        check_spread(round);
        check_uneven(round);
        broadcast(next, round + 1000);
        MPI_Comm_free(&next);
    }
    return co_test_finish();
}
