// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank itself has of MPI_Ialltoall, for figures M30, M32 and M33; medians, of rank 0 unless it says otherwise.
//
//   alltoall [--pin KIND] cost BYTES ROUNDS           start and wait back to back: us of the slowest rank; the rank's
//   own
//                                                     processor time in both, us; the start alone, us
//   alltoall [--pin KIND] total BYTES ROUNDS US       start, US of computation of rank 0 alone, wait: us
//   alltoall [--pin KIND] warm BYTES ROUNDS           without warm-up: the first three calls over the median of the
//   later
//                                                     ones; two pairs of buffers in turn, and new ones in each call,
//                                                     over one pair, each in the same rounds
//
// BYTES for each rank. KIND as of castoff bench; --test US behind it: MPI_Test in the computation every US
// microseconds. One line "what: name value ...". Exits 1 if a byte is wrong.
#define _GNU_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "coll.h"

enum { FIRST = 3, WARM = 3, KINDS = 3 }; // calls looked at; rounds before those that count; kinds of buffers

struct pair {
    unsigned char *out, *in;
};

static int rank, ranks, rounds;
static size_t bytes, wrong;
static double test_us;
static volatile double sink;

static double clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
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

// Pages that nobody has touched, as the next call of a program that allocates anew has them.
static struct pair pair_take(void)
{
    size_t all = bytes * (size_t)ranks;
    struct pair pair = {mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    if (pair.out == MAP_FAILED || pair.in == MAP_FAILED) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return pair;
}

static void pair_give(const struct pair *pair)
{
    munmap(pair->out, bytes * (size_t)ranks);
    munmap(pair->in, bytes * (size_t)ranks);
}

static unsigned char byte_of(int from, int to, int round)
{
    return (unsigned char)(1 + 31 * from + 7 * to + round);
}

static void pair_fill(const struct pair *pair, int round)
{
    for (int to = 0; to < ranks; to++) {
        memset(pair->out + (size_t)to * bytes, byte_of(rank, to, round), bytes);
    }
}

static void pair_check(const struct pair *pair, int round)
{
    for (int from = 0; from < ranks; from++) {
        for (size_t i = 0; i < bytes; i++) {
            wrong += pair->in[(size_t)from * bytes + i] != byte_of(from, rank, round);
        }
    }
}

static void compute(double us, MPI_Request *request)
{
    double now = clock_us(CLOCK_MONOTONIC), until = now + us, tested = now, x = sink;
    while (now < until) {
        for (int i = 0; i < 600; i++) {
            x = x * 0.999999 + 0.5;
        }
        now = clock_us(CLOCK_MONOTONIC);
        if (test_us > 0 && now - tested >= test_us) {
            int flag;
            MPI_Test(request, &flag, MPI_STATUS_IGNORE);
            tested = clock_us(CLOCK_MONOTONIC);
            until += tested - now; // nothing was computed meanwhile
        }
    }
    sink = x;
}

struct times {
    double all, start, processor;
};

static struct times exchange(const struct pair *pair, int round, double compute_us)
{
    MPI_Request request;
    struct times times;
    pair_fill(pair, round);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = clock_us(CLOCK_MONOTONIC), spent = clock_us(CLOCK_THREAD_CPUTIME_ID);
    MPI_Ialltoall(pair->out, (int)bytes, MPI_BYTE, pair->in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    times.start = clock_us(CLOCK_MONOTONIC) - begin;
    if (compute_us > 0 && rank == 0) {
        compute(compute_us, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    times.processor = clock_us(CLOCK_THREAD_CPUTIME_ID) - spent;
    times.all = clock_us(CLOCK_MONOTONIC) - begin;
    pair_check(pair, round);
    return times;
}

static double of_slowest(double us)
{
    double slowest;
    MPI_Allreduce(&us, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void run_cost(double *values)
{
    struct pair pair = pair_take();
    double *start = values + rounds, *processor = start + rounds;
    for (int round = -WARM; round < rounds; round++) {
        struct times times = exchange(&pair, round + WARM, 0);
        double all = of_slowest(times.all);
        if (round >= 0) {
            values[round] = all;
            start[round] = times.start;
            processor[round] = times.processor;
        }
    }
    if (rank == 0) {
        printf("cost: ranks %d bytes %zu pure_us %.1f processor_us %.1f start_us %.2f\n", ranks, bytes,
               median(values, rounds), median(processor, rounds), median(start, rounds));
    }
    pair_give(&pair);
}

static void run_total(double *values, double compute_us)
{
    struct pair pair = pair_take();
    for (int round = -WARM; round < rounds; round++) {
        struct times times = exchange(&pair, round + WARM, compute_us);
        if (round >= 0) {
            values[round] = times.all;
        }
    }
    if (rank == 0) {
        printf("total: ranks %d bytes %zu compute_us %.1f total_us %.1f\n", ranks, bytes, compute_us,
               median(values, rounds));
    }
    pair_give(&pair);
}

static void run_warm(double *values)
{
    struct pair pairs[2] = {pair_take(), pair_take()};
    double first[FIRST], middle[KINDS];
    for (int round = 0; round < FIRST + rounds; round++) {
        double us = of_slowest(exchange(&pairs[0], round, 0).all);
        *(round < FIRST ? &first[round] : &values[round - FIRST]) = us;
    }
    double later = median(values, rounds);
    for (int round = 0; round < rounds; round++) {
        for (int kind = 0; kind < KINDS; kind++) { // one pair, two in turn, new ones
            struct pair pair = kind == 2 ? pair_take() : pairs[kind == 1 ? round % 2 : 0];
            values[kind * rounds + round] = of_slowest(exchange(&pair, round * KINDS + kind, 0).all);
            if (kind == 2) {
                pair_give(&pair);
            }
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        middle[kind] = median(values + kind * rounds, rounds);
    }
    if (rank == 0) {
        printf("warm: ranks %d bytes %zu later_us %.1f first %.3f second %.3f third %.3f in_turn %.3f new %.3f\n",
               ranks, bytes, later, first[0] / later, first[1] / later, first[2] / later, middle[1] / middle[0],
               middle[2] / middle[0]);
    }
    pair_give(&pairs[0]);
    pair_give(&pairs[1]);
}

int main(int argc, char **argv)
{
    (void)coll_place_pin(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int at = 1;
    for (; argc > at + 1 && strncmp(argv[at], "--", 2) == 0; at += 2) {
        test_us = strcmp(argv[at], "--test") == 0 ? atof(argv[at + 1]) : test_us;
    }
    const char *what = argc > at + 2 ? argv[at] : "";
    bytes = argc > at + 2 ? strtoull(argv[at + 1], NULL, 0) : 0;
    rounds = argc > at + 2 ? atoi(argv[at + 2]) : 0;
    double *values = rounds > 0 ? calloc((size_t)rounds * KINDS, sizeof *values) : NULL;
    if (values != NULL && bytes > 0 && strcmp(what, "cost") == 0) {
        run_cost(values);
    } else if (values != NULL && bytes > 0 && strcmp(what, "total") == 0 && argc > at + 3) {
        run_total(values, atof(argv[at + 3]));
    } else if (values != NULL && bytes > 0 && strcmp(what, "warm") == 0) {
        run_warm(values);
    } else {
        fputs("usage: alltoall [--pin KIND] [--test US] cost|total|warm BYTES ROUNDS [US]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    free(values);
    if (wrong > 0) {
        fprintf(stderr, "alltoall: rank %d: %zu wrong bytes\n", rank, wrong);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
