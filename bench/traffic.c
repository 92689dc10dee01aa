// SPDX-License-Identifier: BSD-3-Clause
//
// A given number of equal collectives and nothing else, for counting bytes at switch ports: the counters of a job with
// COUNT calls less those of a job with none are the calls' own. With --timed each has a barrier before it, and rank 0
// prints the first, the median and the highest time of the slowest rank, in microseconds.
//   traffic [--timed] bcast|allgather|ialltoall BYTES COUNT
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct traffic {
    int rank, ranks, is_bcast, is_to_all, bytes, count;
    unsigned char *mine, *all;
    double *times; // NULL: they are not taken
};

static void call(const struct traffic *traffic)
{
    int bytes = traffic->bytes;
    MPI_Request request;
    if (traffic->is_bcast) {
        MPI_Bcast(traffic->mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    } else if (traffic->is_to_all) {
        MPI_Ialltoall(traffic->mine, bytes, MPI_BYTE, traffic->all, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Allgather(traffic->mine, bytes, MPI_BYTE, traffic->all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    }
}

// In microseconds, of the slowest rank; on rank 0.
static double time_call(const struct traffic *traffic)
{
    double slowest = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    call(traffic);
    double own = (MPI_Wtime() - start) * 1e6;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

static size_t count_wrong(const struct traffic *traffic, int round)
{
    size_t wrong = 0;
    for (int from = 0; from < (traffic->is_bcast ? 1 : traffic->ranks); from++) {
        const unsigned char *block =
            traffic->is_bcast ? traffic->mine : traffic->all + (size_t)from * (size_t)traffic->bytes;
        for (int i = 0; i < traffic->bytes; i++) {
            wrong += block[i] != (unsigned char)(from + round);
        }
    }
    return wrong;
}

static size_t run(const struct traffic *traffic)
{
    size_t mine_bytes = (size_t)traffic->bytes * (size_t)(traffic->is_to_all ? traffic->ranks : 1); // the same for each
    size_t all_bytes = (size_t)traffic->bytes * (size_t)traffic->ranks, wrong = 0;
    for (int round = 0; round < traffic->count; round++) {
        memset(traffic->mine, traffic->is_bcast && traffic->rank ? 0xff : traffic->rank + round, mine_bytes);
        memset(traffic->all, 0xff, all_bytes);
        if (traffic->times != NULL) {
            traffic->times[round] = time_call(traffic);
        } else {
            call(traffic);
        }
        wrong += count_wrong(traffic, round);
    }
    return wrong;
}

static int by_time(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print_times(double *times, size_t count)
{
    double first = times[0];
    qsort(times, count, sizeof *times, by_time);
    printf("%.0f %.0f %.0f\n", first, times[count / 2], times[count - 1]);
}

static void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    struct traffic traffic = {.times = NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &traffic.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &traffic.ranks);
    int is_timed = argc == 5 && strcmp(argv[1], "--timed") == 0;
    if (argc != 4 + is_timed) {
        stop("usage: traffic [--timed] bcast|allgather|ialltoall BYTES COUNT");
    }
    argv += is_timed;
    traffic.is_bcast = strcmp(argv[1], "bcast") == 0;
    traffic.is_to_all = strcmp(argv[1], "ialltoall") == 0;
    traffic.bytes = atoi(argv[2]);
    traffic.count = atoi(argv[3]);
    traffic.mine = malloc((size_t)traffic.bytes * (size_t)(traffic.is_to_all ? traffic.ranks : 1));
    traffic.all = malloc((size_t)traffic.bytes * (size_t)traffic.ranks);
    traffic.times = is_timed && traffic.count > 0 ? calloc((size_t)traffic.count, sizeof *traffic.times) : NULL;
    if (traffic.mine == NULL || traffic.all == NULL || (is_timed && traffic.times == NULL)) {
        stop("traffic: no memory, or no calls to time");
    }
    size_t wrong = run(&traffic);
    if (wrong) {
        fprintf(stderr, "traffic: rank %d: %zu wrong bytes\n", traffic.rank, wrong);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (traffic.rank == 0 && is_timed) {
        print_times(traffic.times, (size_t)traffic.count);
    }
    free(traffic.times);
    free(traffic.mine);
    free(traffic.all);
    MPI_Finalize();
    return 0;
}
