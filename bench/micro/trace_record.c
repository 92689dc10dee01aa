// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a synthetic application as castoff run --record would, of any length, to measure castoff trace with: what
// trace_make.c writes as text, ranks in a ring that exchange messages of four tags with both neighbours.
//   trace_record DIRECTORY RANKS MEGABYTES     (of all files together)
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record/trace/trace_writer.h"

enum { TAGS = 4, SIDES = 2, MESSAGES = SIDES * TAGS, REDUCE_STEPS = 16, RANKS_MAX = 10000, WORLD = 1, DOUBLE = 1 };

struct rank {
    struct co_trace_writer writer;
    struct co_trace_stream *stream;
    int rank, ranks;
    uint64_t now_ns;
};

static void put(struct rank *rank, struct co_trace_record record)
{
    record.begin_ns = rank->now_ns;
    record.end_ns = rank->now_ns + 300;
    record.times = 1;
    rank->now_ns += 1000;
    co_trace_stream_put(rank->stream, &record);
}

static int64_t neighbour(const struct rank *rank, int side)
{
    return (rank->rank + (side == 0 ? 1 : rank->ranks - 1)) % rank->ranks;
}

// As far apart as MPI's requests are.
static int64_t handle_of(int request)
{
    return 0x55550000 + INT64_C(256) * request;
}

static void start(struct rank *rank, unsigned kind, int side, int tag, int request)
{
    put(rank, (struct co_trace_record){.kind = (uint16_t)kind,
                                       .value = {64, DOUBLE, neighbour(rank, side), tag, WORLD, handle_of(request)}});
}

// A message of this side is sent by the neighbour's other one, so tags of the two differ.
static void wait_for_all(struct rank *rank)
{
    int64_t rows[2 * MESSAGES][CO_TRACE_COLUMNS_MAX];
    for (int i = 0; i < 2 * MESSAGES; i++) {
        bool receives = i < MESSAGES;
        int64_t row[] = {i, handle_of(i), receives ? neighbour(rank, i / TAGS) : 0, receives ? i : 0, 512, 0};
        memcpy(rows[i], row, sizeof row);
    }
    put(rank, (struct co_trace_record){
                  .kind = CO_TRACE_Waitall, .value = {2 * MESSAGES}, .rows = rows, .row_count = 2 * MESSAGES});
}

static void step(struct rank *rank, uint64_t number)
{
    for (int i = 0; i < MESSAGES; i++) {
        start(rank, CO_TRACE_Irecv, i / TAGS, i, i);
    }
    for (int i = 0; i < MESSAGES; i++) {
        start(rank, CO_TRACE_Isend, i / TAGS, (i + TAGS) % MESSAGES, MESSAGES + i);
    }
    wait_for_all(rank);
    if (number % REDUCE_STEPS == REDUCE_STEPS - 1) {
        put(rank, (struct co_trace_record){.kind = CO_TRACE_Allreduce, .value = {1, DOUBLE, WORLD}});
    }
}

static void begin(struct rank *rank)
{
    static const char world[] = "MPI_COMM_WORLD";
    int64_t members[1][CO_TRACE_COLUMNS_MAX] = {{0, 1, rank->ranks}};
    put(rank, (struct co_trace_record){.kind = CO_TRACE_COMMUNICATOR,
                                       .value = {WORLD, 0, 0, rank->ranks, rank->rank, 0},
                                       .text = world,
                                       .text_bytes = sizeof world - 1,
                                       .rows = members,
                                       .row_count = 1});
    put(rank, (struct co_trace_record){.kind = CO_TRACE_Init});
    put(rank,
        (struct co_trace_record){.kind = CO_TRACE_TYPE, .value = {DOUBLE, 8}, .text = "MPI_DOUBLE", .text_bytes = 10});
}

// All ranks take the same number of steps: as many as rank 0 has room for.
static int write_rank(const char *directory, int number, int ranks, uint64_t bytes, uint64_t *steps)
{
    char path[4096];
    struct rank rank = {.rank = number, .ranks = ranks, .now_ns = 1000};
    const struct co_trace_header header = {
        .rank = (uint32_t)number, .size = (uint32_t)ranks, .began_ns = 1000, .job = 1, .program = "synthetic"};
    snprintf(path, sizeof path, "%s/rank-%05d.trace", directory, number);
    int error = co_trace_writer_open(&rank.writer, path, &header);
    rank.stream = error != 0 ? NULL : co_trace_stream_take(&rank.writer, rank.now_ns);
    if (rank.stream == NULL) {
        fprintf(stderr, "trace_record: %s: %s\n", path, strerror(error != 0 ? -error : ENOSPC));
        return -1;
    }
    begin(&rank);
    uint64_t done = 0;
    while (number == 0 ? (uint64_t)(rank.stream->block_index + 1) * CO_TRACE_BLOCK_BYTES < bytes : done < *steps) {
        step(&rank, done++);
    }
    *steps = done;
    put(&rank, (struct co_trace_record){.kind = CO_TRACE_Finalize});
    bool is_whole = co_trace_writer_is_open(&rank.writer);
    co_trace_writer_close(&rank.writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&rank.writer);
    if (!is_whole) {
        fprintf(stderr, "trace_record: %s: no room\n", path);
    }
    return is_whole ? 0 : -1;
}

int main(int argc, char **argv)
{
    int ranks = argc == 4 ? atoi(argv[2]) : 0;
    long megabytes = argc == 4 ? atol(argv[3]) : 0;
    uint64_t steps = 0;
    if (ranks < 2 || ranks > RANKS_MAX || megabytes < 1) {
        fprintf(stderr, "usage: trace_record DIRECTORY RANKS MEGABYTES\n");
        return 2;
    }
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "trace_record: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    for (int i = 0; i < ranks; i++) {
        if (write_rank(argv[1], i, ranks, (uint64_t)megabytes * 1000000 / (uint64_t)ranks, &steps) != 0) {
            return 1;
        }
    }
    return 0;
}
