// SPDX-License-Identifier: BSD-3-Clause
//
// The protocol as a whole in virtual time: shapes, loss, duplication, reordering, black holes, small windows, trees of
// credit, chains. Every case names the mistake of others that it guards against where there is one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

static const size_t SIZES[] = {1, 99, 100, 101, 999, 1000, 1001, 12345, 100000};

static void run_shapes(const struct world_options *options)
{
    struct world world;
    world_open(&world, options);
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(*SIZES); i++) {
        world_bcast(&world, (int)(seed % (unsigned)options->members), SIZES[i], seed);
        seed++;
        world_allgather(&world, SIZES[i] / 4 + 1, seed);
        seed++;
    }
    world_settle(&world, UINT64_C(30000000000));
    world_close(&world);
}

static void every_size_of_group(void **state)
{
    (void)state;
    for (int members = 1; members <= 8; members++) {
        struct world_options options = world_defaults(members);
        run_shapes(&options);
    }
}

static void authenticated(void **state)
{
    (void)state;
    struct world_options options = world_defaults(3);
    options.form = CO_AUTH_KEYED;
    run_shapes(&options);
}

static void faults(void **state)
{
    (void)state;
    static const char *const plans[] = {"drop=0.01,seed=1",
                                        "drop=0.2,seed=2",
                                        "dup=1,seed=3",
                                        "reorder=0.3,seed=4",
                                        "corrupt=0.1,seed=5",
                                        "truncate=0.1,seed=6",
                                        "blackhole=1",
                                        "drop=0.5,kind=control,seed=7",
                                        "drop=0.2,dup=0.2,reorder=0.2,corrupt=0.05,seed=8",
                                        "blackhole=1,drop=0.1,seed=9"};
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        struct world_options options = world_defaults(5);
        options.faults = plans[i];
        run_shapes(&options);
    }
}

static void middle_lost_and_tail_present(void **state)
{
    (void)state; // the published artifact takes the last gap for the short tail
    struct world_options options = world_defaults(4);
    options.faults = "script=3:5,kind=data";
    struct world world;
    world_open(&world, &options);
    world_bcast(&world, 0, 950, 3);
    world_bcast(&world, 2, 955, 4);
    world_close(&world);
}

static void only_the_lost_is_fetched(void **state)
{
    (void)state; // UCC fetches a whole block for one packet, MVAPICH2 a whole window
    struct world_options options = world_defaults(4);
    options.faults = "drop=0.01,kind=data,seed=11";
    options.eager_bytes = 0;
    struct world world;
    world_open(&world, &options);
    uint64_t lost = co_counter_read(CO_COUNT_FAULTS_INJECTED), fetched = co_counter_read(CO_COUNT_RETRANSMITTED);
    for (unsigned i = 0; i < 20; i++) {
        world_bcast(&world, (int)(i % 4), 200000, i);
    }
    lost = (co_counter_read(CO_COUNT_FAULTS_INJECTED) - lost) * 100 * 3; // each dropped multicast misses three members
    fetched = co_counter_read(CO_COUNT_RETRANSMITTED) - fetched;
    assert_true(lost > 0);
    assert_true(fetched >= lost);
    assert_true(fetched * 10 <= lost * 11);
    world_close(&world);
}

static void no_repair_without_loss(void **state)
{
    (void)state;
    struct world_options options = world_defaults(6);
    struct world world;
    world_open(&world, &options);
    uint64_t before = co_counter_read(CO_COUNT_RETRANSMITTED);
    world_bcast(&world, 1, 500000, 1);
    world_allgather(&world, 100000, 2);
    assert_int_equal(co_counter_read(CO_COUNT_RETRANSMITTED), before);
    world_close(&world);
}

static void own_multicast_is_dropped(void **state)
{
    (void)state; // networks, and the loopback here, give a sender its own chunks back
    struct world_options options = world_defaults(3);
    struct world world;
    world_open(&world, &options);
    uint64_t own = co_counter_read(CO_COUNT_DROP_OWN), sent = co_counter_read(CO_COUNT_DATA_SENT);
    uint64_t duplicate = co_counter_read(CO_COUNT_DATA_DUPLICATE);
    world_bcast(&world, 1, 500, 1);
    world_allgather(&world, 300, 2);
    sent = co_counter_read(CO_COUNT_DATA_SENT) - sent;
    assert_int_equal(sent, 5 + 3 * 3);
    assert_int_equal(co_counter_read(CO_COUNT_DROP_OWN) - own, sent);
    assert_int_equal(co_counter_read(CO_COUNT_DATA_DUPLICATE), duplicate);
    world_close(&world);
}

static void credit_trees_and_chains(void **state)
{
    (void)state;
    for (unsigned radix = 2; radix <= 3; radix++) {
        for (unsigned chains = 1; chains <= 4; chains++) {
            struct world_options options = world_defaults(11);
            options.ack_radix = radix;
            options.chains = chains;
            options.window_bytes = 3000;
            options.faults = chains == 3 ? "drop=0.05,seed=21" : NULL;
            run_shapes(&options);
        }
    }
}

static void subgroups(void **state)
{
    (void)state;
    struct world_options options = world_defaults(4);
    options.subgroups = 4;
    run_shapes(&options);
    options.faults = "drop=0.05,reorder=0.1,seed=5";
    run_shapes(&options);
}

static void receivers_overrun(void **state)
{
    (void)state;
    struct world_options options = world_defaults(6);
    options.ingress_queue_bytes = 4000;
    struct world world;
    world_open(&world, &options);
    world_allgather(&world, 50000, 1);
    world_bcast(&world, 3, 200000, 2);
    world_close(&world);
}

// The root runs ahead: operations that others have not begun are staged, and beyond staging repaired.
static void run_ahead(struct world *world, int operations, size_t bytes)
{
    enum { MEMBERS = 3 };
    struct co_mcast_op **ops = calloc((size_t)operations * MEMBERS, sizeof(struct co_mcast_op *));
    unsigned char *data = calloc((size_t)operations * MEMBERS, bytes);
    for (int rank = 0; rank < MEMBERS; rank++) {
        for (int i = 0; i < operations; i++) {
            unsigned char *mine = data + ((size_t)rank * (size_t)operations + (size_t)i) * bytes;
            if (rank == 0) {
                pattern_fill(mine, bytes, (unsigned)i);
            }
            assert_int_equal(co_mcast_bcast_start(&ops[rank * operations + i], world->group[rank], 0, mine, bytes,
                                                  co_loopback_now_ns(world->hub)),
                             0);
            world_turn(world);
        }
    }
    world_run(world, ops, operations * MEMBERS, UINT64_C(60000000000));
    for (int i = 0; i < operations * MEMBERS; i++) {
        assert_true(pattern_matches(data + (size_t)i * bytes, bytes, (unsigned)(i % operations)));
        co_mcast_op_release(ops[i]);
    }
    free(ops);
    free(data);
}

static void many_operations_outstanding(void **state)
{
    (void)state; // 16 outstanding, 8-bit and 5-bit operation numbers are the limits of others
    struct world_options options = world_defaults(3);
    struct world world;
    world_open(&world, &options);
    run_ahead(&world, 600, 8);
    run_ahead(&world, 300, 250);
    world_close(&world);
    options.staging_bytes = 2000;
    options.faults = "drop=0.1,seed=3";
    world_open(&world, &options);
    run_ahead(&world, 300, 8);
    world_close(&world);
}

static void a_killed_member_ends_the_others(void **state)
{
    (void)state;
    struct world_options options = world_defaults(4);
    struct world world;
    world_open(&world, &options);
    world_bcast(&world, 0, 100, 1);
    struct co_mcast_op *ops[4] = {NULL};
    unsigned char *buffer = calloc(4, 100000);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(co_mcast_bcast_start(&ops[rank], world.group[rank], 0, buffer + rank * 100000, 100000,
                                              co_loopback_now_ns(world.hub)),
                         0);
    }
    co_loopback_kill(world.hub, 3);
    co_mcast_close(world.mcast[3]);
    world.transport[3]->ops->close(world.transport[3]);
    co_auth_close(world.auth[3]);
    world.mcast[3] = NULL;
    world_run(&world, ops, 3, UINT64_C(60000000000));
    for (int rank = 0; rank < 3; rank++) {
        assert_true(co_mcast_op_state(ops[rank]) == 1 || co_mcast_op_state(ops[rank]) < 0);
        co_mcast_op_release(ops[rank]);
    }
    assert_true(co_mcast_op_state(ops[2]) < 0); // its bytes can never be confirmed by rank 3
    free(buffer);
    world_close(&world);
}

// Ids that differ in their high half only look alike on the wire; the tag tells them apart.
static void alike_on_the_wire(void **state)
{
    (void)state;
    struct world_options options = world_defaults(3);
    struct world world;
    world_open(&world, &options);
    struct co_mcast_group *other[3];
    for (int rank = 0; rank < 3; rank++) {
        int members[] = {2, 0, 1}; // nobody has the same index in both
        assert_int_equal(
            world_group_open(&other[rank], world.mcast[rank], 0x8765432100000007, members, NULL, 3, (rank + 1) % 3), 0);
    }
    world_bcast(&world, 1, 5000, 1);
    for (int rank = 0; rank < 3; rank++) {
        co_mcast_group_close(world.group[rank]); // first of the two in the map
        world.group[rank] = other[rank];
    }
    world_settle(&world, UINT64_C(30000000000));
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_of_group),
        cmocka_unit_test(authenticated),
        cmocka_unit_test(faults),
        cmocka_unit_test(middle_lost_and_tail_present),
        cmocka_unit_test(only_the_lost_is_fetched),
        cmocka_unit_test(no_repair_without_loss),
        cmocka_unit_test(own_multicast_is_dropped),
        cmocka_unit_test(credit_trees_and_chains),
        cmocka_unit_test(subgroups),
        cmocka_unit_test(receivers_overrun),
        cmocka_unit_test(many_operations_outstanding),
        cmocka_unit_test(a_killed_member_ends_the_others),
        cmocka_unit_test(alike_on_the_wire),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    world_is_like_verbs = true;
    return failed + cmocka_run_group_tests_name("over verbs", tests, NULL, NULL);
}
