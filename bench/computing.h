// SPDX-License-Identifier: BSD-3-Clause
//
// What programs that compute while they communicate share (bench/fft3d.c, bench/panel_lu.c): options, a clock, numbers
// that look like chance, and who was slowest.
#ifndef CASTOFF_BENCH_COMPUTING_H
#define CASTOFF_BENCH_COMPUTING_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double computing_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// -0.5 to 0.5, the same for the same.
static inline double computing_chance(uint64_t x)
{
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) / 9007199254740992.0 - 0.5;
}

// Reads `[--by USUAL|OTHER] [--test US]`. The place of the first word behind them; 0: they are not right.
static inline int computing_read(int argc, char **argv, const char *usual, const char *other, bool *is_other,
                                 double *test_us)
{
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        const char *value = argv[at + 1];
        if (strcmp(argv[at], "--test") == 0) {
            *test_us = atof(value);
        } else if (strcmp(argv[at], "--by") == 0 && (strcmp(value, usual) == 0 || strcmp(value, other) == 0)) {
            *is_other = strcmp(value, other) == 0;
        } else {
            return 0;
        }
    }
    return at;
}

// values[0] of all ranks is compared; all get the values of the one whose is the largest.
static inline void computing_slowest(double *values, int count)
{
    struct {
        double us;
        int rank;
    } slowest = {values[0], 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &slowest.rank);
    MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Bcast(values, count, MPI_DOUBLE, slowest.rank, MPI_COMM_WORLD);
}

#endif
