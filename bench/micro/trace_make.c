// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a synthetic application as the text of dumpi2ascii, of any length, to measure castoff trace with: ranks in a
// ring exchange messages of four tags with both neighbours, wait for all of them, and reduce something now and then.
//   trace_make DIRECTORY RANKS MEGABYTES     (of all files together)
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TAGS = 4, SIDES = 2, PENDING = 2 * SIDES * TAGS, REDUCE_STEPS = 16, RANKS_MAX = 10000 };

struct rank {
    FILE *file;
    int rank, ranks;
    uint64_t now_ns;
};

static void tell_time(struct rank *rank, const char *function, const char *what)
{
    uint64_t cpu_ns = rank->now_ns / 2;
    rank->now_ns += 1500;
    fprintf(rank->file,
            "MPI_%s %s at walltime %" PRIu64 ".%09" PRIu64 ", cputime %" PRIu64 ".%09" PRIu64 " seconds in thread 0.\n",
            function, what, rank->now_ns / 1000000000, rank->now_ns % 1000000000, cpu_ns / 1000000000,
            cpu_ns % 1000000000);
}

static void enter(struct rank *rank, const char *function)
{
    tell_time(rank, function, "entering");
}

static void leave(struct rank *rank, const char *function)
{
    tell_time(rank, function, "returning");
}

static int neighbour(const struct rank *rank, int side)
{
    return (rank->rank + (side == 0 ? 1 : rank->ranks - 1)) % rank->ranks;
}

static void start(struct rank *rank, const char *function, const char *peer, int side, int tag, int request)
{
    enter(rank, function);
    fprintf(rank->file,
            "int count=64\nMPI_Datatype datatype=11 (MPI_DOUBLE)\nint %s=%d\nint tag=%d\nMPI_Comm comm=2 "
            "(MPI_COMM_WORLD)\nMPI_Request request=[%d]\n",
            peer, neighbour(rank, side), tag, request);
    leave(rank, function);
}

// A message of this side is sent by the neighbour's other one, so tags of the two differ.
static void wait_for_all(struct rank *rank)
{
    enter(rank, "Waitall");
    fprintf(rank->file, "int count=%d\nMPI_Request requests[%d]=[2", PENDING, PENDING);
    for (int i = 1; i < PENDING; i++) {
        fprintf(rank->file, ", %d", 2 + i);
    }
    fprintf(rank->file, "]\nMPI_Status statuses[%d]=[", PENDING);
    for (int i = 0; i < PENDING; i++) {
        int side = i / TAGS % SIDES;
        fprintf(rank->file, "%s{bytes=512, cancelled=0, source=%d, tag=%d, error=0}", i == 0 ? "" : ", ",
                neighbour(rank, side), i % (SIDES * TAGS));
    }
    fputs("]\n", rank->file);
    leave(rank, "Waitall");
}

static void step(struct rank *rank, uint64_t number)
{
    for (int i = 0; i < SIDES * TAGS; i++) {
        start(rank, "Irecv", "source", i / TAGS, i, 2 + i);
    }
    for (int i = 0; i < SIDES * TAGS; i++) {
        int tag = (i + TAGS) % (SIDES * TAGS);
        start(rank, "Isend", "dest", i / TAGS, tag, 2 + SIDES * TAGS + i);
    }
    wait_for_all(rank);
    if (number % REDUCE_STEPS == REDUCE_STEPS - 1) {
        enter(rank, "Allreduce");
        fputs("int count=1\nMPI_Datatype datatype=11 (MPI_DOUBLE)\nMPI_Op op=3 (MPI_SUM)\nMPI_Comm comm=2 "
              "(MPI_COMM_WORLD)\n",
              rank->file);
        leave(rank, "Allreduce");
    }
}

static int open_rank(struct rank *rank, const char *directory, int number, int ranks)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/synthetic-%05d.txt", directory, number);
    *rank = (struct rank){.file = fopen(path, "w"), .rank = number, .ranks = ranks, .now_ns = UINT64_C(1000000000)};
    if (rank->file == NULL) {
        fprintf(stderr, "trace_make: %s: %s\n", path, strerror(errno));
        return -1;
    }
    enter(rank, "Comm_size");
    fprintf(rank->file, "MPI_Comm comm=2 (MPI_COMM_WORLD)\nint size=%d\n", ranks);
    leave(rank, "Comm_size");
    return 0;
}

// All ranks take the same number of steps: as many as rank 0 has room for.
static int write_rank(struct rank *rank, uint64_t bytes, uint64_t *steps)
{
    uint64_t done = 0;
    while (rank->rank == 0 ? (uint64_t)ftello(rank->file) < bytes : done < *steps) {
        step(rank, done++);
    }
    *steps = done;
    enter(rank, "Finalize");
    leave(rank, "Finalize");
    return fclose(rank->file);
}

int main(int argc, char **argv)
{
    int ranks = argc == 4 ? atoi(argv[2]) : 0;
    long megabytes = argc == 4 ? atol(argv[3]) : 0;
    uint64_t steps = 0;
    if (ranks < 2 || ranks > RANKS_MAX || megabytes < 1) {
        fprintf(stderr, "usage: trace_make DIRECTORY RANKS MEGABYTES\n");
        return 2;
    }
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "trace_make: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    for (int i = 0; i < ranks; i++) {
        struct rank rank;
        if (open_rank(&rank, argv[1], i, ranks) != 0 ||
            write_rank(&rank, (uint64_t)megabytes * 1000000 / (uint64_t)ranks, &steps) != 0) {
            return 1;
        }
    }
    return 0;
}
