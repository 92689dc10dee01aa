// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of the p2p benchmark: an ordinary MPI program that measures messages between pairs of ranks on two sides
// (communicators) in turn and prints raw samples for `castoff bench p2p`, which does all judging. One thread.
#ifndef CASTOFF_BENCH_P2P_H
#define CASTOFF_BENCH_P2P_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum p2p_kind {
    P2P_LATENCY,
    P2P_BANDWIDTH,
    P2P_ONE_WAY,
    P2P_EXCHANGE,
    P2P_SENDRECV,
    P2P_PERSISTENT,
    P2P_PROBE,
    P2P_TEST,
    P2P_SSEND,
    P2P_VECTOR,
    P2P_RATE,
    P2P_POSTING,
    P2P_POSTED,
    P2P_UNEXPECTED
};

// What is measured. From `rate` on it goes over depths, before over sizes.
struct p2p_call {
    const char *name;
    enum p2p_kind kind;
    bool is_from_any, is_reverse; // receives name MPI_ANY_SOURCE; what came last goes first
};

enum { P2P_CALLS = 20, P2P_SIDES = 2, P2P_STEPS_MAX = 64, P2P_WINDOW = 128 };

extern const struct p2p_call p2p_calls[P2P_CALLS];

struct p2p_steps {
    size_t at[P2P_STEPS_MAX];
    int count;
};

struct p2p_options {
    bool calls[P2P_CALLS];
    struct p2p_steps sizes, depths;
    int rounds_min, rounds_max;
    double seconds; // for each call and step
    int batch;      // turns in one sample, 0: so many that a sample lasts about a millisecond
};

struct p2p_side {
    const char *name;
    MPI_Comm comm;
};

// Rank i of the first half and rank i of the second half are a pair: the one sends (or begins), the other receives.
struct p2p_run {
    struct p2p_options options;
    struct p2p_side sides[P2P_SIDES];
    MPI_Comm control; // native, for everything that is not measured
    int rank, ranks, peer;
    bool is_first; // of its pair
    uint8_t *send, *receive;
    MPI_Request *requests;
    uint64_t seed;
};

// p2p_options.c: from the command line. Says what is wrong on rank 0 and returns false.
bool p2p_options_read(struct p2p_options *options, int argc, char **argv, int rank);
bool p2p_call_has_depth(const struct p2p_call *call);

// p2p_stream.c: everything with a size. p2p_depth.c: everything with a depth. Both: `batch` turns, the seconds of one
// message on the rank of the pair that measures, 0 on the other; wrong bytes (or messages) are added to *wrong.
double p2p_stream_sample(struct p2p_run *run, MPI_Comm comm, const struct p2p_call *call, size_t bytes, int batch,
                         size_t *wrong);
double p2p_depth_sample(struct p2p_run *run, MPI_Comm comm, const struct p2p_call *call, size_t depth, int batch,
                        size_t *wrong);

// p2p_usage.c: seconds of `batch` messages of these kinds; and where a vector has its bytes, in a buffer twice as
// large.
double p2p_usage_time(const struct p2p_run *run, MPI_Comm comm, enum p2p_kind kind, int bytes, int batch);
void p2p_usage_spread(uint8_t *buffer, const uint8_t *data, size_t bytes);
void p2p_usage_gather(uint8_t *data, const uint8_t *buffer, size_t bytes);

// Bytes of either buffer, and requests, that a call needs at a step.
size_t p2p_stream_room(const struct p2p_call *call, size_t bytes);
size_t p2p_depth_messages(const struct p2p_call *call, size_t depth);
int p2p_stream_window(size_t bytes);

double p2p_now(void); // seconds

#endif
