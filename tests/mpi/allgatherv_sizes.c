// SPDX-License-Identifier: BSD-3-Clause
// The calls beside MPI_Bcast and MPI_Allgather at every size class, from one byte on: MPI_Allgatherv, MPI_Iallgatherv
// and MPI_Ibcast, and the persistent ones, each of which is started twice; with one rank up to eight, and up to 16 MiB
// in all between two. Unequal blocks are up to twice the mean, and the last rank of odd sizes gives nothing.
// ranks: 1 2 4 6 8
// mpirun: --mca coll basic,self,libnbc
// arguments: small
// arguments: large
// expect: right bytes, the same errors in every mode
// taken: MPI_Allgatherv MPI_Iallgatherv MPI_Ibcast MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>
#include <string.h>

#define RANKS 8
#define MIB (1 << 20)

static int rank, size, counts[RANKS], places[RANKS], number;
static unsigned char *mine, *all;

static uint64_t seed_of(int of)
{
    return co_test_seed(of, number, (size_t)counts[of]);
}

// One block of all the bytes is the root's.
static void lay_out(int bytes, bool is_equal)
{
    int at = 0;
    number++;
    for (int of = 0; of < size; of++) {
        counts[of] = is_equal ? bytes : (int)(2 * (int64_t)bytes * (of + 1) / (size + 1));
        counts[of] = !is_equal && size > 1 && of == size - 1 && bytes % 2 == 1 ? 0 : counts[of];
        places[of] = at;
        at += counts[of];
    }
    co_test_pattern_fill(mine, (size_t)counts[rank], seed_of(rank));
    memset(all, 0, (size_t)at);
}

static void check_blocks(const char *what, int error)
{
    co_test_expect(error == MPI_SUCCESS, "%s, operation %d: error %d", what, number, error);
    for (int of = 0; of < size; of++) {
        co_test_received(all + places[of], (size_t)counts[of], seed_of(of), "%s, operation %d, block %d of %d bytes",
                         what, number, of, counts[of]);
    }
}

static int finish(MPI_Request *request)
{
    MPI_Status status = {.MPI_ERROR = -7};
    int flag = 0, error = MPI_SUCCESS;
    if (number % 3 == 0) {
        error = MPI_Waitall(1, request, &status);
    } else if (number % 3 == 1) {
        error = MPI_Wait(request, &status);
    } else {
        while (!flag && error == MPI_SUCCESS) {
            error = MPI_Test(request, &flag, &status);
        }
    }
    co_test_say("%d ", status.MPI_ERROR);
    return error;
}

static void gather(int bytes)
{
    MPI_Request request;
    lay_out(bytes, false);
    check_blocks("Allgatherv",
                 MPI_Allgatherv(mine, counts[rank], MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD));
    lay_out(bytes, true);
    check_blocks("equal Allgatherv",
                 MPI_Allgatherv(mine, counts[rank], MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD));
    lay_out(bytes, false);
    MPI_Iallgatherv(mine, counts[rank], MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
    check_blocks("Iallgatherv", finish(&request));
}

static void gather_planned(int bytes, bool is_equal)
{
    MPI_Request request;
    lay_out(bytes, is_equal);
    if (is_equal) {
        MPIX_Allgather_init(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    } else {
        MPIX_Allgatherv_init(mine, counts[rank], MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &request);
    }
    for (int start = 0; start < 2; start++) {
        lay_out(bytes, is_equal); // other bytes
        MPI_Start(&request);
        check_blocks(is_equal ? "persistent Allgather" : "persistent Allgatherv", finish(&request));
    }
    MPI_Request_free(&request);
}

static void fill_message(int bytes, int root)
{
    number++;
    memset(all, 0, (size_t)bytes);
    if (rank == root) {
        co_test_pattern_fill(all, (size_t)bytes, co_test_seed(root, number, (size_t)bytes));
    }
}

static void broadcast(int bytes)
{
    MPI_Request request;
    int root = number % size;
    fill_message(bytes, root);
    MPI_Ibcast(all, bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    int error = finish(&request);
    co_test_expect(error == MPI_SUCCESS, "Ibcast %d: error %d", number, error);
    co_test_received(all, (size_t)bytes, co_test_seed(root, number, (size_t)bytes), "Ibcast of %d bytes", bytes);
    MPIX_Bcast_init(all, bytes, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int start = 0; start < 2; start++) {
        fill_message(bytes, root);
        MPI_Start(&request);
        error = finish(&request);
        co_test_expect(error == MPI_SUCCESS, "persistent Bcast %d: error %d", number, error);
        co_test_received(all, (size_t)bytes, co_test_seed(root, number, (size_t)bytes), "persistent Bcast of %d bytes",
                         bytes);
    }
    MPI_Request_free(&request);
}

static void run(int message, int block)
{
    broadcast(message);
    gather(block);
    gather_planned(block, true);
    gather_planned(block, false);
}

int main(int argc, char **argv)
{
    static const int small[] = {1, 2, 17, 121, 633, 1500, 4097, 16385, 70001, 300007};
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    bool is_large = argc > 1 && strcmp(argv[1], "large") == 0;
    int most = !is_large ? small[9] : size == 2 ? 8 * MIB : MIB / 2;
    mine = malloc(2 * (size_t)most);
    all = malloc(2 * (size_t)most * (size_t)size);
    co_test_expect(mine != NULL && all != NULL, "memory");
    for (int i = 0; i < 10 && !is_large; i++) {
        run(small[i], small[i]);
    }
    if (is_large) {
        run(2 * most, most);
    }
    free(mine);
    free(all);
    return co_test_finish();
}
