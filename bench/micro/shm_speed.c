// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the collectives of src/shm are: forks N ranks and runs bcast and allgather back to back over a sweep
// of sizes. Prints microseconds an operation of the slowest rank: the least, the lowest tenth and the median of many
// short turns. On a machine that others use too, the first two are from turns in which nobody came in between.
//
//   shm_speed [ranks] [bcast|allgather|both] [size_min] [size_max] [team_bytes] [single_copy_min, 0: off] [spin] [pin]
//             [staging_bytes]
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "shm/shm.h"

#define RANKS_MAX 64
#define TURNS 200
#define SIZE_NS ((uint64_t)400 * CO_NS_PER_MS)

struct meeting {
    atomic_int arrived, turn;
    atomic_int values[RANKS_MAX];
    _Atomic uint64_t times[RANKS_MAX];
};

struct rank {
    struct meeting *meeting;
    int rank, size;
    unsigned spin;
    struct co_shm_team *team;
    char *buffer, *all;
};

static int barrier(void *arg)
{
    struct rank *self = arg;
    int turn = atomic_load(&self->meeting->turn);

    if (atomic_fetch_add(&self->meeting->arrived, 1) == self->size - 1) {
        atomic_store(&self->meeting->arrived, 0);
        atomic_fetch_add(&self->meeting->turn, 1);
        return 0;
    }
    while (atomic_load(&self->meeting->turn) == turn) {
        sched_yield();
    }
    return 0;
}

static int minimum(void *arg, int *values, int count)
{
    struct rank *self = arg;

    for (int k = 0; k < count; k++) { // one after the other: only the start is such an exchange
        atomic_store(&self->meeting->values[self->rank], values[k]);
        barrier(self);
        for (int i = 0; i < self->size; i++) {
            int value = atomic_load(&self->meeting->values[i]);
            values[k] = value < values[k] ? value : values[k];
        }
        barrier(self);
    }
    return 0;
}

static void finish(const struct rank *self, struct co_shm_op *op)
{
    for (unsigned turns = 0;; turns++) {
        int result = co_shm_op_progress(op);
        if (result < 0) {
            fprintf(stderr, "operation failed: %d\n", result);
            _exit(1);
        }
        if (result == 1) {
            return;
        }
        if (turns >= self->spin) {
            sched_yield();
        }
    }
}

// Nanoseconds of one turn, of the slowest rank.
static uint64_t run_turn(struct rank *self, int allgather, size_t bytes, long count)
{
    struct co_shm_op op;

    barrier(self);
    uint64_t start = co_clock_now_ns();
    for (long i = 0; i < count; i++) {
        if (allgather) {
            co_shm_allgather_start(&op, self->team, self->buffer, self->all, bytes);
        } else {
            co_shm_bcast_start(&op, self->team, 0, self->buffer, bytes);
        }
        finish(self, &op);
    }
    atomic_store(&self->meeting->times[self->rank], co_clock_now_ns() - start);
    barrier(self);
    uint64_t slowest = 0;
    for (int i = 0; i < self->size; i++) {
        uint64_t time = atomic_load(&self->meeting->times[i]);
        slowest = time > slowest ? time : slowest;
    }
    return slowest;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Rank 0's choice: turns long enough for the clock, or for a few switches where ranks share cores, yet short.
static long choose_count(struct rank *self, int allgather, size_t bytes)
{
    uint64_t turn_ns = (self->size > 2 ? 2000 : 300) * CO_NS_PER_US, once_ns = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t time = run_turn(self, allgather, bytes, 4) / 4;
        once_ns = time < once_ns ? time : once_ns;
    }
    int turns = (int)(turn_ns / (once_ns + 1)) + 1;
    minimum(self, &turns, 1);
    return turns;
}

static void sweep(struct rank *self, int allgather, size_t bytes_min, size_t bytes_max)
{
    for (size_t bytes = bytes_min; bytes <= bytes_max; bytes *= 2) {
        uint64_t times[TURNS], spent = 0;
        long count = choose_count(self, allgather, bytes);
        int turns = 0;
        while (turns < TURNS && (turns < 7 || spent < SIZE_NS)) { // the same times on all ranks, so the same end
            times[turns] = run_turn(self, allgather, bytes, count);
            spent += times[turns++];
        }
        qsort(times, (size_t)turns, sizeof times[0], compare);
        if (self->rank == 0) {
            double unit = 1000 * (double)count;
            printf("%-9s %9zu %10.3f %10.3f %10.3f\n", allgather ? "allgather" : "bcast", bytes,
                   (double)times[0] / unit, (double)times[turns / 10] / unit, (double)times[turns / 2] / unit);
            fflush(stdout);
        }
    }
}

static void pin(int rank)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET((unsigned)(rank % (int)sysconf(_SC_NPROCESSORS_ONLN)), &cores);
    sched_setaffinity(0, sizeof cores, &cores);
}

static int run_rank(struct rank *self, char **argv, int argc)
{
    const char *what = argc > 2 ? argv[2] : "both";
    size_t bytes_min = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    size_t bytes_max = argc > 4 ? strtoull(argv[4], NULL, 0) : (size_t)8 << 20;
    size_t single_copy_min = argc > 6 ? strtoull(argv[6], NULL, 0) : 16384;
    struct co_shm_config config = {
        .job_key = (uint64_t)getppid(),
        .rank = self->rank,
        .size = self->size,
        .team_bytes = argc > 5 ? strtoull(argv[5], NULL, 0) : 65536,
        .staging_bytes = argc > 9 ? strtoull(argv[9], NULL, 0) : (size_t)8 << 20,
        .single_copy = single_copy_min ? CO_AUTO : CO_NO,
        .single_copy_min = single_copy_min,
        .watched_most = self->size,
        .minimum = minimum,
        .arg = self,
    };
    struct co_shm_node *node;
    int members[RANKS_MAX];

    self->spin = argc > 7 ? (unsigned)strtoul(argv[7], NULL, 0) : self->size > 2 ? 20 : 2000;
    self->buffer = malloc(bytes_max);
    self->all = malloc(bytes_max * (size_t)self->size);
    memset(self->buffer, self->rank, bytes_max);
    memset(self->all, 1, bytes_max * (size_t)self->size);
    for (int i = 0; i < self->size; i++) {
        members[i] = i;
    }
    if (co_shm_node_open(&node, &config) != 0 ||
        co_shm_team_open(&self->team, node, co_shm_seat_take(node, 1, 0, self->size), members, self->size,
                         self->rank) != 0) {
        fprintf(stderr, "rank %d: cannot open\n", self->rank);
        return 1;
    }
    if (self->rank == 0) {
        printf("# %d ranks, single copy %s; us: least, lowest tenth, median\n", self->size,
               co_shm_node_single_copy_reason(node));
    }
    if (strcmp(what, "allgather") != 0) {
        sweep(self, 0, bytes_min, bytes_max);
    }
    if (strcmp(what, "bcast") != 0) {
        sweep(self, 1, bytes_min, bytes_max);
    }
    co_shm_team_close(self->team);
    barrier(self);
    co_shm_node_close(node);
    return 0;
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 2, failed = 0;
    struct meeting *meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (meeting == MAP_FAILED || size < 1 || size > RANKS_MAX) {
        return 2;
    }
    for (int rank = 0; rank < size; rank++) {
        if (fork() == 0) {
            if (argc > 8 && atoi(argv[8])) {
                pin(rank);
            }
            struct rank self = {.meeting = meeting, .rank = rank, .size = size};
            exit(run_rank(&self, argv, argc));
        }
    }
    for (int rank = 0; rank < size; rank++) {
        int status;
        wait(&status);
        failed |= status;
    }
    return failed != 0;
}
