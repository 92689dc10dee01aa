// SPDX-License-Identifier: BSD-3-Clause
//
// What communicators cost: the median time to duplicate one and use it for the first time, without and with castoff in
// turn, and the processor time that 64 of them use while the program sleeps. Line of rank 0:
//   stock_dup_us castoff_dup_us stock_first_us castoff_first_us idle_cpu_ms_per_s
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 41, IDLE = 64, SIDES = 2 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static MPI_Comm duplicate(int is_castoff)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm comm;
    MPI_Info_create(&info);
    if (!is_castoff) {
        MPI_Info_set(info, "castoff", "no");
    }
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median over rounds of the slowest rank.
static double median_of_slowest(double *mine)
{
    double slowest[ROUNDS];
    MPI_Allreduce(mine, slowest, ROUNDS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(slowest, ROUNDS, sizeof *slowest, compare);
    return slowest[ROUNDS / 2];
}

static double processor_ms(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

static double idle_ms_per_s(void)
{
    struct timespec pause = {1, 0};
    MPI_Comm comms[IDLE];
    int value = 1;
    double sum;
    for (int i = 0; i < IDLE; i++) {
        comms[i] = duplicate(1);
        MPI_Bcast(&value, 1, MPI_INT, 0, comms[i]);
    }
    double before = processor_ms();
    nanosleep(&pause, NULL);
    double used = processor_ms() - before;
    MPI_Allreduce(&used, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < IDLE; i++) {
        MPI_Comm_free(&comms[i]);
    }
    return sum;
}

int main(int argc, char **argv)
{
    static double dup_us[SIDES][ROUNDS], first_us[SIDES][ROUNDS];
    int rank, value = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        for (int side = 0; side < SIDES; side++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = now_us();
            MPI_Comm comm = duplicate(side);
            double made = now_us();
            MPI_Bcast(&value, 1, MPI_INT, 0, comm);
            dup_us[side][round] = made - start;
            first_us[side][round] = now_us() - made;
            MPI_Comm_free(&comm);
        }
    }
    double results[] = {median_of_slowest(dup_us[0]), median_of_slowest(dup_us[1]), median_of_slowest(first_us[0]),
                        median_of_slowest(first_us[1]), idle_ms_per_s()};
    if (rank == 0) {
        puts("# stock_dup_us castoff_dup_us stock_first_us castoff_first_us idle_cpu_ms_per_s");
        printf("%.1f %.1f %.1f %.1f %.2f\n", results[0], results[1], results[2], results[3], results[4]);
    }
    MPI_Finalize();
    return 0;
}
