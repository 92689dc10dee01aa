// SPDX-License-Identifier: BSD-3-Clause
//
// An ordinary MPI program for `make demo`: in each step rank 0 broadcasts a model, every rank computes the share of
// it that it owns, and the shares are gathered everywhere. It knows nothing of castoff. Prints one line, the digest of
// the last model, which is the same whatever carries the bytes and however many ranks there are.
//   demo_app [KIBIBYTES OF THE MODEL] [STEPS]
#include <mpi.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t next_value(uint32_t value, int step)
{
    return (value ^ (uint32_t)step) * UINT32_C(2654435761) + 12345;
}

static uint64_t digest(const uint32_t *values, size_t count)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++) {
        sum = (sum ^ values[i]) * UINT64_C(1099511628211);
    }
    return sum;
}

// Shares are equal, so the model is rounded up to a multiple of the ranks; what is added does not count.
static void run_steps(uint32_t *model, int share, int rank, int steps)
{
    uint32_t *mine = malloc((size_t)share * sizeof *mine);
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (mine == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int step = 0; step < steps; step++) {
        MPI_Bcast(model, share * ranks, MPI_UINT32_T, 0, MPI_COMM_WORLD);
        for (int i = 0; i < share; i++) {
            mine[i] = next_value(model[(size_t)rank * (size_t)share + (size_t)i], step);
        }
        MPI_Allgather(mine, share, MPI_UINT32_T, model, share, MPI_UINT32_T, MPI_COMM_WORLD);
    }
    free(mine);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int kibibytes = argc > 1 ? atoi(argv[1]) : 1024, steps = argc > 2 ? atoi(argv[2]) : 10;
    if (kibibytes < 1 || kibibytes > 1024 * 1024 || steps < 0) {
        if (rank == 0) {
            fputs("usage: demo_app [KIBIBYTES OF THE MODEL] [STEPS]\n", stderr);
        }
        MPI_Finalize();
        return 2;
    }
    int values = kibibytes * 256, share = (values + ranks - 1) / ranks;
    uint32_t *model = calloc((size_t)share * (size_t)ranks, sizeof *model);
    if (model == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; rank == 0 && i < values; i++) {
        model[i] = (uint32_t)i;
    }
    run_steps(model, share, rank, steps);
    if (rank == ranks - 1) {
        printf("model of %d KiB after %d steps: %016" PRIx64 "\n", kibibytes, steps, digest(model, (size_t)values));
    }
    free(model);
    MPI_Finalize();
    return 0;
}
