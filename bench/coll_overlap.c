// SPDX-License-Identifier: BSD-3-Clause
//
// Overlap of nonblocking collectives with computation, as the OSU benchmarks define it: 100 * (1 - (total - compute) /
// pure), where pure is start and wait back to back, compute the computation alone and total start, computation, wait.
// Each of the three is taken in every round, sides in turn; medians of a rank, then means over ranks. The computation
// lasts as long as the median of communication alone so far, of the rank where that is longest, or there would be
// nothing for the rest of it to hide behind. It is theirs, too, if not told otherwise: units of work until the time is
// over. With `--pin measured` rank 0 alone computes, and what is printed is its own.
#include "coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT_STEPS 600  // about as long as the 25 x 25 matrix of the OSU benchmarks
#define ROUNDS_BEFORE 5 // of communication alone
#define CALIBRATIONS 5

enum { PURE, COMPUTE, TOTAL, START, PARTS };

static double steps_per_second;
static volatile double sink;

static void compute_steps(double steps)
{
    double x = sink;
    for (double i = 0; i < steps; i += 1) {
        x = x * 0.999999 + 0.5;
    }
    sink = x;
}

static bool is_measured(const struct coll_run *run)
{
    return run->options.pin != COLL_PIN_MEASURED || run->rank == 0;
}

static void compute(const struct coll_run *run, double seconds)
{
    if (!is_measured(run)) {
        return;
    }
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    double start = coll_now();
    switch (run->options.compute) {
    case COLL_COMPUTE_SLEEP:
        nanosleep(&pause, NULL);
        break;
    case COLL_COMPUTE_STEPS:
        compute_steps(seconds * steps_per_second);
        break;
    default:
        while (coll_now() - start < seconds) {
            compute_steps(UNIT_STEPS);
        }
    }
}

// All ranks at once, as they will compute later: on an oversubscribed machine a step takes longer then. The fastest of
// a few turns: a computation that something else has interrupted would make the others too short.
static void calibrate(struct coll_run *run)
{
    const double steps = 1e6;
    double mine = 0, sum;
    for (int i = 0; i < CALIBRATIONS; i++) {
        MPI_Barrier(run->control);
        double start = coll_now();
        compute_steps(steps);
        double speed = steps / (coll_now() - start);
        mine = speed > mine ? speed : mine;
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, run->control);
    steps_per_second = sum / run->ranks;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of_medians(struct coll_run *run, double *values, int count)
{
    double mine, sum;
    qsort(values, (size_t)count, sizeof *values, compare);
    mine = is_measured(run) ? values[count / 2] : 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, run->control);
    return run->options.pin == COLL_PIN_MEASURED ? sum : sum / run->ranks;
}

// The running median of communication alone, of the rank where it is longest. `pure` has room for as many again.
static double computation_length(struct coll_run *run, double *pure, int count)
{
    double *sorted = pure + count, longest;
    memcpy(sorted, pure, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    MPI_Allreduce(&sorted[count / 2], &longest, 1, MPI_DOUBLE, MPI_MAX, run->control);
    return longest;
}

// `pure` has `before` times of communication alone, and gets this round's.
static void one_round(struct coll_run *run, const struct coll_side *side, enum coll_call call, size_t bytes,
                      double *pure, int before, double parts[PARTS], size_t *wrong)
{
    MPI_Request request;
    parts[PURE] = pure[before] = coll_sample(run, side, call, bytes, 1, wrong);
    double length = computation_length(run, pure, before + 1);
    MPI_Barrier(run->control);
    double start = coll_now();
    compute(run, length);
    parts[COMPUTE] = coll_now() - start;
    coll_sample_prepare(run, call, bytes);
    MPI_Barrier(run->control);
    start = coll_now();
    coll_sample_start(run, side, call, bytes, &request);
    parts[START] = coll_now() - start;
    compute(run, length);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    parts[TOTAL] = coll_now() - start;
    *wrong += coll_sample_check(run, call, bytes);
}

bool coll_is_overlap(enum coll_call call)
{
    return call >= COLL_OVERLAP;
}

static enum coll_call call_of(enum coll_call overlap)
{
    static const enum coll_call calls[] = {COLL_IALLGATHER, COLL_IBCAST, COLL_IALLGATHERV, COLL_IALLTOALL,
                                           COLL_IALLTOALLV};
    _Static_assert(sizeof calls / sizeof *calls == COLL_CALLS - COLL_OVERLAP, "in the order of enum coll_call");
    return calls[overlap - COLL_OVERLAP];
}

// What all ranks have measured on one side, `values` of each part.
static void print_side(struct coll_run *run, enum coll_call overlap, size_t bytes, const char *side, double *values,
                       int rounds, size_t wrong)
{
    double mean[PARTS];
    unsigned long long mine = wrong, all = 0;
    for (int part = 0; part < PARTS; part++) {
        mean[part] = mean_of_medians(run, &values[part * rounds], rounds);
    }
    MPI_Reduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, run->control);
    double percent = 100 * (1 - (mean[TOTAL] - mean[COMPUTE]) / mean[PURE]);
    if (run->rank == 0) {
        printf("%s %zu %s %llu %d %.1f %.1f %.1f %.1f %.2f\n", coll_call_names[overlap], bytes, side, all, rounds,
               mean[PURE] * 1e9, mean[START] * 1e9, mean[COMPUTE] * 1e9, mean[TOTAL] * 1e9, percent < 0 ? 0 : percent);
    }
}

void coll_overlap_measure(struct coll_run *run, enum coll_call overlap, size_t bytes)
{
    enum coll_call call = call_of(overlap);
    int rounds = run->options.rounds_min;
    double *values = calloc((size_t)PARTS * (size_t)rounds * COLL_SIDES_MAX, sizeof *values);
    double *pure[COLL_SIDES_MAX];
    size_t wrong[COLL_SIDES_MAX] = {0};
    calibrate(run);
    for (int s = 0; s < run->side_count; s++) {
        pure[s] = calloc(2 * (size_t)(rounds + ROUNDS_BEFORE), sizeof *pure[s]);
        for (int i = 0; coll_side_serves(&run->sides[s], call) && i < ROUNDS_BEFORE; i++) {
            pure[s][i] = coll_sample(run, &run->sides[s], call, bytes, 1, &wrong[s]);
        }
    }
    for (int round = 0; round < rounds; round++) {
        for (int s = 0; s < run->side_count; s++) {
            double parts[PARTS];
            if (!coll_side_serves(&run->sides[s], call)) {
                continue;
            }
            one_round(run, &run->sides[s], call, bytes, pure[s], ROUNDS_BEFORE + round, parts, &wrong[s]);
            for (int part = 0; part < PARTS; part++) {
                values[(s * PARTS + part) * rounds + round] = parts[part];
            }
        }
    }
    for (int s = 0; s < run->side_count; s++) {
        free(pure[s]);
    }
    for (int s = 0; s < run->side_count; s++) {
        if (coll_side_serves(&run->sides[s], call)) {
            print_side(run, overlap, bytes, run->sides[s].name, &values[s * PARTS * rounds], rounds, wrong[s]);
        }
    }
    free(values);
}
