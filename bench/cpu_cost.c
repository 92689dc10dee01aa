// SPDX-License-Identifier: BSD-3-Clause
//
// What processor time broadcasts of long blocks take, at the sender and at each receiver: for figure M49. Every rank
// counts its own, all threads together, from its first timed broadcast to the end of its last; ranks that wait in a
// barrier before or after are not counted. A line for each rank:
//   used sender|receiver RANK user_s system_s wall_s from_s to_s
// System time has in it what the kernel does for others while it is in the middle of this rank's calls (softirq);
// bench/softirq.py tells how much, by the names that this program gives its threads.
//
//   cpu_cost BYTES COUNT
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define WARM 3

enum { USER, SYSTEM, FROM, TO, PARTS };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

// All threads, also those that a library has started.
static void name_threads(int rank)
{
    DIR *threads = opendir("/proc/self/task");
    for (const struct dirent *entry; threads && (entry = readdir(threads));) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *name = entry->d_name[0] == '.' ? NULL : fopen(path, "w");
        if (name) {
            fputs(rank == 0 ? "cost-sender" : "cost-receiver", name);
            fclose(name);
        }
    }
    if (threads) {
        closedir(threads);
    }
}

static size_t count_wrong(const unsigned char *block, size_t bytes, int round)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        wrong += block[i] != (unsigned char)(i * 7 + (i >> 8) + (size_t)round);
    }
    return wrong;
}

static void fill(unsigned char *block, size_t bytes, int round)
{
    for (size_t i = 0; i < bytes; i++) {
        block[i] = (unsigned char)(i * 7 + (i >> 8) + (size_t)round);
    }
}

static void measure(unsigned char *block, int bytes, int count, double parts[PARTS])
{
    struct rusage before, after;
    MPI_Barrier(MPI_COMM_WORLD);
    parts[FROM] = now_s();
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < count; i++) {
        MPI_Bcast(block, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    getrusage(RUSAGE_SELF, &after);
    parts[TO] = now_s();
    parts[USER] = seconds(after.ru_utime) - seconds(before.ru_utime);
    parts[SYSTEM] = seconds(after.ru_stime) - seconds(before.ru_stime);
}

static void print_all(int rank, int ranks, double parts[PARTS])
{
    double *all = calloc((size_t)ranks * PARTS, sizeof *all);
    MPI_Gather(parts, PARTS, MPI_DOUBLE, all, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < ranks; r++) {
        const double *one = all + (size_t)r * PARTS;
        printf("used %s %d %.4f %.4f %.4f %.6f %.6f\n", r ? "receiver" : "sender", r, one[USER], one[SYSTEM],
               one[TO] - one[FROM], one[FROM], one[TO]);
    }
    free(all);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    double parts[PARTS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int bytes = argc == 3 ? atoi(argv[1]) : 0, count = argc == 3 ? atoi(argv[2]) : 0;
    if (bytes < 1 || count < 1) {
        fputs("usage: cpu_cost BYTES COUNT\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    unsigned char *block = malloc((size_t)bytes);
    fill(block, (size_t)bytes, rank ? 1 : 0);
    for (int i = 0; i < WARM; i++) {
        MPI_Bcast(block, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    name_threads(rank);
    fill(block, (size_t)bytes, rank ? 1 : 2);
    measure(block, bytes, count, parts);
    size_t wrong = count_wrong(block, (size_t)bytes, 2);
    if (wrong) {
        fprintf(stderr, "cpu_cost: rank %d: %zu wrong bytes\n", rank, wrong);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    print_all(rank, ranks, parts);
    free(block);
    MPI_Finalize();
    return 0;
}
