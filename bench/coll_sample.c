// SPDX-License-Identifier: BSD-3-Clause
//
// One sample: fill and spoil the buffers, let everybody arrive, time a batch of equal calls, let everybody finish,
// check every byte. The timed part holds the calls and two clock reads, nothing else.
#include "coll.h"

#include <string.h>
#include <time.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

// From version 5 on Open MPI has them by the names that MPI 4 gives them, and by no others; so has MPICH.
#if !defined OPEN_MPI || OMPI_MAJOR_VERSION >= 5
#define MPIX_Bcast_init MPI_Bcast_init
#define MPIX_Allgather_init MPI_Allgather_init
#define MPIX_Allgatherv_init MPI_Allgatherv_init
#endif

double coll_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool is_uneven(enum coll_call call)
{
    return call == COLL_ALLGATHERV || coll_started(call) == COLL_IALLGATHERV || call == COLL_IALLTOALLV;
}

static bool is_persistent(enum coll_call call)
{
    return coll_started(call) != call;
}

static size_t share_of(const struct coll_run *run, int rank, size_t bytes)
{
    size_t ranks = (size_t)run->ranks;
    switch (run->options.blocks) {
    case COLL_BLOCKS_EQUAL:
        return bytes;
    case COLL_BLOCKS_LONG:
        return bytes * ranks / (ranks + 9) * (rank == 0 ? 10 : 1);
    default:
        return 2 * bytes * (size_t)(rank + 1) / (ranks + 1);
    }
}

// The mean of the blocks is `bytes`, or a little less. A persistent call reads these at each start: they are the same
// for all calls of one size. In an exchange a block is as long one way as the other, so one array says both.
static void lay_out(struct coll_run *run, enum coll_call call, size_t bytes)
{
    int at = 0, first = coll_is_exchange(call) ? run->rank : 0;
    for (int rank = 0; rank < run->ranks; rank++) {
        run->counts[rank] = (int)share_of(run, (first + rank) % run->ranks, bytes);
        run->places[rank] = at;
        at += run->counts[rank];
    }
}

// Of a rank's block in what is received: `bytes` are the mean.
static uint8_t *place_of(const struct coll_run *run, enum coll_call call, int rank, size_t bytes)
{
    return run->receive + (is_uneven(call) ? (size_t)run->places[rank] : (size_t)rank * bytes);
}

static size_t length_of(const struct coll_run *run, enum coll_call call, int rank, size_t bytes)
{
    return is_uneven(call) ? (size_t)run->counts[rank] : bytes;
}

static void fill_for_each(struct coll_run *run, enum coll_call call, size_t bytes, uint64_t round)
{
    for (int rank = 0; rank < run->ranks; rank++) {
        uint8_t *block = run->send + (place_of(run, call, rank, bytes) - run->receive);
        coll_data_fill(block, length_of(run, call, rank, bytes), coll_data_seed_of_pair(round, run->rank, rank));
    }
    memset(run->receive, 0xa5, bytes * (size_t)run->ranks);
}

void coll_sample_prepare(struct coll_run *run, enum coll_call call, size_t bytes)
{
    uint64_t round = ++run->seed;
    if (coll_has_root(call)) {
        if (run->rank == run->options.root) {
            coll_data_fill(run->receive, bytes, coll_data_seed(round, run->rank));
        } else {
            memset(run->receive, 0xa5, bytes);
        }
        return;
    }
    if (is_uneven(call)) {
        lay_out(run, call, bytes);
    }
    if (coll_is_exchange(call)) {
        fill_for_each(run, call, bytes, round);
        return;
    }
    coll_data_fill(run->send, length_of(run, call, run->rank, bytes), coll_data_seed(round, run->rank));
    memset(run->receive, 0xa5, bytes * (size_t)run->ranks);
}

size_t coll_sample_check(struct coll_run *run, enum coll_call call, size_t bytes)
{
    if (coll_has_root(call)) {
        return coll_data_wrong(run->receive, bytes, coll_data_seed(run->seed, run->options.root));
    }
    size_t wrong = 0;
    for (int rank = 0; rank < run->ranks; rank++) {
        uint64_t seed = coll_is_exchange(call) ? coll_data_seed_of_pair(run->seed, rank, run->rank)
                                               : coll_data_seed(run->seed, rank);
        wrong += coll_data_wrong(place_of(run, call, rank, bytes), length_of(run, call, rank, bytes), seed);
    }
    return wrong;
}

static void sleep_ms(int milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

void coll_sample_start(struct coll_run *run, const struct coll_side *side, enum coll_call call, size_t bytes,
                       MPI_Request *request)
{
    int count = (int)bytes;
    if (call == COLL_IBCAST) {
        MPI_Ibcast(run->receive, count, MPI_BYTE, run->options.root, side->comm, request);
    } else if (call == COLL_IALLGATHERV) {
        MPI_Iallgatherv(run->send, run->counts[run->rank], MPI_BYTE, run->receive, run->counts, run->places, MPI_BYTE,
                        side->comm, request);
    } else if (call == COLL_IALLTOALL) {
        MPI_Ialltoall(run->send, count, MPI_BYTE, run->receive, count, MPI_BYTE, side->comm, request);
    } else if (call == COLL_IALLTOALLV) {
        MPI_Ialltoallv(run->send, run->counts, run->places, MPI_BYTE, run->receive, run->counts, run->places, MPI_BYTE,
                       side->comm, request);
    } else {
        MPI_Iallgather(run->send, count, MPI_BYTE, run->receive, count, MPI_BYTE, side->comm, request);
    }
}

void coll_sample_plan(struct coll_run *run, struct coll_side *side, enum coll_call call, size_t bytes)
{
    int count = (int)bytes, root = run->options.root;
    MPI_Request *request = &side->planned[call];
    if (!is_persistent(call)) {
        return;
    }
    coll_side_enter(side);
    if (call == COLL_PERSISTENT_BCAST) {
        MPIX_Bcast_init(run->receive, count, MPI_BYTE, root, side->comm, MPI_INFO_NULL, request);
    } else if (call == COLL_PERSISTENT_ALLGATHERV) {
        lay_out(run, call, bytes);
        MPIX_Allgatherv_init(run->send, run->counts[run->rank], MPI_BYTE, run->receive, run->counts, run->places,
                             MPI_BYTE, side->comm, MPI_INFO_NULL, request);
    } else {
        MPIX_Allgather_init(run->send, count, MPI_BYTE, run->receive, count, MPI_BYTE, side->comm, MPI_INFO_NULL,
                            request);
    }
}

void coll_sample_forget(struct coll_side *side, enum coll_call call)
{
    if (is_persistent(call)) {
        MPI_Request_free(&side->planned[call]);
    }
}

static double time_persistent(const struct coll_side *side, enum coll_call call, int batch)
{
    MPI_Request request = side->planned[call];
    double start = coll_now();
    for (int i = 0; i < batch; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return coll_now() - start;
}

static double time_nonblocking(struct coll_run *run, const struct coll_side *side, enum coll_call call, int count,
                               int batch)
{
    double start = coll_now();
    for (int i = 0; i < batch; i++) {
        MPI_Request request;
        coll_sample_start(run, side, call, (size_t)count, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return coll_now() - start;
}

// How long the start takes while the last rank is late.
static double time_start(struct coll_run *run, const struct coll_side *side, int count)
{
    MPI_Request request;
    if (run->rank == run->ranks - 1) {
        sleep_ms(run->options.late_ms);
    }
    double start = coll_now();
    MPI_Iallgather(run->send, count, MPI_BYTE, run->receive, count, MPI_BYTE, side->comm, &request);
    double took = coll_now() - start;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return took;
}

static double time_calls(struct coll_run *run, const struct coll_side *side, enum coll_call call, int count, int batch)
{
    if (call == COLL_ISTART) {
        return time_start(run, side, count);
    }
    if (is_persistent(call)) {
        return time_persistent(side, call, batch);
    }
    if (call == COLL_IBCAST || call == COLL_IALLGATHER || call == COLL_IALLGATHERV || coll_is_exchange(call)) {
        return time_nonblocking(run, side, call, count, batch);
    }
    double start = coll_now();
    if (call == COLL_BCAST) {
        for (int i = 0; i < batch; i++) {
            MPI_Bcast(run->receive, count, MPI_BYTE, run->options.root, side->comm);
        }
    } else if (call == COLL_ALLGATHERV) {
        for (int i = 0; i < batch; i++) {
            MPI_Allgatherv(run->send, run->counts[run->rank], MPI_BYTE, run->receive, run->counts, run->places,
                           MPI_BYTE, side->comm);
        }
    } else {
        for (int i = 0; i < batch; i++) {
            MPI_Allgather(run->send, count, MPI_BYTE, run->receive, count, MPI_BYTE, side->comm);
        }
    }
    return coll_now() - start;
}

// Hosts of the laboratory share this machine's processors: who is done must neither check nor spin while others are
// still in their timed part. On hosts of their own they could not be disturbed.
static void wait_quietly(struct coll_run *run)
{
    const struct timespec pause = {0, 200000};
    MPI_Request request;
    int is_done = 0;
    MPI_Ibarrier(run->control, &request);
    for (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE); !is_done; MPI_Test(&request, &is_done, MPI_STATUS_IGNORE)) {
        nanosleep(&pause, NULL);
    }
}

double coll_sample(struct coll_run *run, const struct coll_side *side, enum coll_call call, size_t bytes, int batch,
                   size_t *wrong)
{
    coll_side_enter(side);
    coll_sample_prepare(run, call, bytes);
    MPI_Barrier(run->control);
    double took = time_calls(run, side, call, (int)bytes, batch);
    wait_quietly(run);
    *wrong += coll_sample_check(run, call, bytes);
    return took / batch;
}
