// SPDX-License-Identifier: BSD-3-Clause
// Messages that are too large to be sent at once end while one of the two ranks computes, without any call of MPI: the
// other one tells it through memory that its own call is over, and only then it goes on. Natively it would wait for
// ever. Between hosts the MPI below carries them, which castoff's own thread may move under MPI_THREAD_MULTIPLE alone.
// ranks: 2
// modes: on
// arguments: CASTOFF_P2P_STREAM=1M
// arguments: CASTOFF_P2P_STREAM=0
// arguments: CASTOFF_SHM_SINGLE_COPY=no
// arguments: multiple
// arguments: multiple CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_P2P_CARRIER_EAGER=8K
// environment: CASTOFF_P2P=yes CASTOFF_PROGRESS=threads
// expect: who computes holds nobody up
// report: counters["progress_by_worker"] > 0
#include "oracle/verdict.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, TAG = 5 };

static _Atomic int *turn; // shared: the last round whose call is over
static int rank, peer;

static void tell(int round)
{
    atomic_store(turn, round);
}

static void compute_until(int round)
{
    while (atomic_load(turn) < round) {
        sched_yield();
    }
}

static MPI_Datatype make_type(bool is_row, int bytes)
{
    MPI_Datatype type;
    if (is_row) {
        MPI_Type_contiguous(bytes, MPI_BYTE, &type);
    } else {
        MPI_Type_vector(bytes / 8, 8, 16, MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static void fill(unsigned char *buffer, int bytes, int seed)
{
    for (int i = 0; i < bytes; i++) {
        buffer[i] = (unsigned char)(i * 7 + i / 251 + seed);
    }
}

static bool holds(const unsigned char *buffer, bool is_row, int bytes, int seed)
{
    for (int i = 0; i < bytes; i++) {
        int place = is_row ? i : i / 8 * 16 + i % 8;
        if (buffer[place] != (unsigned char)(place * 7 + place / 251 + seed)) {
            return false;
        }
    }
    return true;
}

// Rank 1 computes in each, as a receiver or as a sender.
static void run(bool receiver_computes, bool is_row, int bytes, int round)
{
    unsigned char *buffer = calloc(2, (size_t)bytes);
    MPI_Datatype type = make_type(is_row, bytes);
    MPI_Request request;
    bool sends = receiver_computes == (rank == 0);
    if (sends) {
        fill(buffer, 2 * bytes, round);
    }
    if (rank == 1) {
        if (sends) {
            MPI_Isend(buffer, 1, type, peer, TAG, MPI_COMM_WORLD, &request);
        } else {
            MPI_Irecv(buffer, 1, type, peer, TAG, MPI_COMM_WORLD, &request);
        }
        compute_until(round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        if (sends) {
            MPI_Ssend(buffer, 1, type, peer, TAG, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buffer, 1, type, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        tell(round);
    }
    co_test_expect(sends || holds(buffer, is_row, bytes, round), "%d bytes, %s, %s computes", bytes,
                   is_row ? "in a row" : "a vector", receiver_computes ? "the receiver" : "the sender");
    MPI_Type_free(&type);
    free(buffer);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {16, 8192, 8200, 65536, 1 << 20, 9 << 20};
    MPI_Win window;
    MPI_Aint bytes;
    int unit, round = 0, level = MPI_THREAD_SINGLE;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "multiple") == 0) {
            level = MPI_THREAD_MULTIPLE;
        } else {
            putenv(argv[i]); // a setting
        }
    }
    MPI_Init_thread(&argc, &argv, level, &level);
    co_test_begin();
    rank = co_test_rank();
    peer = 1 - rank;
    MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &turn, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &turn);
    if (rank == 0) {
        tell(0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int again = 0; again < ROUNDS; again++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (int kind = 0; kind < 4; kind++) {
                // A receiver that computes takes small messages when it looks.
                if (sizes[i] > 8192 || !(kind & 1)) {
                    run(kind & 1, kind & 2, sizes[i], ++round);
                }
            }
        }
    }
    MPI_Win_free(&window);
    return co_test_finish();
}
