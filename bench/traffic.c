// SPDX-License-Identifier: BSD-3-Clause
//
// A given number of equal collectives and nothing else, for counting bytes at switch ports: the counters of a job with
// COUNT calls less those of a job with none are the calls' own.
//   traffic bcast|allgather|ialltoall BYTES COUNT
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4) {
        fputs("usage: traffic bcast|allgather|ialltoall BYTES COUNT\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int bytes = atoi(argv[2]), count = atoi(argv[3]), is_bcast = strcmp(argv[1], "bcast") == 0;
    int is_to_all = strcmp(argv[1], "ialltoall") == 0, blocks = is_to_all ? ranks : 1; // the same for each
    unsigned char *mine = malloc((size_t)bytes * (size_t)blocks), *all = malloc((size_t)bytes * (size_t)ranks);
    size_t wrong = 0;
    for (int round = 0; round < count; round++) {
        memset(mine, is_bcast && rank ? 0xff : rank + round, (size_t)bytes * (size_t)blocks);
        memset(all, 0xff, (size_t)bytes * (size_t)ranks);
        if (is_bcast) {
            MPI_Bcast(mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        } else if (is_to_all) {
            MPI_Request request;
            MPI_Ialltoall(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
        }
        for (int from = 0; from < (is_bcast ? 1 : ranks); from++) {
            const unsigned char *block = is_bcast ? mine : all + (size_t)from * (size_t)bytes;
            for (int i = 0; i < bytes; i++) {
                wrong += block[i] != (unsigned char)(from + round);
            }
        }
    }
    free(mine);
    free(all);
    if (wrong) {
        fprintf(stderr, "traffic: rank %d: %zu wrong bytes\n", rank, wrong);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
