// SPDX-License-Identifier: BSD-3-Clause
// Receives and sends whose request is freed while they are under way: their data arrives all the same, while the rank
// sits in native calls, with datatypes with gaps, parts of elements, absolute addresses far apart and a type that the
// program has freed, too; persistent ones and those of matched messages likewise.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: right bytes in every mode
// report: calls["MPI_Isend"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 3000

static int left, right;

// Until so many of the ints at `place` are other than `empty` on all ranks. The program may not know, but memory shows
// it; in which order a message fills it is nobody's promise.
static void await(const int *place, int count, int empty, int wanted, bool by_messages)
{
    int all = 0;
    while (!all) {
        if (by_messages) {
            int nothing = 0;
            MPI_Request request;
            MPI_Irecv(&nothing, 1, MPI_INT, co_test_rank(), 99, MPI_COMM_WORLD, &request);
            MPI_Send(&nothing, 1, MPI_INT, co_test_rank(), 99, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        int there = 0;
        for (int i = 0; i < count; i++) {
            there += ((const volatile int *)place)[i] != empty;
        }
        int mine = there == wanted;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
}

static void free_plain(int count, bool is_persistent)
{
    int *to = calloc((size_t)count, sizeof(int)), *from = malloc((size_t)count * sizeof(int));
    MPI_Request request;
    for (int i = 0; i < count; i++) {
        from[i] = i + 1 + 100 * co_test_rank();
    }
    if (is_persistent) {
        MPI_Recv_init(to, count, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
    } else {
        MPI_Irecv(to, count, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    }
    MPI_Request_free(&request);
    co_test_expect(request == MPI_REQUEST_NULL, "freed, but not null");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(from, count, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    await(to, count, 0, count, false);
    for (int i = 0; i < count; i++) {
        co_test_expect(to[i] == i + 1 + 100 * left, "%d ints: %d at %d", count, to[i], i);
    }
    // All have all: nobody reads `from` any more, but a sender of a large message may still have to hear of it.
    MPI_Barrier(MPI_COMM_WORLD);
    free(to);
    free(from);
}

// `rows` of ROWS ints come into a column of a matrix, backwards, with a hole in every row.
static void free_column(int rows, bool is_persistent)
{
    static int matrix[3 * ROWS], from[ROWS];
    MPI_Request request;
    MPI_Datatype column, pair;
    int lengths[2] = {1, 1}, places[2] = {2, 0};
    memset(matrix, 0xff, sizeof matrix);
    for (int i = 0; i < ROWS; i++) {
        from[i] = i + 1 + 10000 * co_test_rank();
    }
    MPI_Type_indexed(2, lengths, places, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &column);
    MPI_Type_commit(&column);
    if (is_persistent) {
        MPI_Recv_init(matrix, ROWS / 2, column, left, 2, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
    } else {
        MPI_Irecv(matrix, ROWS / 2, column, left, 2, MPI_COMM_WORLD, &request);
    }
    MPI_Request_free(&request);
    MPI_Type_free(&column);
    MPI_Type_free(&pair);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(from, rows, MPI_INT, right, 2, MPI_COMM_WORLD);
    await(matrix, 3 * ROWS, -1, rows, false);
    int wrong = 0;
    for (int i = 0; i < 3 * ROWS; i++) {
        int at = 2 * (i / 3) + (i % 3 == 0);
        wrong += matrix[i] != (i % 3 == 1 || at >= rows ? -1 : at + 1 + 10000 * left);
    }
    co_test_expect(wrong == 0, "a column of %d: %d wrong", rows, wrong);
    co_test_absorb(matrix, sizeof matrix);
}

// A receive of what a probe has matched.
static void free_matched(void)
{
    enum { COUNT = 500000 };
    static int matrix[2 * COUNT], from[COUNT];
    MPI_Request sends, request;
    MPI_Message message;
    MPI_Datatype gap;
    for (int i = 0; i < COUNT; i++) {
        from[i] = i + 1 + 10000 * co_test_rank();
    }
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gap);
    MPI_Type_commit(&gap);
    MPI_Isend(from, COUNT, MPI_INT, right, 4, MPI_COMM_WORLD, &sends);
    MPI_Mprobe(left, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(matrix, COUNT, gap, &message, &request);
    MPI_Request_free(&request);
    MPI_Type_free(&gap);
    co_test_expect(request == MPI_REQUEST_NULL, "a matched receive: freed, but not null");
    await(matrix, 2 * COUNT, 0, COUNT, false);
    MPI_Wait(&sends, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < 2 * COUNT; i++) {
        wrong += matrix[i] != (i % 2 == 1 ? 0 : i / 2 + 1 + 10000 * left);
    }
    co_test_expect(wrong == 0, "a matched receive: %d wrong", wrong);
}

// One element that lies in two places far from each other.
static void free_far(void)
{
    static int near_one;
    int *far_one = malloc((size_t)64 << 20), from[2] = {co_test_rank() + 1, co_test_rank() + 2};
    MPI_Request request;
    MPI_Datatype both;
    MPI_Aint places[2];
    int lengths[2] = {1, 1};
    far_one += 12 << 20;
    *far_one = near_one = 0;
    MPI_Get_address(&near_one, &places[0]);
    MPI_Get_address(far_one, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &both);
    MPI_Type_commit(&both);
    MPI_Irecv(MPI_BOTTOM, 1, both, left, 3, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Type_free(&both);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(from, 2, MPI_INT, right, 3, MPI_COMM_WORLD);
    await(far_one, 1, 0, 1, true);
    await(&near_one, 1, 0, 1, true);
    co_test_expect(near_one == left + 1, "far apart: %d", near_one);
    far_one -= 12 << 20;
    free(far_one);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    right = (co_test_rank() + 1) % co_test_size();
    left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    for (int persistent = 0; persistent < 2; persistent++) {
        free_plain(1, persistent);
        free_plain(100000, persistent);
        free_column(2, persistent);
        free_column(7, persistent); // the last pair comes half
        free_column(ROWS, persistent);
    }
    free_matched();
    free_far();
    return co_test_finish();
}
