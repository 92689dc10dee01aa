// SPDX-License-Identifier: BSD-3-Clause
//
// Ibcast, Iallgather, Allgatherv and Iallgatherv of unequal blocks, each SMALL times of 8 bytes and LARGE times of
// 1,024 (of a block, of unequal ones in the mean), for tune_rows_test.sh. Exits with 1 where bytes are not their
// rank's.
//   tune_rows_calls SMALL LARGE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1024, RANKS = 2 };

static int rank, wrong;
static unsigned char mine[2 * MOST], all[2 * MOST];

static void expect(const unsigned char *block, int bytes, int from)
{
    for (int i = 0; i < bytes; i++) {
        wrong += block[i] != 'a' + from;
    }
}

static void end(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void calls(int bytes)
{
    const int counts[RANKS] = {bytes / 2, 2 * bytes - bytes / 2}, places[RANKS] = {0, bytes / 2};
    MPI_Request request;

    memset(mine, 'a' + rank, sizeof mine);
    memset(all, 0, sizeof all);
    MPI_Ibcast(mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    end(&request);
    expect(mine, bytes, 0);
    memset(mine, 'a' + rank, sizeof mine);
    MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    end(&request);
    expect(all, bytes, 0);
    expect(all + bytes, bytes, 1);
    for (int way = 0; way < 2; way++) {
        memset(all, 0, sizeof all);
        if (way == 0) {
            MPI_Allgatherv(mine, counts[rank], MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD);
        } else {
            MPI_Iallgatherv(mine, counts[rank], MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
            end(&request);
        }
        expect(all, counts[0], 0);
        expect(all + places[1], counts[1], 1);
    }
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks != RANKS) {
        fputs("usage: mpirun -n 2 tune_rows_calls SMALL LARGE\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = atoi(argv[1]); i > 0; i--) {
        calls(8);
    }
    for (int i = atoi(argv[2]); i > 0; i--) {
        calls(MOST);
    }
    MPI_Finalize();
    return wrong != 0;
}
