// SPDX-License-Identifier: BSD-3-Clause
//
// How much of a small collective's time is waiting for ranks that have yet to come. Where ranks share processors, a
// barrier lets them go one after the other, and a rank that computes keeps the others of its processor in the barrier:
// no library can end an operation before the last rank has begun it. Times of all ranks are taken by one clock, so
// their hosts must be one machine (the laboratory's are). Stock and castoff in turn, medians:
//   late      between the first rank's call and the last one's
//   first     between the last rank's call and the first return
//   last      and the last return
//   longest   time of the rank that took longest, as benchmarks report it
//   waited    in MPI_Wait, the median rank (iallgather only)
//
//   entry_skew bcast|allgather|iallgather BYTES ROUNDS [COMPUTE_US]
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CASTOFF, STOCK, SIDES };
enum { CALLED, COMPUTED, RETURNED, STAMPS };
enum { LATE, FIRST, LAST, LONGEST, WAITED, PARTS };

struct job {
    const char *call;
    int bytes, rank, ranks;
    double compute_us;
    char *mine, *all;
    MPI_Comm comms[SIDES];
};

static volatile double sink;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void compute(double until_us)
{
    while (now_us() < until_us) {
        double x = sink;
        for (int i = 0; i < 600; i++) {
            x = x * 0.999999 + 0.5;
        }
        sink = x;
    }
}

static void call_once(const struct job *job, MPI_Comm comm, double stamps[STAMPS])
{
    MPI_Request request = MPI_REQUEST_NULL;
    const struct timespec pause = {0, 200000};

    nanosleep(&pause, NULL); // links have room again
    MPI_Barrier(job->comms[STOCK]);
    stamps[CALLED] = now_us();
    if (strcmp(job->call, "bcast") == 0) {
        MPI_Bcast(job->mine, job->bytes, MPI_BYTE, 0, comm);
    } else if (strcmp(job->call, "allgather") == 0) {
        MPI_Allgather(job->mine, job->bytes, MPI_BYTE, job->all, job->bytes, MPI_BYTE, comm);
    } else {
        MPI_Iallgather(job->mine, job->bytes, MPI_BYTE, job->all, job->bytes, MPI_BYTE, comm, &request);
        compute(stamps[CALLED] + job->compute_us);
    }
    stamps[COMPUTED] = now_us();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    stamps[RETURNED] = now_us();
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

// Of one round, from the stamps of all ranks.
static void judge(const double *stamps, int ranks, double parts[PARTS])
{
    double first_call = stamps[CALLED], last_call = first_call, first = stamps[RETURNED], last = first, waits[ranks];
    parts[LONGEST] = 0;
    for (int i = 0; i < ranks; i++) {
        const double *of = stamps + (size_t)i * STAMPS;
        first_call = of[CALLED] < first_call ? of[CALLED] : first_call;
        last_call = of[CALLED] > last_call ? of[CALLED] : last_call;
        first = of[RETURNED] < first ? of[RETURNED] : first;
        last = of[RETURNED] > last ? of[RETURNED] : last;
        parts[LONGEST] = of[RETURNED] - of[CALLED] > parts[LONGEST] ? of[RETURNED] - of[CALLED] : parts[LONGEST];
        waits[i] = of[RETURNED] - of[COMPUTED];
    }
    parts[LATE] = last_call - first_call;
    parts[FIRST] = first - last_call;
    parts[LAST] = last - last_call;
    parts[WAITED] = median(waits, ranks);
}

static void measure(const struct job *job, int rounds)
{
    double mine[STAMPS], *all = calloc((size_t)job->ranks * STAMPS, sizeof *all);
    double *values = calloc((size_t)SIDES * PARTS * (size_t)rounds, sizeof *values);
    for (int round = 0; round < rounds; round++) {
        for (int side = 0; side < SIDES; side++) {
            double parts[PARTS];
            call_once(job, job->comms[side], mine);
            MPI_Gather(mine, STAMPS, MPI_DOUBLE, all, STAMPS, MPI_DOUBLE, 0, job->comms[STOCK]);
            judge(all, job->ranks, parts);
            for (int part = 0; part < PARTS; part++) {
                values[(side * PARTS + part) * rounds + round] = parts[part];
            }
        }
    }
    if (job->rank == 0) {
        printf("# medians, us   bytes computing us side          late     first      last   longest    waited\n");
    }
    for (int side = SIDES - 1; side >= 0 && job->rank == 0; side--) {
        printf("%-10s %9d %12.0f %-8s", job->call, job->bytes, job->compute_us, side == STOCK ? "stock" : "castoff");
        for (int part = 0; part < PARTS; part++) {
            printf(" %9.1f", median(values + (side * PARTS + part) * rounds, rounds));
        }
        printf("\n");
    }
    free(values);
    free(all);
}

int main(int argc, char **argv)
{
    struct job job;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    int rounds = argc < 4 ? 0 : atoi(argv[3]);
    job.bytes = argc < 4 ? 0 : atoi(argv[2]);
    if (rounds < 1 || job.bytes < 1 || job.bytes > 1 << 24) {
        fputs("usage: entry_skew bcast|allgather|iallgather BYTES ROUNDS [COMPUTE_US]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    job.call = argv[1];
    job.compute_us = argc < 5 ? 0 : atof(argv[4]);
    job.mine = calloc(1, (size_t)job.bytes);
    job.all = calloc((size_t)job.ranks, (size_t)job.bytes);
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup(MPI_COMM_WORLD, &job.comms[CASTOFF]);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &job.comms[STOCK]);
    MPI_Info_free(&info);
    measure(&job, rounds);
    MPI_Comm_free(&job.comms[CASTOFF]);
    MPI_Comm_free(&job.comms[STOCK]);
    free(job.mine);
    free(job.all);
    MPI_Finalize();
    return 0;
}
