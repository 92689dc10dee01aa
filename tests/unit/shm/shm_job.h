// SPDX-License-Identifier: BSD-3-Clause
//
// A small job on one node for the tests of src/shm: ranks as processes or as threads, the exchanges that the
// bootstrap would lend, and a loop that moves one operation to its end. Linked into every unit test.
#ifndef CASTOFF_TESTS_SHM_JOB_H
#define CASTOFF_TESTS_SHM_JOB_H

#include <stdio.h>
#include <sys/types.h>

#include "shm/shm.h"

#define SHM_JOB_RANKS_MAX 64

struct shm_job;

struct shm_rank {
    struct shm_job *job;
    int rank, size;
    struct co_shm_config config; // as the node was or would be opened
    struct co_shm_node *node;    // NULL when the job does not open it
    const void *argument;
    bool is_thread;
};

// What each rank runs: 0, or the line that found something wrong.
typedef int shm_rank_function(struct shm_rank *self);

struct shm_job_options {
    int size;
    bool threads;
    bool leave_closed; // the function opens the node itself
    int single_copy;
    bool by_number; // peers are watched by process number, without descriptors
    size_t single_copy_min, team_bytes, staging_bytes;
    int cores; // of the node; 0: the machine's
    const void *argument;
};

// Runs the function on all ranks; the number of ranks that failed.
int shm_job_run(const struct shm_job_options *options, shm_rank_function *function);

// Like it, but rank `victim` is expected to die by SIGKILL, and the others do not meet after their function.
int shm_job_run_with_victim(const struct shm_job_options *options, shm_rank_function *function, int victim);

void shm_job_barrier(struct shm_rank *self);
int shm_job_least(struct shm_rank *self, int mine); // of all ranks
pid_t shm_job_pid(struct shm_rank *self, int rank); // after a barrier
// A word that all ranks share.
_Atomic long *shm_job_word(struct shm_rank *self, int index);

// Moves it to its end; yields between steps, since there are more ranks than cores.
int shm_job_finish(struct co_shm_op *op);

// xorshift64*: the same numbers on every rank that has the same state, which is not 0.
uint64_t shm_job_draw(uint64_t *state);
// What member's block holds in an operation, and whether it does; says which byte is wrong.
void shm_job_fill(char *block, uint64_t operation, int member, size_t bytes);
bool shm_job_holds(const char *block, uint64_t operation, int member, size_t bytes);
// An operation with checked contents on a team of all ranks in node order: the line that failed or 0.
int shm_job_check_bcast(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, int root, size_t bytes);
int shm_job_check_allgather(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, size_t bytes);
int shm_job_check_gather(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, int root, size_t bytes);
// A team of all ranks in node order.
int shm_job_open_team(struct shm_rank *self, struct co_shm_team **team, uint64_t id);
// Of these ranks, of which we are the one at `place`; leaves its seat when it fails.
int shm_job_open_members(struct shm_rank *self, struct co_shm_team **team, uint64_t id, const int *members, int count,
                         int place);

// Names of ours in /dev/shm.
int shm_job_names_left(void);

#define SHM_CHECK(claim)                                                                                               \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, self->rank, #claim);                           \
            return __LINE__;                                                                                           \
        }                                                                                                              \
    } while (0)

#endif
