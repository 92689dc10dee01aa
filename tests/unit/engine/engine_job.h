// SPDX-License-Identifier: BSD-3-Clause
//
// A job of several engines in one process: each rank is a thread, nodes are whatever the test says, the exchanges of
// the bootstrap are done under a lock. Nodes talk by UDP over the loopback interface.
#ifndef CASTOFF_TESTS_ENGINE_JOB_H
#define CASTOFF_TESTS_ENGINE_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

#define JOB_RANKS_MAX 12
#define JOB_VALUES_MAX 8 // of one exchange in a node

struct engine_job;

struct job_rank {
    struct engine_job *job;
    int rank, node, node_rank, node_size, node_first;
    struct co_engine *engine;
    int open_status;
    char why[300];
    unsigned barrier_turn;
    unsigned exchanges, node_exchanges; // of its start
};

struct engine_job {
    int size, nodes;
    int node_of_rank[JOB_RANKS_MAX];
    struct job_rank ranks[JOB_RANKS_MAX];
    _Atomic unsigned arrived; // at barriers so far
    pthread_barrier_t all, by_node[JOB_RANKS_MAX];
    unsigned char board[JOB_RANKS_MAX * 512];
    int node_board[JOB_RANKS_MAX][JOB_RANKS_MAX][JOB_VALUES_MAX];
    unsigned char node_bytes[JOB_RANKS_MAX][JOB_RANKS_MAX * 64];
    void (*body)(struct job_rank *rank);
};

// Called on every rank right before its engine opens, in its thread; NULL: not.
extern void (*engine_job_before_open)(struct job_rank *rank);

// The MPI below moves no engine. False at first.
extern bool engine_job_needs_workers;

// Round trips by the MPI below, as in struct co_bootstrap. NULL at first: there are none.
extern int (*engine_job_ping)(void *arg, int rank, bool is_last);
extern int (*engine_job_echo)(void *arg, int rank);

// Hears, and may change, what goes through the exchanges; called in any rank's thread, at the same time. NULL: nobody.
extern void (*engine_job_listener)(unsigned char *data, size_t bytes);

// Runs `body` on every rank with an open engine (or open_status < 0), then closes the engines.
void engine_job_run(int size, const int *node_of_rank, void (*body)(struct job_rank *rank));
// The same for those who look afterwards at what became of the ranks.
void engine_job_run_in(struct engine_job *job, int size, const int *node_of_rank, void (*body)(struct job_rank *rank));

// Waits for all ranks, as the bootstrap's barrier does: engines move meanwhile.
void engine_job_barrier(struct job_rank *rank);

// A team of the given world ranks seen from one of them; fails the test when it cannot be opened.
struct co_team *engine_job_team(struct job_rank *rank, uint64_t id, const int *members, int count);

// The team of all ranks.
struct co_team *engine_job_world(struct job_rank *rank, uint64_t id);

// Sets a variable (NULL: unsets it) and reads the settings again.
void engine_job_set(const char *name, const char *value);

// Multicast over the loopback interface, little noise, and a hang ends as a failure. For cmocka's group.
int engine_job_set_up(void **state);
int engine_job_set_up_split(void **state); // with worker threads by direction and subgroup

// Prints and ends the process: cmocka's own assertions must not be used in other threads.
void job_require(bool condition, const char *what);

#endif
