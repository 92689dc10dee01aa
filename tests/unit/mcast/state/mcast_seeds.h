// SPDX-License-Identifier: BSD-3-Clause
//
// A job of four members that all have the seed of a team, in virtual time, for the tests of seeds. Allocations fail on
// demand. One thread.
#ifndef CASTOFF_TESTS_MCAST_SEEDS_H
#define CASTOFF_TESTS_MCAST_SEEDS_H

#include "base/counters.h"
#include "mcast_world.h"

enum { MEMBERS = 4, BYTES = 5000, NOT_ARMED = -1 };
#define SECOND_NS UINT64_C(1000000000)
#define TEAM UINT64_C(0x200000009)

// How many calls of calloc still succeed before one fails, and how many have failed.
extern int until_failure, failures;

struct job {
    struct world world;
    struct co_mcast_seed *seed[MEMBERS];
    struct co_mcast_group *group[MEMBERS];
    struct co_mcast_op *ops[MEMBERS];
    unsigned char data[MEMBERS][MEMBERS * BYTES];
};

struct job *open_job(const char *faults);
void close_job(struct job *job);
struct co_mcast_seed *seed_of(struct job *job, int rank, uint64_t id); // another one, of the same members

void use(struct job *job, int rank); // opens the group for the own program
// Start and leave it in job->ops.
void bcast(struct job *job, int rank, int root);
void gather(struct job *job, int rank);
void finish_bcast(struct job *job); // that all have started
void pass(struct job *job, uint64_t ns);

// By how much it has grown since it was last asked for.
uint64_t counted(enum co_counter_id counter);

#endif
