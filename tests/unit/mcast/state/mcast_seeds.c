// SPDX-License-Identifier: BSD-3-Clause
//
// The job of mcast_seeds.h. Linked with --wrap=calloc.
#include "mcast_seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

int until_failure = NOT_ARMED, failures;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
    if (until_failure == NOT_ARMED || until_failure-- > 0) {
        return __real_calloc(count, bytes);
    }
    until_failure = NOT_ARMED;
    failures++;
    return NULL;
}

struct co_mcast_seed *seed_of(struct job *job, int rank, uint64_t id)
{
    static const int members[MEMBERS] = {0, 1, 2, 3};
    struct co_mcast_seed *seed = NULL;
    assert_int_equal(co_mcast_seed_open(&seed, job->world.mcast[rank], id, members, MEMBERS, rank), 0);
    return seed;
}

struct job *open_job(const char *faults)
{
    struct job *job = calloc(1, sizeof(*job));
    struct world_options options = world_defaults(MEMBERS);
    options.faults = faults;
    world_open(&job->world, &options);
    for (int rank = 0; rank < MEMBERS; rank++) {
        job->seed[rank] = seed_of(job, rank, TEAM);
    }
    return job;
}

void close_job(struct job *job)
{
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (job->seed[rank] != NULL) {
            co_mcast_seed_close(job->world.mcast[rank], job->seed[rank]);
        }
    }
    world_close(&job->world);
    free(job);
}

void use(struct job *job, int rank)
{
    if (job->group[rank] == NULL) {
        assert_int_equal(co_mcast_group_open(&job->group[rank], job->world.mcast[rank], job->seed[rank], NULL), 0);
    }
}

void bcast(struct job *job, int rank, int root)
{
    use(job, rank);
    if (rank == root) {
        pattern_fill(job->data[rank], BYTES, 1);
    }
    assert_int_equal(co_mcast_bcast_start(&job->ops[rank], job->group[rank], root, job->data[rank], BYTES,
                                          co_loopback_now_ns(job->world.hub)),
                     0);
}

void gather(struct job *job, int rank)
{
    use(job, rank);
    pattern_fill(job->data[rank] + rank * BYTES, BYTES, (unsigned)rank);
    assert_int_equal(co_mcast_allgather_start(&job->ops[rank], job->group[rank], job->data[rank], BYTES,
                                              co_loopback_now_ns(job->world.hub)),
                     0);
}

void pass(struct job *job, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(job->world.hub) + ns;
    while (co_loopback_now_ns(job->world.hub) < end && world_turn(&job->world)) {
    }
}

void finish_bcast(struct job *job)
{
    world_run(&job->world, job->ops, MEMBERS, 10 * SECOND_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(job->ops[rank]), 1);
        assert_true(pattern_matches(job->data[rank], BYTES, 1));
        co_mcast_op_release(job->ops[rank]);
    }
    world_settle(&job->world, 10 * SECOND_NS);
}

uint64_t counted(enum co_counter_id counter)
{
    static uint64_t before[CO_COUNTER_COUNT];
    uint64_t since = co_counter_read(counter) - before[counter];
    before[counter] += since;
    return since;
}
