// SPDX-License-Identifier: BSD-3-Clause
//
// The head of a datagram is decoded once over UDP, too: by the call of whoever waits, and by worker threads with a lane
// each; with faults in between.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine_job.h"
#include "head_counts.h"

enum { RANKS = 3, LONG = 1500003 };

static void talk(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 21);
    unsigned char *buffer = calloc(RANKS, LONG);
    for (int root = 0; root < RANKS; root++) {
        memset(buffer, rank->rank == root ? root + 1 : 0, LONG);
        job_require(co_team_bcast(team, root, buffer, LONG, NULL) == 0 && buffer[LONG - 1] == root + 1, "bcast");
        job_require(co_team_allgather(team, NULL, buffer, 5000) == 0, "allgather");
    }
    free(buffer);
    co_team_close(team);
}

static struct head_counts run(void)
{
    head_counts_take();
    engine_job_run(RANKS, (const int[]){0, 1, 2}, talk);
    struct head_counts counts = head_counts_take();
    assert_true(counts.datagrams > 0);
    assert_in_range(counts.decoded, 1, counts.datagrams);
    assert_int_equal(counts.twice, 0);
    assert_int_equal(counts.outside, 0);
    return counts;
}

static void by_callers(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "caller");
    assert_int_equal(run().of_lanes, 0);
}

static void by_lanes(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "threads");
    engine_job_set("CASTOFF_WORKERS", "3");
    engine_job_set("CASTOFF_UDP_SUBGROUPS", "2");
    assert_true(run().of_lanes > 0);
    engine_job_set("CASTOFF_FAULT", "drop=0.03,dup=0.02,reorder=0.02,corrupt=0.01,seed=11");
    run();
    engine_job_set("CASTOFF_FAULT", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_callers),
        cmocka_unit_test(by_lanes),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
