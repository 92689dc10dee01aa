// SPDX-License-Identifier: BSD-3-Clause
//
// An LU decomposition by panels with look-ahead, for figures M39 and M40: a matrix of ORDER x ORDER, whose columns are
// dealt out to the ranks in panels of BLOCK. The owner of a panel decomposes it, with pivots, and sends it to all;
// meanwhile everybody applies the panel before to the rest of the matrix, as HPL does with a depth of 1.
//
//   panel_lu [--by ibcast|ring] [--test US] ORDER BLOCK
//
// BLOCK is a multiple of 8 that divides ORDER. --by ring: a panel goes from rank to rank by messages. --test: MPI_Test
// in the computation, every US microseconds; a ring passes on at these times. One line "panel_lu: name value ...": us
// of the slowest rank, what it computed and waited of these, and the residual as HPL has it, of P A x against L U x:
// max norm over epsilon, norms of A and x, and ORDER. Exits 1 if that is above 16.
#include "computing.h"

#include <mpi.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 8 }; // rows at once

static const double RESIDUAL_MOST = 16;

// A panel on its way: its rows from the diagonal on, by columns, then its pivots, as numbers of rows.
struct panel {
    double *numbers;
    MPI_Request request, forward; // of a ring: what comes from the left, what goes to the right
    int number;
};

static int rank, ranks;
static size_t order, block, panel_count, mine; // panels, and those of this rank
static double *matrix;                         // of this rank, by columns
static size_t *pivots;
static struct panel panels[2]; // in turn
static bool by_ring;
static double test_us, tested_at, waited_us;

static int owner_of(size_t number)
{
    return (int)(number % (size_t)ranks);
}

static size_t number_of(size_t own) // of the panel that is this rank's `own`-th
{
    return own * (size_t)ranks + (size_t)rank;
}

static double *column_of(size_t own, size_t column)
{
    return matrix + (own * block + column) * order;
}

static int count_of(size_t number) // of the doubles of a panel
{
    return (int)((order - number * block) * block + block);
}

static int right_of(int who)
{
    return (who + 1) % ranks;
}

// What has come from the left goes on to the right, unless the owner is there.
static void ring_pass(struct panel *panel)
{
    if (right_of(rank) != owner_of((size_t)panel->number) && owner_of((size_t)panel->number) != rank) {
        MPI_Isend(panel->numbers, count_of((size_t)panel->number), MPI_DOUBLE, right_of(rank), 0, MPI_COMM_WORLD,
                  &panel->forward);
    }
}

static void panel_send(size_t number)
{
    double began = computing_now_us();
    struct panel *panel = &panels[number % 2];
    int count = count_of(number), owner = owner_of(number);
    MPI_Wait(&panel->forward, MPI_STATUS_IGNORE); // the one before in this memory
    panel->number = (int)number;
    if (!by_ring) {
        MPI_Ibcast(panel->numbers, count, MPI_DOUBLE, owner, MPI_COMM_WORLD, &panel->request);
    } else if (owner != rank) {
        MPI_Irecv(panel->numbers, count, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &panel->request);
    } else if (ranks > 1) {
        MPI_Isend(panel->numbers, count, MPI_DOUBLE, right_of(rank), 0, MPI_COMM_WORLD, &panel->forward);
    }
    waited_us += computing_now_us() - began;
}

static void panel_wait(size_t number)
{
    double began = computing_now_us();
    struct panel *panel = &panels[number % 2];
    bool is_coming = panel->request != MPI_REQUEST_NULL;
    MPI_Wait(&panel->request, MPI_STATUS_IGNORE);
    if (by_ring && is_coming) {
        ring_pass(panel);
    }
    waited_us += computing_now_us() - began;
}

static void test_sometimes(void)
{
    if (test_us <= 0 || computing_now_us() - tested_at < test_us) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        int is_here = 0, is_gone = 0;
        bool is_coming = panels[i].request != MPI_REQUEST_NULL;
        MPI_Test(&panels[i].request, &is_here, MPI_STATUS_IGNORE);
        if (by_ring && is_coming && is_here) {
            ring_pass(&panels[i]);
        }
        MPI_Test(&panels[i].forward, &is_gone, MPI_STATUS_IGNORE);
    }
    tested_at = computing_now_us();
}

// to[i] -= factor * from[i] of four columns, `apart` from each other; `count` is a multiple of STEP.
static void subtract_four(double *restrict to, const double *restrict from, size_t apart, const double factors[4],
                          size_t count)
{
    const double *restrict second = from + apart, *restrict third = second + apart, *restrict fourth = third + apart;
    double a = factors[0], b = factors[1], c = factors[2], d = factors[3];
    for (size_t i = 0; i < count; i += STEP) {
        for (size_t j = 0; j < STEP; j++) {
            to[i + j] -= a * from[i + j] + b * second[i + j] + c * third[i + j] + d * fourth[i + j];
        }
    }
}

static void swap(double *a, double *b)
{
    double was = *a;
    *a = *b;
    *b = was;
}

// Decomposes a panel of this rank, all of whose columns are up to date, and leaves it where it is sent from.
static void panel_decompose(size_t number)
{
    size_t own = number / (size_t)ranks, first = number * block, rows = order - first;
    struct panel *panel = &panels[number % 2];
    double began = computing_now_us();
    MPI_Wait(&panel->forward, MPI_STATUS_IGNORE); // the one before in this memory
    waited_us += computing_now_us() - began;
    for (size_t j = 0; j < block; j++) {
        double *column = column_of(own, j);
        size_t pivot = first + j;
        for (size_t i = pivot + 1; i < order; i++) {
            pivot = fabs(column[i]) > fabs(column[pivot]) ? i : pivot;
        }
        panel->numbers[rows * block + j] = (double)pivot;
        for (size_t k = 0; k < block; k++) {
            swap(&column_of(own, k)[first + j], &column_of(own, k)[pivot]);
        }
        for (size_t i = first + j + 1; i < order; i++) {
            column[i] /= column[first + j];
        }
        for (size_t k = j + 1; k < block; k++) {
            double *other = column_of(own, k), factor = other[first + j];
            for (size_t i = first + j + 1; i < order; i++) {
                other[i] -= factor * column[i];
            }
        }
        test_sometimes();
    }
    for (size_t j = 0; j < block; j++) {
        memcpy(panel->numbers + j * rows, column_of(own, j) + first, rows * sizeof(double));
    }
}

// What a panel does to a column to its right: rows change places, L of the diagonal block is solved, and what is below
// it becomes less.
static void column_apply(const struct panel *panel, double *column)
{
    size_t first = (size_t)panel->number * block, rows = order - first;
    double *top = column + first, *rest = top + block;
    for (size_t j = 0; j < block; j++) {
        const double *from = panel->numbers + j * rows;
        for (size_t i = j + 1; i < block; i++) {
            top[i] -= top[j] * from[i];
        }
    }
    for (size_t j = 0; j < block; j += 4) {
        subtract_four(rest, panel->numbers + j * rows + block, rows, &top[j], rows - block);
    }
}

static void column_swap(const struct panel *panel, double *column)
{
    size_t first = (size_t)panel->number * block;
    const double *pivot = panel->numbers + (order - first) * block;
    for (size_t j = 0; j < block; j++) {
        swap(&column[first + j], &column[(size_t)pivot[j]]);
    }
}

// To this rank's `own`-th panel.
static void panel_apply(const struct panel *panel, size_t own)
{
    size_t number = number_of(own);
    for (size_t j = 0; j < block && number != (size_t)panel->number; j++) {
        column_swap(panel, column_of(own, j));
        if (number > (size_t)panel->number) {
            column_apply(panel, column_of(own, j));
        }
        test_sometimes();
    }
}

static double decompose(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    waited_us = 0;
    double began = computing_now_us();
    if (owner_of(0) == rank) {
        panel_decompose(0);
    }
    panel_send(0);
    panel_wait(0);
    for (size_t number = 0; number < panel_count; number++) {
        const struct panel *panel = &panels[number % 2];
        size_t next = number + 1;
        bool has_next = next < panel_count, is_mine = has_next && owner_of(next) == rank;
        for (size_t j = 0; j < block; j++) {
            pivots[number * block + j] = (size_t)panel->numbers[(order - number * block) * block + j];
        }
        if (is_mine) {
            panel_apply(panel, next / (size_t)ranks);
            panel_decompose(next);
        }
        if (has_next) {
            panel_send(next);
        }
        for (size_t own = 0; own < mine; own++) {
            if (!is_mine || own != next / (size_t)ranks) {
                panel_apply(panel, own);
            }
        }
        if (has_next) {
            panel_wait(next);
        }
    }
    for (int i = 0; i < 2; i++) {
        MPI_Wait(&panels[i].forward, MPI_STATUS_IGNORE);
    }
    return computing_now_us() - began;
}

static double first_of(size_t row, size_t column)
{
    return computing_chance(column * order + row + 1);
}

enum { UPPER, LOWER, FIRST, SIZES };

// An element of U, of L, of the matrix as it was at first, or what that is without a sign.
static double element(int what, const double *column, size_t i, size_t at)
{
    switch (what) {
    case UPPER:
        return i <= at ? column[i] : 0;
    case LOWER:
        return i < at ? 0 : i > at ? column[i] : 1;
    case FIRST:
        return first_of(i, at);
    default:
        return fabs(first_of(i, at));
    }
}

// sums = such a matrix times x, on all ranks; of SIZES the sums of its rows.
static void multiply(int what, const double *x, double *sums)
{
    memset(sums, 0, order * sizeof *sums);
    for (size_t own = 0; own < mine; own++) {
        for (size_t j = 0; j < block; j++) {
            size_t at = number_of(own) * block + j;
            double factor = what == SIZES ? 1 : x[at];
            for (size_t i = 0; i < order; i++) {
                sums[i] += element(what, column_of(own, j), i, at) * factor;
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, (int)order, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static double largest(const double *values)
{
    double most = 0;
    for (size_t i = 0; i < order; i++) {
        most = fabs(values[i]) > most || isnan(values[i]) ? fabs(values[i]) : most;
    }
    return most;
}

static double residual(void)
{
    double *x = calloc(order, sizeof *x), *have = calloc(order, sizeof *have), *want = calloc(order, sizeof *want);
    double *upper = calloc(order, sizeof *upper), most = HUGE_VAL;
    if (x != NULL && have != NULL && want != NULL && upper != NULL) {
        for (size_t i = 0; i < order; i++) {
            x[i] = computing_chance(order * order + i + 1);
        }
        multiply(UPPER, x, upper);
        multiply(LOWER, upper, have);
        multiply(FIRST, x, want);
        for (size_t i = 0; i < order; i++) {
            swap(&want[i], &want[pivots[i]]);
        }
        for (size_t i = 0; i < order; i++) {
            have[i] -= want[i];
        }
        multiply(SIZES, x, want);
        most = largest(have) / (DBL_EPSILON * largest(want) * largest(x) * (double)order);
    }
    free(x);
    free(have);
    free(want);
    free(upper);
    return isnan(most) ? HUGE_VAL : most;
}

static void measure(void)
{
    for (size_t own = 0; own < mine; own++) {
        for (size_t j = 0; j < block; j++) {
            for (size_t i = 0; i < order; i++) {
                column_of(own, j)[i] = first_of(i, number_of(own) * block + j);
            }
        }
    }
    double us[3] = {decompose()}; // in all, computed, waited
    us[1] = us[0] - waited_us;
    us[2] = waited_us;
    computing_slowest(us, 3);
    double error = residual();
    if (rank == 0) {
        printf("panel_lu: ranks %d order %zu block %zu total_us %.1f compute_us %.1f wait_us %.1f residual %.4f\n",
               ranks, order, block, us[0], us[1], us[2], error);
        fflush(stdout);
    }
    if (error > RESIDUAL_MOST) {
        fprintf(stderr, "panel_lu: rank %d: the residual is %.1f\n", rank, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static bool matrix_open(void)
{
    panel_count = order / block;
    mine = (panel_count + (size_t)(ranks - 1 - rank)) / (size_t)ranks;
    matrix = malloc((mine * block * order + 1) * sizeof *matrix);
    pivots = malloc(order * sizeof *pivots);
    for (int i = 0; i < 2; i++) {
        panels[i] = (struct panel){malloc((order + 1) * block * sizeof(double)), MPI_REQUEST_NULL, MPI_REQUEST_NULL, 0};
    }
    bool is_open = matrix != NULL && pivots != NULL && panels[0].numbers != NULL && panels[1].numbers != NULL;
    return is_open || MPI_Abort(MPI_COMM_WORLD, 1) == MPI_SUCCESS; // or the others would wait
}

static bool arguments_read(int argc, char **argv)
{
    int at = computing_read(argc, argv, "ibcast", "ring", &by_ring, &test_us);
    if (at == 0 || argc != at + 2) {
        return false;
    }
    order = strtoull(argv[at], NULL, 10);
    block = strtoull(argv[at + 1], NULL, 10);
    return block > 0 && block % STEP == 0 && order > 0 && order <= 1 << 15 && order % block == 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!arguments_read(argc, argv) || !matrix_open()) {
        if (rank == 0) {
            fputs("usage: panel_lu [--by ibcast|ring] [--test US] ORDER BLOCK\n"
                  "BLOCK: a multiple of 8 that divides ORDER, which is 32768 at most\n",
                  stderr);
        }
        MPI_Finalize();
        return 2;
    }
    measure();
    free(matrix);
    free(pivots);
    free(panels[0].numbers);
    free(panels[1].numbers);
    MPI_Finalize();
    return 0;
}
