// SPDX-License-Identifier: BSD-3-Clause
//
// The end of an engine: copies kept for a neighbour who says nothing hold nobody up, for whoever comes to the end has
// no operation under way that could need them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "engine/engine_state.h"
#include "engine_job.h"
#include "mcast/endpoint.h"

static uint64_t waits_before;

static uint64_t waits(void)
{
    return co_counter_read(CO_COUNT_WAIT_SLEEPS) + co_counter_read(CO_COUNT_WAIT_YIELDS);
}

static void keep_a_copy(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *all = engine_job_world(rank, 3);
    int value = rank->rank == 0 ? 77 : 0;
    job_require(co_team_bcast(all, 0, &value, sizeof(value), NULL) == 0 && value == 77, "bcast");
    if (rank->rank == 1) {
        all->group->unreported_done = 0;
        all->group->report_due_ns = CO_NEVER; // its report never leaves,
    }
    co_team_close(all);
    if (rank->rank == 1) {
        co_trylock_wait(&rank->engine->lock); // and nobody answers for it
    }
    pthread_barrier_wait(&rank->job->all);
    job_require(rank->rank == 1 || rank->engine->mcast->kept_bytes == sizeof(value), "no copy is kept");
    waits_before = rank->rank == 0 ? waits() : waits_before;
    pthread_barrier_wait(&rank->job->all);
}

static void kept_copies_are_not_waited_for(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "caller");
    engine_job_set("CASTOFF_BCAST", "yes");
    engine_job_run(2, (const int[]){0, 1}, keep_a_copy);
    assert_int_equal(waits(), waits_before);
    engine_job_set("CASTOFF_BCAST", NULL);
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_copies_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
