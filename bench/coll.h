// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of the coll benchmark: an ordinary MPI program that measures collectives on two or more sides
// (communicators) in turn and prints raw samples for `castoff bench`, which does all judging. One thread.
#ifndef CASTOFF_BENCH_COLL_H
#define CASTOFF_BENCH_COLL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum coll_call {
    COLL_BCAST,
    COLL_IBCAST,
    COLL_ALLGATHER,
    COLL_IALLGATHER,
    COLL_ALLGATHERV,
    COLL_IALLGATHERV,
    COLL_IALLTOALL,
    COLL_IALLTOALLV,
    COLL_PERSISTENT_BCAST, // started and completed; made once for each side and size
    COLL_PERSISTENT_ALLGATHER,
    COLL_PERSISTENT_ALLGATHERV,
    COLL_ISTART,
    COLL_OVERLAP, // of MPI_Iallgather
    COLL_OVERLAP_IBCAST,
    COLL_OVERLAP_IALLGATHERV,
    COLL_OVERLAP_IALLTOALL,
    COLL_OVERLAP_IALLTOALLV,
    COLL_CALLS
};

// OSU: short units of work until the clock says that it was long enough. STEPS: a fixed amount of work, which takes
// longer when the library needs the processor. SLEEP: on another device, the processor is free.
enum coll_compute { COLL_COMPUTE_OSU, COLL_COMPUTE_STEPS, COLL_COMPUTE_SLEEP, COLL_COMPUTES };

// Of an allgatherv: each longer than the one before by the same, all the same, or the first ten times the others.
enum coll_blocks { COLL_BLOCKS_GROWING, COLL_BLOCKS_EQUAL, COLL_BLOCKS_LONG, COLL_BLOCKS };

// MEASURED: rank 0 has the first core for itself and computes alone, the others wait on the other cores. SHARED: a rank
// on each core in turn, and all compute. Where the ranks are the launcher's otherwise.
enum coll_pin { COLL_PIN_NONE, COLL_PIN_MEASURED, COLL_PIN_SHARED, COLL_PINS };

enum { COLL_SIDES_MAX = 40, COLL_SIZES_MAX = 64 };

struct coll_options {
    bool calls[COLL_CALLS];
    size_t sizes[COLL_SIZES_MAX];
    int size_count;
    int rounds_min, rounds_max;
    double seconds;            // for each call and size
    int batch;                 // calls in one sample, 0: so many that a sample lasts about a millisecond
    int late_ms;               // istart: how late the last rank comes
    enum coll_compute compute; // overlap: what the computation is
    enum coll_blocks blocks;   // of the allgathervs and alltoallvs
    enum coll_pin pin;         // before MPI_Init, by coll_place_pin
    bool has_algorithms;       // one side for every algorithm of the tuned component
    bool takes_turns;          // calls of one size are measured in the same rounds
    int root;
};

// A communicator to measure, and the settings of the stock MPI to make before a call on it.
struct coll_side {
    char name[32];
    MPI_Comm comm;
    enum coll_call call;             // which call's algorithm it stands for; COLL_CALLS: all
    MPI_Request planned[COLL_CALLS]; // the persistent ones of the size that is measured
    const char *libnbc_variable;     // of a nonblocking one, which looks at its own at each call; NULL: none
    int libnbc_algorithm;
};

struct coll_run {
    struct coll_options options;
    struct coll_side sides[COLL_SIDES_MAX];
    int side_count;
    MPI_Comm control; // native, for everything that is not measured
    int rank, ranks;
    uint8_t *send, *receive;
    size_t room;          // bytes of `receive`
    int *counts, *places; // of the allgathers of unequal blocks, of the size that is measured
    uint64_t seed;
};

// One message from a root, not a block of each rank.
static inline bool coll_has_root(enum coll_call call)
{
    return call == COLL_BCAST || call == COLL_IBCAST || call == COLL_PERSISTENT_BCAST || call == COLL_OVERLAP_IBCAST;
}

// What a start of a persistent one is.
static inline enum coll_call coll_started(enum coll_call call)
{
    return call == COLL_PERSISTENT_BCAST        ? COLL_IBCAST
           : call == COLL_PERSISTENT_ALLGATHER  ? COLL_IALLGATHER
           : call == COLL_PERSISTENT_ALLGATHERV ? COLL_IALLGATHERV
                                                : call;
}

extern const char *const coll_call_names[COLL_CALLS];

// coll_options.c: from the command line. Says what is wrong on rank 0 and returns false.
bool coll_options_read(struct coll_options *options, int argc, char **argv, int rank);

// coll_sides.c: side 0 is castoff's, side 1 stock's default, then stock's algorithms.
void coll_sides_open(struct coll_run *run);
void coll_sides_close(struct coll_run *run);
bool coll_side_serves(const struct coll_side *side, enum coll_call call);
// Before each sample: what cannot be bound to a communicator.
void coll_side_enter(const struct coll_side *side);

// From each rank to each: what a rank sends has as many blocks as what it receives.
static inline bool coll_is_exchange(enum coll_call call)
{
    return call == COLL_IALLTOALL || call == COLL_IALLTOALLV || call == COLL_OVERLAP_IALLTOALL ||
           call == COLL_OVERLAP_IALLTOALLV;
}

// coll_place.c: puts this process where `--pin` of its command line wants it, before MPI makes threads; false: it wants
// nothing, or the rank is not known yet.
bool coll_place_pin(int argc, char **argv);
// "place NODES RANKS", the nodes and the most ranks on one of them.
void coll_place_print(struct coll_run *run);

// coll_data.c: content that differs by rank, round and place.
void coll_data_fill(uint8_t *bytes, size_t count, uint64_t seed);
size_t coll_data_wrong(const uint8_t *bytes, size_t count, uint64_t seed);
uint64_t coll_data_seed(uint64_t round, int rank);
uint64_t coll_data_seed_of_pair(uint64_t round, int from, int to);

// coll_sample.c: makes the request of a persistent call, and frees it; nothing for the others. Collective.
void coll_sample_plan(struct coll_run *run, struct coll_side *side, enum coll_call call, size_t bytes);
void coll_sample_forget(struct coll_side *side, enum coll_call call);
// One sample of a call on a side; prepares, waits for all, times `batch` calls, checks every byte.
double coll_sample(struct coll_run *run, const struct coll_side *side, enum coll_call call, size_t bytes, int batch,
                   size_t *wrong);
void coll_sample_prepare(struct coll_run *run, enum coll_call call, size_t bytes);
size_t coll_sample_check(struct coll_run *run, enum coll_call call, size_t bytes);
double coll_now(void); // seconds

// Starts a nonblocking one.
void coll_sample_start(struct coll_run *run, const struct coll_side *side, enum coll_call call, size_t bytes,
                       MPI_Request *request);

// coll_overlap.c: the definition of the OSU benchmarks. Prints its own lines.
bool coll_is_overlap(enum coll_call call);
void coll_overlap_measure(struct coll_run *run, enum coll_call overlap, size_t bytes);

#endif
