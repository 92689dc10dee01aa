// SPDX-License-Identifier: BSD-3-Clause
//
// One member of a team cannot go on: every other one, on its node and on others, in whatever step it waits, gets an
// error instead of waiting for ever; later calls fail at once; other teams do not notice.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "engine_inside.h"
#include "engine_job.h"

static int traitor; // the rank that breaks the team instead of taking part
static enum co_call call;

static int take_part(struct job_rank *rank, struct co_team *team, size_t bytes)
{
    unsigned char *all = calloc((size_t)rank->job->size, bytes);
    struct co_task *task = NULL;
    int result;
    if (call == CO_CALL_BCAST) {
        result = co_team_bcast(team, traitor, all, bytes, NULL);
    } else if (call == CO_CALL_ALLGATHER) {
        result = co_team_allgather(team, NULL, all, bytes);
    } else {
        struct co_wait wait = {.call = "test"};
        int started = call == CO_CALL_IBCAST ? co_team_ibcast(&task, team, CO_CALL_IBCAST, traitor, all, bytes)
                                             : co_team_iallgather(&task, team, CO_CALL_IALLGATHER, NULL, all, bytes);
        job_require(started == 0, "started");
        while (!co_task_is_done(task)) {
            co_engine_wait_turn(rank->engine, &wait);
        }
        result = co_task_result(task);
        co_task_release(task);
    }
    free(all);
    return result;
}

static void one_breaks(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 5), *other = engine_job_world(rank, 6);
    pthread_barrier_wait(&rank->job->all); // teams exist everywhere
    if (rank->rank == traitor) {
        inside_break_team(team, -EIO);
    } else {
        int result = take_part(rank, team, 3000);
        if (result != -EIO && result != -ECONNRESET) {
            print_error("call %d, rank %d broke it off: rank %d has %d\n", (int)call, traitor, rank->rank, result);
        }
        job_require(result == -EIO || result == -ECONNRESET, "the failure was not told");
    }
    int later = take_part(rank, team, 3000);
    job_require(later == -EIO || later == -ECONNRESET, "a call on a broken team came through");
    job_require(take_part(rank, other, 3000) == 0, "another team was broken too");
    co_team_close(team);
    co_team_close(other);
}

static void break_each(int size, const int *nodes)
{
    for (call = CO_CALL_BCAST; call < CO_CALL_BCAST_INIT; call++) {
        for (traitor = 0; traitor < size; traitor++) {
            engine_job_run(size, nodes, one_breaks);
        }
    }
}

static void all_on_one_node_learn_of_it(void **state)
{
    (void)state;
    break_each(3, (const int[]){0, 0, 0});
}

static void all_nodes_learn_of_it(void **state)
{
    (void)state;
    break_each(3, (const int[]){0, 1, 2});
}

static void members_behind_leaders_learn_of_it(void **state)
{
    (void)state;
    break_each(5, (const int[]){0, 0, 1, 1, 1});
}

static void the_transport_breaks(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 5);
    pthread_barrier_wait(&rank->job->all);
    if (rank->rank == 0) {
        inside_break_network(rank->engine, -ENETDOWN);
    }
    int result = take_part(rank, team, 100000);
    // What was sent before may be all that the others need, so they may succeed; but nobody hangs.
    bool is_told = result == -ENETDOWN || result == -ECONNRESET;
    job_require(is_told || (result == 0 && rank->rank != 0), "a broken transport was not told");
    co_team_close(team);
}

static void a_broken_transport_fails_what_needs_it(void **state)
{
    (void)state;
    traitor = 1;
    for (call = CO_CALL_BCAST; call < CO_CALL_BCAST_INIT; call++) {
        engine_job_run(4, (const int[]){0, 0, 1, 1}, the_transport_breaks);
    }
}

static void one_is_gone(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 5);
    const int pair[] = {0, 1};
    struct co_team *without = engine_job_team(rank, 6, pair, 2);
    pthread_barrier_wait(&rank->job->all);
    if (rank->rank != 2) {
        inside_lose_rank(rank->engine, 2); // as co_peer_failure_poll would find it: threads cannot die alone
        job_require(take_part(rank, team, 3000) == -ECONNRESET, "a dead neighbour was not noticed");
        job_require(take_part(rank, without, 3000) == 0, "a team without the dead one failed");
        co_team_close(without);
    }
    co_team_close(team);
}

static void only_teams_of_the_dead_fail(void **state)
{
    (void)state;
    traitor = 1;
    for (call = CO_CALL_ALLGATHER; call < CO_CALL_BCAST_INIT; call++) { // the root of a bcast waits for nobody
        engine_job_run(3, (const int[]){0, 0, 0}, one_is_gone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_on_one_node_learn_of_it),        cmocka_unit_test(all_nodes_learn_of_it),
        cmocka_unit_test(members_behind_leaders_learn_of_it), cmocka_unit_test(a_broken_transport_fails_what_needs_it),
        cmocka_unit_test(only_teams_of_the_dead_fail),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
