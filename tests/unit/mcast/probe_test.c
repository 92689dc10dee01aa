// SPDX-License-Identifier: BSD-3-Clause
//
// The set-up probe on the loopback hub, in virtual time: all hear, one lacks one subgroup only, one hears nothing, and
// the network loses much.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

enum { MEMBERS = 4 };

#define PATIENCE_NS UINT64_C(50000000)

static const int ranks[MEMBERS] = {0, 1, 2, 3};

static void open_patient_world(struct world *world, const char *faults, uint64_t patience_ns)
{
    struct world_options options = world_defaults(MEMBERS);
    options.subgroups = 2;
    options.faults = faults;
    world_open(world, &options);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(
            co_mcast_probe_start(world->mcast[rank], ranks, MEMBERS, 0, patience_ns, co_loopback_now_ns(world->hub)),
            0);
    }
}

static void open_world(struct world *world, const char *faults)
{
    open_patient_world(world, faults, PATIENCE_NS);
}

static void run(struct world *world, uint64_t most_ns)
{
    for (int rank = 0; rank < MEMBERS; rank++) {
        while (co_mcast_probe_state(world->mcast[rank]) == 0) {
            assert_true(world_turn(world) || co_mcast_probe_state(world->mcast[rank]) != 0);
            assert_true(co_loopback_now_ns(world->hub) <= most_ns);
        }
    }
}

static void deaf_are(const struct world *world, bool one, bool two, bool three)
{
    assert_false(co_mcast_probe_is_deaf(world->mcast[0], 0)); // who asks needs no answer of its own
    assert_int_equal(co_mcast_probe_is_deaf(world->mcast[0], 1), one);
    assert_int_equal(co_mcast_probe_is_deaf(world->mcast[0], 2), two);
    assert_int_equal(co_mcast_probe_is_deaf(world->mcast[0], 3), three);
}

static void all_hear(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, NULL);
    run(&world, 4 * PATIENCE_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_probe_state(world.mcast[rank]), 1);
    }
    deaf_are(&world, false, false, false);
    world_close(&world);
}

static void leave(struct world *world, int rank, unsigned subgroup)
{
    world->transport[rank]->ops->leave(world->transport[rank], subgroup);
}

static void the_deaf_are_known(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, NULL);
    leave(&world, 1, 1); // hears half of it
    leave(&world, 3, 0);
    leave(&world, 3, 1);
    run(&world, 4 * PATIENCE_NS);
    assert_int_equal(co_mcast_probe_state(world.mcast[0]), -ETIMEDOUT);
    deaf_are(&world, true, false, true);
    world_close(&world);
}

static void losses_do_not_make_deaf(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, "drop=0.3,seed=11");
    run(&world, 4 * PATIENCE_NS);
    assert_int_equal(co_mcast_probe_state(world.mcast[0]), 1);
    deaf_are(&world, false, false, false);
    world_close(&world);
}

// Members that come one after the other, each later than patience lasts after the start.
static void who_comes_late_is_waited_for(void **state)
{
    (void)state;
    struct world world;
    struct co_mcast *late[MEMBERS];
    open_world(&world, NULL);
    for (int rank = 1; rank < MEMBERS; rank++) {
        late[rank] = world.mcast[rank];
        world.mcast[rank] = NULL;
    }
    for (int rank = 1; rank < MEMBERS; rank++) {
        uint64_t begin_ns = co_loopback_now_ns(world.hub);
        while (co_loopback_now_ns(world.hub) < begin_ns + PATIENCE_NS / 2) {
            assert_true(world_turn(&world));
        }
        world.mcast[rank] = late[rank];
        while (co_mcast_probe_is_deaf(world.mcast[0], rank)) {
            assert_true(world_turn(&world));
        }
    }
    assert_true(co_loopback_now_ns(world.hub) > PATIENCE_NS);
    run(&world, 4 * PATIENCE_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_probe_state(world.mcast[rank]), 1);
    }
    world_close(&world);
}

// While one is missing the others are asked over and over, and all of their answers go by one link.
static void the_others_are_not_asked_all_the_time(void **state)
{
    (void)state;
    struct world world;
    open_patient_world(&world, NULL, 10 * PATIENCE_NS);
    leave(&world, 3, 0);
    leave(&world, 3, 1);
    uint64_t before = co_counter_read(CO_COUNT_CONTROL_SENT);
    run(&world, 20 * PATIENCE_NS);
    assert_int_equal(co_mcast_probe_state(world.mcast[0]), -ETIMEDOUT);
    uint64_t sent = co_counter_read(CO_COUNT_CONTROL_SENT) - before;
    uint64_t each = 2 * (1 + 2); // subgroups: a probe, and two who answer
    assert_in_range(sent, 10 * each, 36 * each);
    world_close(&world);
}

// The word that it is over may be lost as often as it is said: then everybody goes by what came here.
static void the_last_word_may_be_lost(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, NULL);
    leave(&world, 3, 1);
    struct co_mcast *prober = world.mcast[0];
    while (co_counter_read(CO_COUNT_CONTROL_RECEIVED) == 0 || co_loopback_now_ns(world.hub) < PATIENCE_NS / 2) {
        assert_true(world_turn(&world)); // rank 3 lacks a subgroup, so the prober goes on
    }
    world.mcast[0] = NULL; // and never comes to say anything
    while (co_mcast_probe_state(world.mcast[1]) == 0) {
        assert_true(world_turn(&world) || co_mcast_probe_state(world.mcast[1]) != 0);
    }
    assert_int_equal(co_mcast_probe_state(world.mcast[1]), 1);
    assert_int_equal(co_mcast_probe_state(world.mcast[2]), 1);
    assert_int_equal(co_mcast_probe_state(world.mcast[3]), -ETIMEDOUT);
    world.mcast[0] = prober;
    co_mcast_progress(prober, co_loopback_now_ns(world.hub));
    assert_int_equal(co_mcast_probe_state(prober), -ETIMEDOUT); // the verdict that counts where they are compared
    world_close(&world);
}

static void one_answers_alone(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, NULL);
    run(&world, PATIENCE_NS);
    co_mcast_ping(world.mcast[0], 2, co_loopback_now_ns(world.hub));
    assert_false(co_mcast_ping_is_answered(world.mcast[0]));
    while (!co_mcast_ping_is_answered(world.mcast[0])) {
        assert_true(world_turn(&world));
    }
    co_mcast_ping(world.mcast[0], 3, co_loopback_now_ns(world.hub));
    assert_false(co_mcast_ping_is_answered(world.mcast[0])); // what the one before said is forgotten
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_hear),
        cmocka_unit_test(the_deaf_are_known),
        cmocka_unit_test(losses_do_not_make_deaf),
        cmocka_unit_test(who_comes_late_is_waited_for),
        cmocka_unit_test(the_others_are_not_asked_all_the_time),
        cmocka_unit_test(the_last_word_may_be_lost),
        cmocka_unit_test(one_answers_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
