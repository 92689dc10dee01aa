// SPDX-License-Identifier: BSD-3-Clause
//
// Fourier transforms in three dimensions with two all-to-alls in flight, for figures M38 and M40: two fields of SIDE^3
// complex numbers, in slabs, are transformed and transformed back ROUNDS times. While the numbers of one field travel
// the other one is computed, as in P3DFFT's nonblocking form. The first call is measured, too: nothing runs before.
//
//   fft3d [--by ialltoall|messages] [--test US] SIDE ROUNDS
//
// SIDE is a power of two, 8 at least, and a multiple of the number of ranks. --by messages: each all-to-all is a
// receive and a send for each other rank. --test: MPI_Testall in the computation, every US microseconds. One line
// "fft3d: name value ...": us of the slowest rank; what it computed (tests among it) and waited of these; of its first
// round, whose fields come back in the second one, and of the median of the later ones; and the largest error, of what
// came back and of coefficients that are summed up one by one. Exits 1 if that is no rounding error.
#include "computing.h"
#include "fft3d.h"

#include <mpi.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 2, COEFFICIENTS = 5 };

static const double ERROR_MOST = 1e-11;

// `space`: planes of this rank, [planes][SIDE][SIDE]. `turned`: all planes of this rank's rows, [SIDE][planes][SIDE],
// the blocks of the ranks one behind the other. `packed`: what is sent and received of `space`, by ranks.
struct field {
    struct fft3d_number *space, *packed, *turned;
    MPI_Request *requests;
    int pending;
};

static int rank, ranks;
static size_t side, planes; // planes of a rank, in either direction
static bool by_messages;
static double test_us, tested_at, waited_us; // MPI_Testall: how often, and when last
static struct field fields[FIELDS];

void fft3d_between_tiles(void)
{
    if (test_us <= 0 || computing_now_us() - tested_at < test_us) {
        return;
    }
    for (int f = 0; f < FIELDS; f++) {
        int flag;
        MPI_Testall(fields[f].pending, fields[f].requests, &flag, MPI_STATUSES_IGNORE);
    }
    tested_at = computing_now_us();
}

static size_t block(void) // numbers that a rank sends to each
{
    return planes * planes * side;
}

// The all-to-all of a field, both of whose buffers are its own until it is waited for.
static void exchange_start(struct field *field, struct fft3d_number *from, struct fft3d_number *to)
{
    double began = computing_now_us();
    int count = (int)block();
    if (by_messages) {
        field->pending = 0;
        for (int i = 1; i < ranks; i++) {
            int other = (rank + i) % ranks;
            MPI_Irecv(to + block() * (size_t)other, count, MPI_C_DOUBLE_COMPLEX, other, 0, MPI_COMM_WORLD,
                      &field->requests[field->pending++]);
        }
        for (int i = 1; i < ranks; i++) {
            int other = (rank + i) % ranks;
            MPI_Isend(from + block() * (size_t)other, count, MPI_C_DOUBLE_COMPLEX, other, 0, MPI_COMM_WORLD,
                      &field->requests[field->pending++]);
        }
        memcpy(to + block() * (size_t)rank, from + block() * (size_t)rank, block() * sizeof *to);
    } else {
        field->pending = 1;
        MPI_Ialltoall(from, count, MPI_C_DOUBLE_COMPLEX, to, count, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD,
                      &field->requests[0]);
    }
    waited_us += computing_now_us() - began;
}

static void exchange_wait(struct field *field)
{
    double began = computing_now_us();
    MPI_Waitall(field->pending, field->requests, MPI_STATUSES_IGNORE);
    field->pending = 0;
    waited_us += computing_now_us() - began;
}

// Between planes and the blocks of the ranks: rank r has the rows r * planes and following of each plane.
static void repack(struct field *field, bool packs, double scale)
{
    for (int other = 0; other < ranks; other++) {
        for (size_t x = 0; x < planes; x++) {
            struct fft3d_number *space = field->space + (x * side + (size_t)other * planes) * side;
            struct fft3d_number *packed = field->packed + block() * (size_t)other + x * planes * side;
            if (packs) {
                memcpy(packed, space, planes * side * sizeof *packed);
                continue;
            }
            for (size_t i = 0; i < planes * side; i++) {
                space[i] = (struct fft3d_number){packed[i].re * scale, packed[i].im * scale};
            }
        }
    }
}

static void planes_transform(struct field *field, double sign)
{
    fft3d_lines_transform(field->space, 1, side, planes * side, sign);
    for (size_t x = 0; x < planes; x++) {
        fft3d_lines_transform(field->space + x * side * side, side, 1, side, sign);
    }
}

static void turned_transform(struct field *field, double sign)
{
    fft3d_lines_transform(field->turned, planes * side, 1, planes * side, sign);
}

static void go_out(struct field *field)
{
    planes_transform(field, 1);
    repack(field, true, 1);
    exchange_start(field, field->packed, field->turned);
}

static void turn_round(struct field *field)
{
    exchange_wait(field);
    turned_transform(field, 1);
    turned_transform(field, -1);
    exchange_start(field, field->turned, field->packed);
}

static void come_back(struct field *field)
{
    exchange_wait(field);
    repack(field, false, 1 / ((double)side * (double)side * (double)side));
    planes_transform(field, -1);
}

// What stands there at first. `x` counts planes of all ranks.
static struct fft3d_number number_of(int field, size_t x, size_t y, size_t z)
{
    uint64_t place = (((uint64_t)field * side + x) * side + y) * side + z + 1;
    return (struct fft3d_number){computing_chance(2 * place), computing_chance(2 * place + 1)};
}

// Fills the field, or tells the largest difference from that.
static double field_first(int f, bool fills)
{
    double most = 0;
    for (size_t x = 0; x < planes; x++) {
        for (size_t y = 0; y < side; y++) {
            for (size_t z = 0; z < side; z++) {
                struct fft3d_number *at = &fields[f].space[(x * side + y) * side + z];
                struct fft3d_number first = number_of(f, (size_t)rank * planes + x, y, z);
                if (fills) {
                    *at = first;
                }
                most = fmax(most, fmax(fabs(at->re - first.re), fabs(at->im - first.im)));
                most = isfinite(at->re) && isfinite(at->im) ? most : HUGE_VAL;
            }
        }
    }
    return most;
}

// A coefficient by the definition, and the difference from what the transform has made of it, over the size of all.
static double coefficient_error(int f, const size_t k[3])
{
    double sum[2] = {0, 0}, all[2];
    for (size_t x = 0; x < planes; x++) {
        for (size_t y = 0; y < side; y++) {
            for (size_t z = 0; z < side; z++) {
                struct fft3d_number at = number_of(f, (size_t)rank * planes + x, y, z);
                size_t wave = (k[0] * ((size_t)rank * planes + x) + k[1] * y + k[2] * z) % side;
                sum[0] += at.re * fft3d_waves[wave].re - at.im * fft3d_waves[wave].im;
                sum[1] += at.re * fft3d_waves[wave].im + at.im * fft3d_waves[wave].re;
            }
        }
    }
    MPI_Allreduce(sum, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (k[1] / planes != (size_t)rank) {
        return 0;
    }
    struct fft3d_number have = fields[f].turned[(k[0] * planes + k[1] % planes) * side + k[2]];
    double error = hypot(have.re - all[0], have.im - all[1]) / pow((double)side, 1.5);
    return isfinite(error) ? error : HUGE_VAL;
}

// Once more to the other side, with both fields under way, and back.
static double verify(void)
{
    double most = 0;
    for (int f = 0; f < FIELDS; f++) {
        go_out(&fields[f]);
    }
    for (int f = 0; f < FIELDS; f++) {
        exchange_wait(&fields[f]);
        turned_transform(&fields[f], 1);
        for (size_t i = 0; i < COEFFICIENTS; i++) {
            size_t k[3] = {i * 5 % side, (i * side / COEFFICIENTS + i) % side, (side - i) % side};
            most = fmax(most, coefficient_error(f, k));
        }
        turned_transform(&fields[f], -1);
        exchange_start(&fields[f], fields[f].turned, fields[f].packed);
    }
    for (int f = 0; f < FIELDS; f++) {
        come_back(&fields[f]);
        most = fmax(most, field_first(f, false));
    }
    return most;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Both fields, there and back. `took`: us of each round.
static double run_rounds(int rounds, double *took)
{
    MPI_Barrier(MPI_COMM_WORLD);
    waited_us = 0;
    double began = computing_now_us(), before = began;
    for (int round = 0; round < rounds; round++) {
        for (int f = 0; f < FIELDS; f++) {
            if (round > 0) {
                come_back(&fields[f]);
            }
            go_out(&fields[f]);
        }
        for (int f = 0; f < FIELDS; f++) {
            turn_round(&fields[f]);
        }
        took[round] = computing_now_us() - before;
        before += took[round];
    }
    for (int f = 0; f < FIELDS; f++) {
        come_back(&fields[f]);
    }
    return computing_now_us() - began;
}

static void measure(int rounds)
{
    double *took = calloc((size_t)rounds, sizeof *took);
    if (took == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int f = 0; f < FIELDS; f++) {
        field_first(f, true);
    }
    double us[5] = {run_rounds(rounds, took)}; // in all, computed, waited, first round, later ones
    us[1] = us[0] - waited_us;
    us[2] = waited_us;
    us[3] = took[0];
    qsort(took + 1, (size_t)rounds - 1, sizeof *took, compare);
    us[4] = rounds > 1 ? took[1 + (rounds - 1) / 2] : took[0];
    free(took);
    computing_slowest(us, 5);
    double error = verify();
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("fft3d: ranks %d side %zu rounds %d total_us %.1f compute_us %.1f wait_us %.1f first_us %.1f later_us "
               "%.1f error %.2e\n",
               ranks, side, rounds, us[0], us[1], us[2], us[3], us[4], error);
        fflush(stdout);
    }
    if (error > ERROR_MOST) {
        fprintf(stderr, "fft3d: rank %d: the numbers are wrong by %.2e\n", rank, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static bool fields_open(void)
{
    bool is_open = true;
    size_t count = planes * side * side;
    for (int f = 0; f < FIELDS; f++) {
        fields[f].space = malloc(count * sizeof(struct fft3d_number));
        fields[f].packed = malloc(count * sizeof(struct fft3d_number));
        fields[f].turned = malloc(count * sizeof(struct fft3d_number));
        fields[f].requests = malloc(2 * (size_t)ranks * sizeof(MPI_Request));
        is_open &= fields[f].space != NULL && fields[f].packed != NULL && fields[f].turned != NULL &&
                   fields[f].requests != NULL;
    }
    return is_open || MPI_Abort(MPI_COMM_WORLD, 1) == MPI_SUCCESS; // or the others would wait
}

static void fields_close(void)
{
    for (int f = 0; f < FIELDS; f++) {
        free(fields[f].space);
        free(fields[f].packed);
        free(fields[f].turned);
        free(fields[f].requests);
    }
}

// 0: not as the usage has it.
static int arguments_read(int argc, char **argv)
{
    int at = computing_read(argc, argv, "ialltoall", "messages", &by_messages, &test_us);
    if (at == 0 || argc != at + 2) {
        return 0;
    }
    side = strtoull(argv[at], NULL, 10);
    bool is_side =
        side >= FFT3D_TILE && side <= FFT3D_SIDE_MAX && (side & (side - 1)) == 0 && side % (size_t)ranks == 0;
    int rounds = atoi(argv[at + 1]);
    planes = is_side ? side / (size_t)ranks : 0;
    return is_side && rounds > 0 ? rounds : 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int rounds = arguments_read(argc, argv);
    if (rounds == 0 || !fields_open()) {
        if (rank == 0) {
            fputs("usage: fft3d [--by ialltoall|messages] [--test US] SIDE ROUNDS\n"
                  "SIDE: a power of two, 8 to 1024, and a multiple of the number of ranks\n",
                  stderr);
        }
        MPI_Finalize();
        return 2;
    }
    fft3d_lines_prepare(side);
    measure(rounds);
    fields_close();
    MPI_Finalize();
    return 0;
}
