// SPDX-License-Identifier: BSD-3-Clause
// Datatypes with attributes in all calls that outlive their start: nonblocking collectives, receives and sends, and
// persistent ones. The program's callbacks are called when it duplicates or frees a type itself, and never else, not
// even where the copy function refuses.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// taken: MPI_Ibcast MPI_Iallgather MPI_Iallgatherv
// expect: right ints, and no callback but the program's own
#include "oracle/verdict.h"

#include <stdlib.h>

#define MOST_RANKS 4
#define MOST_BLOCKS 3000

static int copies, deletes, refuses;
static int rank, size;
static int sent[2 * MOST_BLOCKS], received[2 * MOST_BLOCKS * MOST_RANKS];

static int copy(MPI_Datatype type, int key, void *extra, void *value, void *out, int *flag)
{
    (void)type, (void)key, (void)extra;
    copies++;
    *flag = 1;
    *(void **)out = value;
    return refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int delete (MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void prepare(int blocks, int seed, int root)
{
    for (int i = 0; i < 2 * blocks; i++) {
        sent[i] = seed * 1000 + rank * 100000 + i;
    }
    for (int i = 0; i < 2 * blocks * size; i++) {
        received[i] = rank == root ? seed * 1000 + rank * 100000 + i : -1;
    }
}

// Of every second int a block has come from `of`.
static void check(const int *at, int blocks, int of, int seed, const char *call)
{
    int wrong = 0;
    for (int i = 0; i < blocks; i++) {
        wrong += at[2 * i] != seed * 1000 + of * 100000 + 2 * i;
    }
    co_test_expect(wrong == 0, "%s: %d wrong ints from rank %d", call, wrong, of);
    co_test_expect(copies == 0 && deletes == 0, "%s called %d copy and %d delete functions", call, copies, deletes);
    copies = deletes = 0;
}

// Elements of the type stand 2 * blocks - 1 ints apart.
static void check_all(int blocks, int seed, const char *call)
{
    for (int of = 0; of < size; of++) {
        check(received + of * (2 * blocks - 1), blocks, of, seed, call);
    }
}

static void collectives(MPI_Datatype type, int blocks, int seed)
{
    MPI_Request request;
    int counts[MOST_RANKS], places[MOST_RANKS], root = seed % size;
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    prepare(blocks, seed, root);
    MPI_Ibcast(received, 1, type, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(received, blocks, root, seed, "MPI_Ibcast");
    prepare(blocks, seed, -1);
    MPI_Iallgather(sent, 1, type, received, 1, type, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_all(blocks, seed, "MPI_Iallgather");
    prepare(blocks, seed, -1);
    MPI_Iallgatherv(sent, 1, type, received, counts, places, type, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_all(blocks, seed, "MPI_Iallgatherv");
}

static void messages(MPI_Datatype type, int blocks, int seed)
{
    MPI_Request requests[2];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    prepare(blocks, seed, -1);
    MPI_Irecv(received, 1, type, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, 1, type, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(received, blocks, left, seed, "MPI_Irecv");
    prepare(blocks, seed, -1);
    MPI_Recv_init(received, 1, type, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(sent, 1, type, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    check(received, blocks, left, seed, "MPI_Recv_init");
}

int main(int argc, char **argv)
{
    static const int block_counts[] = {3, 40, MOST_BLOCKS};
    int key, value = 7;
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    MPI_Type_create_keyval(copy, delete, &key, NULL);
    for (int i = 0; i < 3; i++) {
        int blocks = block_counts[i];
        MPI_Datatype type;
        MPI_Type_vector(blocks, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_set_attr(type, key, &value);
        for (int turn = 0; turn < 4; turn++) {
            refuses = turn >= 2;
            collectives(type, blocks, 4 * i + turn);
            messages(type, blocks, 4 * i + turn);
        }
        MPI_Type_free(&type);
        co_test_expect(deletes == 1 && copies == 0, "freeing the type deletes %d attributes", deletes);
        deletes = 0;
    }
    MPI_Type_free_keyval(&key);
    return co_test_finish();
}
