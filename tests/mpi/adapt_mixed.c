// SPDX-License-Identifier: BSD-3-Clause
// Trials of both sides in the job: some hundred calls of each size on the world, on two halves with histories of their
// own, and on communicators that live shortly, with roots that rotate, in place, with different types of one signature
// on the ranks, and Iallgathers in between, which take the verdicts; one rank alone makes broadcasts of nothing.
// Whatever side a call goes, all bytes are right.
// ranks: 2 3 5
// expect: the same bytes whatever is tried
// environment: CASTOFF_BCAST=auto CASTOFF_IBCAST=auto CASTOFF_ALLGATHER=auto CASTOFF_IALLGATHER=auto CASTOFF_ADAPT=yes
// report: counters["adapt_exchanges"] > 0
// report: counters["adapt_trials"] > 0
// report: counters["adapt_ended"] == 0
// report: len(trials) > 0 and all(0 < t["first_verdict"] <= t["calls"] + 1 for t in trials if t["first_verdict"])
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 70000
#define CALLS 600

static const int sizes[] = {1, 8, 100, 700, 3000, 20000, LARGEST};

#define SIZES ((int)(sizeof sizes / sizeof *sizes))

static unsigned char *send, *receive;
static MPI_Datatype pair; // two bytes with a gap
static unsigned state;

// Equal on all ranks that call it alike.
static unsigned draw(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 8) % below;
}

// Every other rank has the bytes in a row, the others with gaps, where their number is even.
static void broadcast(MPI_Comm comm, int rank, int size, int bytes, int number)
{
    static unsigned char spread[2 * LARGEST];
    int root = number % size;
    bool has_gaps = bytes % 2 == 0 && (rank + number) % 2 == 1;
    uint64_t seed = co_test_seed(root, number, (size_t)bytes);
    memset(send, 0xee, (size_t)bytes);
    if (rank == root) {
        co_test_pattern_fill(send, (size_t)bytes, seed);
    }
    if (rank == 1 && number % 7 == 0) {
        MPI_Bcast(NULL, 0, MPI_BYTE, 0, comm);
    }
    if (!has_gaps) {
        MPI_Bcast(send, bytes, MPI_BYTE, root, comm);
    } else {
        for (int i = 0; i < bytes; i++) {
            spread[i / 2 * 4 + i % 2] = send[i];
        }
        MPI_Bcast(spread, bytes / 2, pair, root, comm);
        for (int i = 0; i < bytes; i++) {
            send[i] = spread[i / 2 * 4 + i % 2];
        }
    }
    co_test_received(send, (size_t)bytes, seed, "broadcast %d of %d bytes", number, bytes);
}

static void gather(MPI_Comm comm, int rank, int size, int bytes, int number)
{
    MPI_Request request;
    co_test_pattern_fill(send, (size_t)bytes, co_test_seed(rank, -number, (size_t)bytes));
    memset(receive, 0xee, (size_t)bytes * (size_t)size);
    switch (number % 3) {
    case 0:
        MPI_Allgather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, comm);
        break;
    case 1:
        memcpy(receive + (size_t)rank * (size_t)bytes, send, (size_t)bytes);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, bytes, MPI_BYTE, comm);
        break;
    default:
        MPI_Iallgather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int r = 0; r < size; r++) {
        co_test_received(receive + (size_t)r * (size_t)bytes, (size_t)bytes, co_test_seed(r, -number, (size_t)bytes),
                         "allgather %d of %d bytes, block %d", number, bytes, r);
    }
}

static void use(MPI_Comm comm, int calls, unsigned seed)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    state = seed;
    for (int number = 1; number <= calls; number++) {
        int bytes = sizes[draw((unsigned)SIZES)];
        if (draw(2) == 0) {
            broadcast(comm, rank, size, bytes, number);
        } else {
            gather(comm, rank, size, bytes, number);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm half, shortly;
    send = malloc(LARGEST);
    receive = malloc((size_t)LARGEST * (size_t)co_test_size());
    co_test_expect(send != NULL && receive != NULL, "memory");
    MPI_Datatype narrow;
    MPI_Type_contiguous(2, MPI_BYTE, &narrow);
    MPI_Type_create_resized(narrow, 0, 4, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_free(&narrow);
    MPI_Comm_split(MPI_COMM_WORLD, co_test_rank() % 2, 0, &half);
    for (int round = 0; round < 3; round++) {
        use(MPI_COMM_WORLD, CALLS / 3, 1 + (unsigned)round);
        use(half, co_test_rank() % 2 == 0 ? CALLS / 3 : 40, 100 + (unsigned)(round + co_test_rank() % 2));
        for (int i = 0; i < 20; i++) {
            MPI_Comm_dup(i % 2 == 0 ? MPI_COMM_WORLD : half, &shortly);
            use(shortly, i % 2 == 0 ? i : 3, 500 + (unsigned)i);
            MPI_Comm_free(&shortly);
        }
    }
    MPI_Type_free(&pair);
    MPI_Comm_free(&half);
    free(send);
    free(receive);
    return co_test_finish();
}
