// SPDX-License-Identifier: BSD-3-Clause
//
// Teams before their first word: a seed costs next to nothing, and the first word of another member, or the own
// program, opens the group; nobody misses a byte for it. Who can not open it tells.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast/state/group.h"
#include "mcast_seeds.h"

static void the_first_chunk_opens_the_group(void **state)
{
    (void)state;
    struct job *job = open_job(NULL);
    counted(CO_COUNT_OPENED_BY_OTHERS);
    counted(CO_COUNT_NACKS_SENT);
    counted(CO_COUNT_RETRANSMITTED);
    bcast(job, 0, 0);
    pass(job, SECOND_NS);
    for (int rank = 1; rank < MEMBERS; rank++) {
        assert_non_null(job->seed[rank]->group);
        assert_non_null(job->seed[rank]->group->early[0].first);
    }
    assert_int_equal(counted(CO_COUNT_OPENED_BY_OTHERS), MEMBERS - 1);
    for (int rank = 1; rank < MEMBERS; rank++) {
        bcast(job, rank, 0);
        assert_ptr_equal(job->group[rank], job->seed[rank]->group);
    }
    finish_bcast(job);
    assert_int_equal(counted(CO_COUNT_RETRANSMITTED), 0);
    assert_int_equal(counted(CO_COUNT_NACKS_SENT), 0);
    assert_int_equal(counted(CO_COUNT_OPENED_BY_OTHERS), 0);
    close_job(job);
}

// All multicast is lost: of the root's chunks nothing comes, and its neighbours hear of the team by what it asks them.
static void a_control_message_opens_it(void **state)
{
    (void)state;
    struct job *job = open_job("blackhole=1");
    counted(CO_COUNT_OPENED_BY_OTHERS);
    counted(CO_COUNT_DATA_EARLY);
    bcast(job, 0, 0);
    pass(job, SECOND_NS);
    assert_non_null(job->seed[1]->group);
    assert_int_equal(counted(CO_COUNT_DATA_EARLY), 0);
    assert_true(counted(CO_COUNT_OPENED_BY_OTHERS) > 0);
    for (int rank = 1; rank < MEMBERS; rank++) {
        bcast(job, rank, 0);
    }
    finish_bcast(job);
    close_job(job);
}

// Shares of an allgather are the own program's to say, and may be said after another member's chunks have come.
static void shares_are_known_in_time(void **state)
{
    (void)state;
    static const int units[MEMBERS] = {1, 3, 2, 1}, before[MEMBERS + 1] = {0, 1, 4, 6, 7};
    enum { UNIT = 700 };
    struct job *job = open_job(NULL);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_group_open(&job->group[rank], job->world.mcast[rank], job->seed[rank], units), 0);
        pattern_fill(job->data[rank] + before[rank] * UNIT, (size_t)units[rank] * UNIT, (unsigned)rank);
        assert_int_equal(co_mcast_allgather_start(&job->ops[rank], job->group[rank], job->data[rank], UNIT,
                                                  co_loopback_now_ns(job->world.hub)),
                         0);
        pass(job, SECOND_NS / 100);
        assert_non_null(job->seed[MEMBERS - 1]->group);
    }
    world_run(&job->world, job->ops, MEMBERS, SECOND_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        for (int member = 0; member < MEMBERS; member++) {
            assert_true(pattern_matches(job->data[rank] + before[member] * UNIT, (size_t)units[member] * UNIT,
                                        (unsigned)member));
        }
        co_mcast_op_release(job->ops[rank]);
    }
    close_job(job);
}

// The first datagram of a member is gone, and is repaired once everybody is there.
static void without_memory_it_is_repaired(void **state)
{
    (void)state;
    counted(CO_COUNT_DROP_NO_MEMORY);
    struct job *job = open_job(NULL);
    bcast(job, 0, 0);
    until_failure = 0;
    failures = 0;
    pass(job, SECOND_NS / 10);
    assert_int_equal(failures, 1);
    assert_int_equal(counted(CO_COUNT_DROP_NO_MEMORY), 1);
    for (int rank = 1; rank < MEMBERS; rank++) {
        bcast(job, rank, 0);
    }
    finish_bcast(job);
    close_job(job);
}

static void all_but_one_gather(struct job *job)
{
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (rank != 1) {
            gather(job, rank);
        }
    }
}

// Member 1 can do nothing for the team. Its word may be lost: then whoever waits for it asks, and is told.
static void broken_ones_tell(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool is_open = i & 1, is_lost = i & 2;
        struct job *job = open_job(NULL);
        if (is_open) {
            all_but_one_gather(job);
        }
        if (is_lost) {
            job->seed[1]->broken = -ENOMEM;
        } else {
            co_mcast_seed_fail(job->world.mcast[1], job->seed[1], -ENOMEM);
        }
        co_mcast_seed_close(job->world.mcast[1], job->seed[1]); // and yet it answers
        job->seed[1] = NULL;
        pass(job, SECOND_NS);
        if (!is_open) {
            all_but_one_gather(job);
        }
        world_run(&job->world, job->ops, MEMBERS, 10 * SECOND_NS);
        for (int rank = 0; rank < MEMBERS; rank++) {
            if (rank != 1) {
                assert_true(co_mcast_op_state(job->ops[rank]) < 0);
                co_mcast_op_release(job->ops[rank]);
            }
        }
        close_job(job);
    }
}

static void it_costs_little(void **state)
{
    enum { RANKS = 129 };
    (void)state;
    static const int lists[][4] = {{0, 1, 2, 3}, {0, 8, 16, 24}, {31, 21, 11, 1}, {30, 2, 29, 1}, {5, 9, 13, 18}};
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct co_mcast_seed *seed;
        struct co_mcast *mcast = world.mcast[lists[i][0]];
        assert_int_equal(co_mcast_seed_open(&seed, mcast, TEAM, lists[i], 4, 0), 0);
        for (int member = 0; member < 4; member++) {
            assert_int_equal(co_seed_rank(seed, member), lists[i][member]);
        }
        assert_in_range(co_mcast_seed_bytes(seed), sizeof(*seed), i < 3 ? 80 : 84);
        assert_int_equal(seed->is_even, i < 3);
        co_mcast_seed_close(mcast, seed);
    }
    struct co_mcast_seed *seed = NULL;
    assert_int_equal(co_mcast_seed_open(&seed, world.mcast[0], TEAM, (const int[]){0, RANKS}, 2, 0), -EINVAL);
    assert_int_equal(co_mcast_seed_open(&seed, world.mcast[0], TEAM, (const int[]){-1, 1}, 2, 1), -EINVAL);
    assert_int_equal(co_mcast_seed_open(&seed, world.mcast[0], TEAM, (const int[]){0, 1}, 2, 2), -EINVAL);
    assert_null(seed);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_chunk_opens_the_group),
        cmocka_unit_test(a_control_message_opens_it),
        cmocka_unit_test(shares_are_known_in_time),
        cmocka_unit_test(without_memory_it_is_repaired),
        cmocka_unit_test(broken_ones_tell),
        cmocka_unit_test(it_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
