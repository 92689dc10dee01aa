// SPDX-License-Identifier: BSD-3-Clause
//
// What the protocol says of its peers, in virtual time: who is given up, who is gone, whose multicast does not come.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "log_lines.h"
#include "mcast_inside.h"
#include "mcast_world.h"

#define SECOND_NS UINT64_C(1000000000)

static int open_log(void **state)
{
    (void)state;
    log_lines_open("debug", "mcast");
    return 0;
}

static struct co_mcast_op *start(struct world *world, int rank, unsigned char *data, size_t bytes)
{
    struct co_mcast_op *op;
    uint64_t now_ns = co_loopback_now_ns(world->hub);
    assert_int_equal(co_mcast_bcast_start(&op, world->group[rank], 0, data, bytes, now_ns), 0);
    return op;
}

// The root of a broadcast says nothing any more: `stop` makes it so.
static void without_root(void (*stop)(struct world *world), const char *said)
{
    static unsigned char data[2][40000];
    struct world_options options = world_defaults(2);
    struct world world;
    world_open(&world, &options);
    inside_set_deadline(world.mcast[1], 2 * SECOND_NS);
    co_mcast_set_liveness_proof(world.mcast[1], CO_LIVENESS_PROOF_MEMBERS);
    struct co_mcast *root = world.mcast[0];
    struct co_mcast_op *ops[2] = {start(&world, 0, data[0], sizeof data[0]), start(&world, 1, data[1], sizeof data[1])};
    world.mcast[0] = NULL;
    stop(&world);
    world_run(&world, ops + 1, 1, 10 * SECOND_NS);
    assert_true(co_mcast_op_state(ops[1]) < 0);
    assert_int_equal(log_lines_count(said), 1);
    co_mcast_op_release(ops[1]);
    world.mcast[0] = root;
    world_close(&world);
}

static void nothing(struct world *world)
{
    (void)world;
}

static void kill_root(struct world *world)
{
    co_loopback_kill(world->hub, 0);
}

static void who_is_silent_is_named(void **state)
{
    (void)state;
    without_root(nothing, "] warn: rank 0 has given no sign of life for 2 s (CASTOFF_DEADLINE_S)");
}

static void who_is_gone_is_named(void **state)
{
    (void)state;
    without_root(kill_root, "] info: rank 0 is gone, or cannot be sent to");
}

static void whose_multicast_does_not_come_is_named(void **state)
{
    (void)state;
    struct world_options options = world_defaults(3);
    struct world world;
    world_open(&world, &options);
    struct co_transport *deaf = world.transport[2];
    deaf->ops->leave(deaf, 0);
    for (unsigned i = 0; i < 6; i++) {
        world_bcast(&world, 0, 5000, i);
    }
    assert_int_equal(log_lines_count("] debug: multicast of rank 0 does not come: its data is fetched"), 1);
    assert_int_equal(log_lines_count("] debug: multicast of rank 0 comes again"), 0);
    assert_int_equal(deaf->ops->join(deaf, 0), 0);
    world_bcast(&world, 0, 5000, 7);
    assert_int_equal(log_lines_count("] debug: multicast of rank 0 comes again"), 1);
    world_settle(&world, SECOND_NS);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_is_silent_is_named, open_log, log_lines_close),
        cmocka_unit_test_setup_teardown(who_is_gone_is_named, open_log, log_lines_close),
        cmocka_unit_test_setup_teardown(whose_multicast_does_not_come_is_named, open_log, log_lines_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
