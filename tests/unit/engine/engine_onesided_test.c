// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided collectives over a group library that is not there (fake_group.h): all members decide alike, and whatever
// goes wrong on one of them, all have the right bytes at the end, and no group is left open. Hosts talk by UDP on
// loopback.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "engine/collective/onesided_collective.h"
#include "engine_inside.h"
#include "engine_job.h"
#include "pattern.h"
#include "fake_group.h"

enum { RANKS = 3, BYTES = 200000, SMALL = 1000 };

static const int one_each[RANKS] = {0, 1, 2};
static uint64_t before[CO_COUNTER_COUNT];
static _Atomic int arrived;

int __wrap_co_onesided_library_load(struct co_onesided_library *library, const char *directory, char *why,
                                    size_t why_room);

int __wrap_co_onesided_library_load(struct co_onesided_library *library, const char *directory, char *why,
                                    size_t why_room)
{
    (void)directory;
    return fake_group_load(library, why, why_room);
}

static void be_rank(struct job_rank *rank)
{
    fake_group_be_rank(rank->rank);
}

static void run(const int *node_of_rank, void (*body)(struct job_rank *rank), struct fake_group_plan plan)
{
    fake_group_begin(&plan);
    atomic_store(&arrived, 0);
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        before[i] = co_counter_read((enum co_counter_id)i);
    }
    engine_job_run(RANKS, node_of_rank, body);
    assert_int_equal(fake_group_now(), 0);
}

static int counted(enum co_counter_id id)
{
    return (int)(co_counter_read(id) - before[id]);
}

static void broadcast(struct co_team *team, int rank, int root, size_t bytes, unsigned seed)
{
    unsigned char *buffer = calloc(1, bytes);
    size_t came = 0;
    if (rank == root) {
        pattern_fill(buffer, bytes, seed);
    }
    int error = co_team_bcast(team, root, buffer, bytes, &came);
    job_require(error == 0, strerror(-error));
    job_require(came == bytes, "a broadcast has another length");
    job_require(pattern_matches(buffer, bytes, seed), "wrong bytes in a broadcast");
    free(buffer);
}

static void gather(struct co_team *team, int rank, bool in_place, unsigned seed)
{
    unsigned char *all = calloc(RANKS, BYTES), *mine = calloc(1, BYTES);
    pattern_fill(in_place ? all + (size_t)rank * BYTES : mine, BYTES, seed + (unsigned)rank);
    job_require(co_team_allgather(team, in_place ? NULL : mine, all, BYTES) == 0, "an allgather fails");
    for (int source = 0; source < RANKS; source++) {
        job_require(pattern_matches(all + (size_t)source * BYTES, BYTES, seed + (unsigned)source),
                    "wrong bytes in an allgather");
    }
    free(all);
    free(mine);
}

// Once in a job.
static void meet(struct job_rank *rank)
{
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < RANKS) {
        co_engine_progress(rank->engine);
        sched_yield();
    }
}

static void of_each_root(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7), *other = engine_job_world(rank, 8);
    for (int root = 0; root < RANKS; root++) {
        broadcast(team, rank->rank, root, BYTES, (unsigned)root);
        broadcast(other, rank->rank, root, BYTES, 50 + (unsigned)root);
        broadcast(team, rank->rank, root, SMALL, 90);
    }
    co_team_close(team);
    co_team_close(other);
}

static void test_broadcasts_are_placed(void **state)
{
    (void)state;
    run(one_each, of_each_root, (struct fake_group_plan){0});
    assert_int_equal(counted(CO_COUNT_ONESIDED_BROADCASTS), 2 * RANKS);
    assert_int_equal(counted(CO_COUNT_ONESIDED_BYTES), 2 * RANKS * BYTES);
    assert_int_equal(fake_group_opened(), 2 * RANKS * RANKS);
    assert_int_equal(fake_group_name_count(), 2 * RANKS); // no two with one name
}

static void gathers(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7);
    gather(team, rank->rank, false, 10);
    gather(team, rank->rank, true, 20);
    co_team_close(team);
}

static void test_allgathers_are_placed(void **state)
{
    (void)state;
    run(one_each, gathers, (struct fake_group_plan){0});
    assert_int_equal(counted(CO_COUNT_ONESIDED_BLOCKS), 2 * RANKS);
    assert_int_equal(counted(CO_COUNT_ONESIDED_BYTES), 2 * RANKS * BYTES);
    assert_int_equal(counted(CO_COUNT_ONESIDED_BROADCASTS), 0);
}

static void one_from_the_first(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7);
    broadcast(team, rank->rank, 0, BYTES, 3);
    co_team_close(team);
}

static void test_each_step_may_fail_on_one_rank(void **state)
{
    static const enum fake_step steps[] = {FAKE_OPEN, FAKE_WRITE, FAKE_COMPLETE};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (int rank = 0; rank < RANKS; rank++) {
            bool can_happen = steps[i] != FAKE_WRITE || rank == 0; // members do not write
            run(one_each, one_from_the_first,
                (struct fake_group_plan){.fails_at = steps[i], .rank = rank, .writes_bad = can_happen});
            assert_int_equal(counted(CO_COUNT_ONESIDED_FALLEN_BACK), can_happen);
            assert_int_equal(counted(CO_COUNT_ONESIDED_BROADCASTS), !can_happen);
        }
    }
}

static void test_a_silent_rank_costs_patience(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_DEADLINE_S", "8"); // a second
    run(one_each, one_from_the_first, (struct fake_group_plan){.fails_at = FAKE_OPEN, .rank = 1, .is_silent = true});
    assert_int_equal(counted(CO_COUNT_ONESIDED_FALLEN_BACK), 1);
    engine_job_set("CASTOFF_DEADLINE_S", NULL);
}

// Everything is there, and nothing can be written any more: that is enough.
static void test_leaving_may_fail(void **state)
{
    (void)state;
    run(one_each, one_from_the_first, (struct fake_group_plan){.fails_at = FAKE_CLOSE, .rank = 2});
    assert_int_equal(counted(CO_COUNT_ONESIDED_BROADCASTS), 1);
    assert_int_equal(counted(CO_COUNT_ONESIDED_FALLEN_BACK), 0);
}

static void test_an_allgather_may_fail_in_the_middle(void **state)
{
    (void)state;
    // Rank 1 writes the second block only.
    run(one_each, gathers, (struct fake_group_plan){.fails_at = FAKE_WRITE, .rank = 1, .writes_bad = false});
    assert_int_equal(counted(CO_COUNT_ONESIDED_BLOCKS), 1);
    assert_int_equal(counted(CO_COUNT_ONESIDED_FALLEN_BACK), 1);
    assert_int_equal(counted(CO_COUNT_ONESIDED_RESTING), 1);
}

static void many(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7), *other = engine_job_world(rank, 8);
    for (unsigned i = 0; i < 30; i++) {
        broadcast(team, rank->rank, 0, BYTES, i);
        job_require(i != 0 || inside_onesided_to_skip(team) == 8, "the next calls would ask again");
    }
    job_require(inside_onesided_skip(team) == 32,
                "it is not asked less and less often"); // after 1, 8 + 1 and 16 + 1 calls
    broadcast(other, rank->rank, 0, BYTES, 1);
    co_team_close(team);
    co_team_close(other);
}

static void test_after_a_failure_it_rests(void **state)
{
    (void)state;
    run(one_each, many, (struct fake_group_plan){.fails_at = FAKE_OPEN, .rank = 2});
    assert_int_equal(counted(CO_COUNT_ONESIDED_FALLEN_BACK), 1);
    assert_int_equal(counted(CO_COUNT_ONESIDED_RESTING), 30); // another communicator does not pay for it again
    assert_int_equal(fake_group_opened(), RANKS);
}

static void heals(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7);
    for (unsigned i = 0; i < 9; i++) {
        broadcast(team, rank->rank, 1, BYTES, i);
    }
    meet(rank);
    fake_group_heal();
    co_store_relaxed(&inside_onesided(rank->engine)->rest_until_ns, 0); // as if its time had passed
    broadcast(team, rank->rank, 1, BYTES, 9);
    broadcast(team, rank->rank, 2, BYTES, 10);
    job_require(inside_onesided_skip(team) == 0, "what went well is forgotten");
    co_team_close(team);
}

static void test_what_comes_back_is_used(void **state)
{
    (void)state;
    run(one_each, heals, (struct fake_group_plan){.fails_at = FAKE_COMPLETE, .rank = 2});
    assert_int_equal(counted(CO_COUNT_ONESIDED_FALLEN_BACK), 1);
    assert_int_equal(counted(CO_COUNT_ONESIDED_RESTING), 8);
    assert_int_equal(counted(CO_COUNT_ONESIDED_BROADCASTS), 2);
}

static void test_all_or_none_can(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        run(one_each, of_each_root, (struct fake_group_plan){.fails_at = FAKE_CHECK, .rank = rank});
        assert_int_equal(fake_group_opened(), 0);
        run(one_each, of_each_root, (struct fake_group_plan){.fails_at = FAKE_LOAD, .rank = rank});
        assert_int_equal(fake_group_opened(), 0);
    }
}

static void one_of_all(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7);
    broadcast(team, rank->rank, 2, BYTES, 4);
    gather(team, rank->rank, true, 30);
    co_team_close(team);
}

static void test_several_ranks_of_a_host(void **state)
{
    static const int two_and_one[RANKS] = {0, 0, 1}, together[RANKS] = {0, 0, 0};
    (void)state;
    run(two_and_one, one_of_all, (struct fake_group_plan){0});
    assert_int_equal(fake_group_opened(), 0);
    assert_int_equal(counted(CO_COUNT_ONESIDED_NO_LAYOUT), 2);
    run(together, one_of_all, (struct fake_group_plan){0});
    assert_int_equal(fake_group_opened(), 0);
    assert_int_equal(counted(CO_COUNT_ONESIDED_NO_LAYOUT), 0); // there is no stream inside a host
}

static void while_one_is_busy(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7);
    if (rank->rank == 1) {
        job_require(co_trylock_take(&inside_onesided(rank->engine)->turn), "the turn is taken");
    }
    broadcast(team, rank->rank, 0, BYTES, 5);
    if (rank->rank == 1) {
        co_trylock_drop(&inside_onesided(rank->engine)->turn);
    }
    broadcast(team, rank->rank, 0, BYTES, 6);
    co_team_close(team);
}

static void test_another_thread_is_no_failure(void **state)
{
    (void)state;
    run(one_each, while_one_is_busy, (struct fake_group_plan){0});
    assert_int_equal(counted(CO_COUNT_ONESIDED_BUSY), 1);
    assert_int_equal(counted(CO_COUNT_ONESIDED_BROADCASTS), 1);
}

static void different_lengths(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7);
    size_t bytes = rank->rank == 1 ? BYTES + 5000 : BYTES, came = 0;
    unsigned char *buffer = calloc(1, bytes);
    pattern_fill(buffer, rank->rank == 0 ? BYTES : 0, 9);
    job_require(co_team_bcast(team, 0, buffer, bytes, &came) == 0, "more room than bytes is no error");
    job_require(came == BYTES && pattern_matches(buffer, BYTES, 9), "the root's bytes");
    free(buffer);
    co_team_close(team);
}

static void test_lengths_that_differ_go_the_ordinary_way(void **state)
{
    (void)state;
    run(one_each, different_lengths, (struct fake_group_plan){0});
    assert_int_equal(fake_group_opened(), 0);
    assert_int_equal(counted(CO_COUNT_ONESIDED_REFUSED), 1);
}

static void one_gives_up(struct job_rank *rank)
{
    struct co_team *team = engine_job_world(rank, 7);
    unsigned char *buffer = calloc(1, BYTES);
    broadcast(team, rank->rank, 0, BYTES, 3);
    meet(rank); // a member that has not seen the end of this one would fail with it
    if (rank->rank == 2) {
        co_team_give_up(team, -ENOMEM);
    } else {
        job_require(co_team_bcast(team, 0, buffer, BYTES, NULL) < 0, "a member is missing, and it is no error");
    }
    free(buffer);
    co_team_close(team);
}

static void test_a_member_that_is_missing_is_an_error(void **state)
{
    (void)state;
    run(one_each, one_gives_up, (struct fake_group_plan){0});
    assert_int_equal(counted(CO_COUNT_ONESIDED_BROADCASTS), 1);
}

static void decisions(struct job_rank *rank)
{
    struct co_team_facts facts = {
        .ranks = 2, .nodes = 2, .max_ranks_per_node = 1, .has_multicast = true, .transport = CO_TRANSPORT_UDP};
    bool is_onesided = inside_onesided(rank->engine) != NULL;
    enum co_reason bcast = co_team_decide(rank->engine, &facts, CO_CALL_BCAST, 1 << 20);
    job_require(!is_onesided || bcast == CO_TAKE, "the table that compares with stock keeps it from being placed");
    facts.nodes = 1;
    facts.max_ranks_per_node = 2;
    facts.has_shm = false;
    job_require(co_team_decide(rank->engine, &facts, CO_CALL_BCAST, 1 << 20) == CO_NO_TRANSPORT, "an obstacle stays");
}

static void test_the_table_does_not_decide_it(void **state)
{
    (void)state;
    run(one_each, decisions, (struct fake_group_plan){0});
}

static int set_up(void **state)
{
    engine_job_before_open = be_rank;
    setenv("CASTOFF_COORDINATOR", "10.0.0.1:4793", 1);
    setenv("CASTOFF_COORDINATOR_SECRET", "/nowhere/secret", 1);
    setenv("CASTOFF_PLACED_MIN", "64K", 1);
    return engine_job_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broadcasts_are_placed),
        cmocka_unit_test(test_allgathers_are_placed),
        cmocka_unit_test(test_each_step_may_fail_on_one_rank),
        cmocka_unit_test(test_a_silent_rank_costs_patience),
        cmocka_unit_test(test_leaving_may_fail),
        cmocka_unit_test(test_an_allgather_may_fail_in_the_middle),
        cmocka_unit_test(test_after_a_failure_it_rests),
        cmocka_unit_test(test_what_comes_back_is_used),
        cmocka_unit_test(test_all_or_none_can),
        cmocka_unit_test(test_several_ranks_of_a_host),
        cmocka_unit_test(test_another_thread_is_no_failure),
        cmocka_unit_test(test_lengths_that_differ_go_the_ordinary_way),
        cmocka_unit_test(test_a_member_that_is_missing_is_an_error),
        cmocka_unit_test(test_the_table_does_not_decide_it),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
