// SPDX-License-Identifier: BSD-3-Clause
//
// What must not stay behind: copies for a neighbour that never asks, numbers of operations that are used up, members
// with nothing to give; and who gives up. Credit after an operation that failed on one member alone:
// mcast_lengths_test.c.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_inside.h"
#include "mcast_world.h"

#define SECOND_NS UINT64_C(1000000000)

static void pass(struct world *world, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < end && world_turn(world)) {
    }
}

static void start_kept(struct world *world, struct co_mcast_op *ops[2], unsigned char *data, int rank)
{
    assert_int_equal(co_mcast_bcast_start(&ops[rank], world->group[rank], 0, data, 150, co_loopback_now_ns(world->hub)),
                     0);
}

// Rank 0 sends, is done, and closes; whoever may miss the bytes is rank 1.
static void send_and_close(struct world *world, struct co_mcast_op *ops[2])
{
    static unsigned char data[150];
    pattern_fill(data, sizeof(data), 5);
    start_kept(world, ops, data, 0);
    assert_int_equal(co_mcast_op_state(ops[0]), 1);
    co_mcast_op_release(ops[0]);
    co_mcast_group_close(world->group[0]);
    world->group[0] = NULL;
    assert_int_equal(inside_kept_bytes(world->mcast[0]), sizeof(data));
}

static void copies_for_a_silent_neighbour_are_given_up(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    struct world world;
    world_open(&world, &options);
    struct co_mcast *silent = world.mcast[1];
    struct co_mcast_op *ops[2];
    world.mcast[1] = NULL; // it never moves
    send_and_close(&world, ops);
    pass(&world, 9 * SECOND_NS);
    assert_int_equal(inside_kept_bytes(world.mcast[0]), 150);
    pass(&world, 2 * SECOND_NS);
    assert_int_equal(inside_kept_bytes(world.mcast[0]), 0);
    assert_true(co_mcast_is_idle(world.mcast[0]));
    world.mcast[1] = silent;
    world_close(&world);
}

static void copies_for_a_late_neighbour_stay(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    options.faults = "blackhole=1"; // only the copy can serve it
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *ops[2];
    unsigned char data[150] = {0};
    send_and_close(&world, ops);
    uint64_t advances = co_mcast_advances(world.mcast[0]), control = co_counter_read(CO_COUNT_CONTROL_RECEIVED);
    pass(&world, 40 * SECOND_NS); // it answers, but has not come to the operation
    assert_int_equal(inside_kept_bytes(world.mcast[0]), 150);
    assert_true(co_counter_read(CO_COUNT_CONTROL_RECEIVED) > control + 100);
    assert_true(co_mcast_advances(world.mcast[0]) == advances); // the stall watchdog may speak
    start_kept(&world, ops, data, 1);
    world_run(&world, ops + 1, 1, SECOND_NS);
    assert_int_equal(co_mcast_op_state(ops[1]), 1);
    assert_true(pattern_matches(data, sizeof(data), 5));
    co_mcast_op_release(ops[1]);
    world_settle(&world, 30 * SECOND_NS);
    assert_true(co_mcast_advances(world.mcast[0]) > advances);
    assert_int_equal(inside_kept_bytes(world.mcast[0]), 0);
    world_close(&world);
}

// The neighbour dies when only its word about a copy is missing: the group breaks, and then rests.
static void a_broken_group_comes_to_rest(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *op;
    unsigned char data[150] = {0};
    assert_int_equal(co_mcast_bcast_start(&op, world.group[0], 0, data, sizeof(data), 0), 0);
    assert_int_equal(co_mcast_op_state(op), 1);
    co_mcast_op_release(op);
    co_loopback_kill(world.hub, 1);
    co_mcast_close(world.mcast[1]);
    world.transport[1]->ops->close(world.transport[1]);
    co_auth_close(world.auth[1]);
    world.mcast[1] = NULL;
    world_settle(&world, 10 * SECOND_NS);
    assert_int_equal(inside_group_error(world.group[0]), -ECONNRESET);
    assert_int_equal(inside_kept_bytes(world.mcast[0]), 0);
    bool wants_write;
    assert_true(co_mcast_next_timer_ns(world.mcast[0], &wants_write) == UINT64_MAX);
    world_close(&world);
}

// Also operations of which this member has nothing more to do; the others learn it at once.
static void who_gives_up_ends_it_for_all(void **state)
{
    (void)state;
    struct world_options options = world_defaults(3);
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *ops[3];
    static unsigned char data[3][20000];
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(co_mcast_bcast_start(&ops[rank], world.group[rank], 0, data[rank], sizeof(data[0]), 0), 0);
    }
    co_mcast_abort(world.mcast[2], -EIO);
    assert_int_equal(co_mcast_op_state(ops[2]), -EIO);
    world_run(&world, ops, 3, SECOND_NS);
    assert_int_equal(co_mcast_op_state(ops[0]), -ECONNRESET);
    assert_int_equal(co_mcast_op_state(ops[1]), -ECONNRESET);
    for (int rank = 0; rank < 3; rank++) {
        co_mcast_op_release(ops[rank]);
    }
    world_close(&world);
}

static void numbers_are_not_used_twice_under_one_key(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    struct world world;
    world_open(&world, &options);
    for (int rank = 0; rank < 2; rank++) {
        inside_number_operations(world.group[rank], UINT32_MAX - 2);
    }
    world_bcast(&world, 0, 5000, 1);
    world_allgather(&world, 500, 2);
    for (int rank = 0; rank < 2; rank++) {
        struct co_mcast_op *op;
        unsigned char data[10] = {0};
        for (int i = 0; i < 2; i++) {
            assert_int_equal(co_mcast_bcast_start(&op, world.group[rank], 0, data, 10, 0), -EOVERFLOW);
            assert_int_equal(co_mcast_allgather_start(&op, world.group[rank], data, 5, 0), -EOVERFLOW);
        }
    }
    world_settle(&world, 30 * SECOND_NS);
    world_close(&world);
}

static void members_with_nothing_to_give_are_refused(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    struct world world;
    world_open(&world, &options);
    struct co_mcast_group *group = NULL;
    const int members[] = {0, 1};
    assert_int_equal(world_group_open(&group, world.mcast[0], 9, members, (const int[]){1, 0}, 2, 0), -EINVAL);
    assert_int_equal(world_group_open(&group, world.mcast[0], 9, members, (const int[]){-1, 1}, 2, 0), -EINVAL);
    assert_null(group);
    assert_int_equal(world_group_open(&group, world.mcast[0], 9, members, (const int[]){1, 3}, 2, 0), 0);
    co_mcast_group_close(group);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_for_a_silent_neighbour_are_given_up),
        cmocka_unit_test(copies_for_a_late_neighbour_stay),
        cmocka_unit_test(a_broken_group_comes_to_rest),
        cmocka_unit_test(who_gives_up_ends_it_for_all),
        cmocka_unit_test(numbers_are_not_used_twice_under_one_key),
        cmocka_unit_test(members_with_nothing_to_give_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    world_is_like_verbs = true;
    return failed + cmocka_run_group_tests_name("over verbs", tests, NULL, NULL);
}
