// SPDX-License-Identifier: BSD-3-Clause
//
// The core of a proxy, one thing at a time: what must not happen has its test here, and its mutants in
// tests/mutants/list.txt. Random graphs: proxy_simulation_test.c.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proxy_rig.h"

static struct proxy_rig rig;

// One proxy serves both: who waited inside of a step would wait for ever.
static void two_ranks_of_one_proxy_wait_for_each_other(void **state)
{
    (void)state;
    const struct co_offload_operation zero[] = {proxy_rig_receives(1, 0, 40), proxy_rig_barrier(),
                                                proxy_rig_sends(1, 0, 40)};
    const struct co_offload_operation one[] = {proxy_rig_sends(0, 0, 40), proxy_rig_barrier(),
                                               proxy_rig_receives(0, 100, 40)};

    assert_int_equal(proxy_rig_group(&rig, 0, 1, zero, 3), 0);
    assert_int_equal(proxy_rig_group(&rig, 1, 1, one, 3), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), 0);
    proxy_rig_run(&rig);
    assert_int_equal(proxy_rig_call(&rig, 1, 1, 0), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(rig.result[1][0], 0);
    assert_true(proxy_rig_has(&rig, 0, 0, 40, 2) && proxy_rig_has(&rig, 1, 100, 40, 2));
}

// The second call of a group is no more of a licence than the first.
static void a_cached_call_waits_for_its_receiver(void **state)
{
    (void)state;
    const struct co_offload_operation sends[] = {proxy_rig_sends(2, 0, 100)},
                                      receives[] = {proxy_rig_receives(0, 0, 100)};

    assert_int_equal(proxy_rig_group(&rig, 0, 5, sends, 1), 0);
    assert_int_equal(proxy_rig_group(&rig, 2, 6, receives, 1), 0);
    for (int turn = 0; turn < 3; turn++) {
        memset(rig.memory[0], 10 + turn, 100);
        memset(rig.memory[2], 99, 100);
        assert_int_equal(proxy_rig_call(&rig, 0, 5, 0), 0);
        proxy_rig_run(&rig);
        assert_int_equal(rig.result[0][0], RIG_PENDING);
        assert_true(proxy_rig_has(&rig, 2, 0, 100, 99)); // still the program's
        assert_int_equal(proxy_rig_call(&rig, 2, 6, 0), 0);
        proxy_rig_run(&rig);
        assert_int_equal(rig.result[0][0], 0);
        assert_int_equal(rig.result[2][0], 0);
        assert_true(proxy_rig_has(&rig, 2, 0, 100, (unsigned char)(10 + turn)));
    }
    assert_int_equal(co_proxy_counts(rig.proxies[0])->cached_calls, 2);
    assert_int_equal(co_proxy_counts(rig.proxies[0])->calls, 3);
}

// One side is several calls ahead: each call meets its own.
static void calls_meet_by_number(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        memset(rig.memory[0] + 32 * i, (int)(50 + i), 32);
        assert_int_equal(proxy_rig_send(&rig, 0, i, 2, 32 * i, 32), 0);
    }
    proxy_rig_run(&rig);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(proxy_rig_receive(&rig, 2, i, 0, 32 * i, 32), 0);
        proxy_rig_run(&rig);
        for (uint32_t k = 0; k < 4; k++) {
            assert_int_equal(rig.result[0][k], k <= i ? 0 : RIG_PENDING);
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(proxy_rig_has(&rig, 2, 32 * i, 32, (unsigned char)(50 + i)));
        assert_int_equal(rig.bytes[2][i], 32);
    }
    for (uint32_t i = 0; i < 4; i++) { // and the other way round
        assert_int_equal(proxy_rig_receive(&rig, 2, i, 0, 500 + 32 * i, 32), 0);
    }
    proxy_rig_run(&rig);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(proxy_rig_send(&rig, 0, i, 2, 32 * i, 32), 0);
        proxy_rig_run(&rig);
        assert_int_equal(rig.result[2][i], 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(proxy_rig_has(&rig, 2, 500 + 32 * i, 32, (unsigned char)(50 + i)));
    }
}

// Basic operations and those of groups with the same tag are counted apart.
static void basic_and_recorded_do_not_meet(void **state)
{
    (void)state;
    const struct co_offload_operation sends[] = {proxy_rig_sends(2, 0, 10)};

    assert_int_equal(proxy_rig_group(&rig, 0, 1, sends, 1), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), 0);
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 0, 0, 10), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[2][0], RIG_PENDING);
    assert_int_equal(proxy_rig_send(&rig, 0, 1, 2, 0, 10), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[2][0], 0);
    assert_int_equal(rig.result[0][0], RIG_PENDING);
}

static void control_is_not_behind_data(void **state)
{
    (void)state;
    rig.is_held[0][1][CO_CARRIER_BULK] = true; // full at once, and stays so
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 0, 0, 500), 0);
    assert_int_equal(proxy_rig_send(&rig, 0, 0, 2, 0, 500), 0);
    proxy_rig_run(&rig);
    assert_int_equal(loopback_waiting(&rig.hub, 0, 1, CO_CARRIER_BULK), 2);
    assert_int_equal(proxy_rig_receive(&rig, 0, 1, 2, 512, 500), 0); // its READY goes the same direction
    assert_int_equal(proxy_rig_send(&rig, 2, 1, 0, 512, 500), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][1], 0);
    assert_int_equal(rig.result[0][0], RIG_PENDING);
    rig.is_held[0][1][CO_CARRIER_BULK] = false;
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_true(proxy_rig_has(&rig, 2, 0, 500, 1));
}

static void a_barrier_waits_for_what_stands_before_it(void **state)
{
    (void)state;
    const struct co_offload_operation one[] = {proxy_rig_receives(0, 0, 40), proxy_rig_barrier(),
                                               proxy_rig_sends(2, 0, 40)};

    assert_int_equal(proxy_rig_group(&rig, 1, 1, one, 3), 0);
    assert_int_equal(proxy_rig_call(&rig, 1, 1, 0), 0);
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 1, 0, 40), 0); // of another space: is not met by the group
    proxy_rig_run(&rig);
    const struct co_offload_operation two[] = {proxy_rig_receives(1, 0, 40)}, zero[] = {proxy_rig_sends(1, 0, 40)};
    assert_int_equal(proxy_rig_group(&rig, 2, 1, two, 1), 0);
    assert_int_equal(proxy_rig_call(&rig, 2, 1, 1), 0);
    proxy_rig_run(&rig);
    assert_true(proxy_rig_has(&rig, 2, 0, 40, 3)); // rank 1 has nothing yet that it could send
    assert_int_equal(proxy_rig_group(&rig, 0, 1, zero, 1), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[2][1], 0);
    assert_true(proxy_rig_has(&rig, 2, 0, 40, 1));
}

// The next one of a chain has a first piece before its predecessor has the last.
static void forward_passes_on_what_has_come(void **state)
{
    (void)state;
    const struct co_offload_operation one[] = {proxy_rig_forwards(0, 2, 0, 200)}, zero[] = {proxy_rig_sends(1, 0, 100)};
    const struct co_offload_operation two[] = {proxy_rig_receives(1, 0, 300)};

    assert_int_equal(proxy_rig_group(&rig, 0, 1, zero, 1), 0);
    assert_int_equal(proxy_rig_group(&rig, 1, 1, one, 1), 0);
    assert_int_equal(proxy_rig_group(&rig, 2, 1, two, 1), 0);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(proxy_rig_call(&rig, rank, 1, 0), 0);
    }
    rig.is_held[0][1][CO_CARRIER_BULK] = true;
    proxy_rig_run(&rig);
    assert_true(proxy_rig_deliver_one(&rig, 0, 1, CO_CARRIER_BULK));
    proxy_rig_run(&rig);
    assert_true(proxy_rig_has(&rig, 2, 0, RIG_PIECE, 1) && proxy_rig_has(&rig, 1, RIG_PIECE, 100, 2));
    assert_int_equal(rig.result[1][0], RIG_PENDING);
    rig.is_held[0][1][CO_CARRIER_BULK] = false;
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[1][0], 0);
    assert_int_equal(rig.result[2][0], 0);
    assert_int_equal(rig.bytes[2][0], 100);
    assert_true(proxy_rig_has(&rig, 2, 0, 100, 1) && proxy_rig_has(&rig, 2, 100, 200, 3));
}

static void what_is_too_long_is_cut_and_said(void **state)
{
    (void)state;
    assert_int_equal(proxy_rig_send(&rig, 0, 0, 2, 0, 300), 0);
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 0, 0, 100), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(rig.result[2][0], -EMSGSIZE);
    assert_true(proxy_rig_has(&rig, 2, 0, 100, 1) && proxy_rig_has(&rig, 2, 100, 200, 3));
}

// And it is passed on to nobody.
static void what_is_too_long_to_forward(void **state)
{
    (void)state;
    const struct co_offload_operation one[] = {proxy_rig_forwards(0, 2, 0, 50)}, zero[] = {proxy_rig_sends(1, 0, 100)};
    const struct co_offload_operation two[] = {proxy_rig_receives(1, 0, 100)};

    assert_int_equal(proxy_rig_group(&rig, 0, 1, zero, 1), 0);
    assert_int_equal(proxy_rig_group(&rig, 1, 1, one, 1), 0);
    assert_int_equal(proxy_rig_group(&rig, 2, 1, two, 1), 0);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(proxy_rig_call(&rig, rank, 1, 0), 0);
    }
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(rig.result[1][0], -EMSGSIZE);
    assert_int_equal(rig.result[2][0], -ECONNRESET);
    assert_true(proxy_rig_has(&rig, 2, 0, 100, 3));
}

static void nothing_is_a_message_too(void **state)
{
    (void)state;
    assert_int_equal(proxy_rig_send(&rig, 0, 0, 2, 0, 0), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], RIG_PENDING);
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 0, 0, 100), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(rig.result[2][0], 0);
    assert_int_equal(rig.bytes[2][0], 0);
}

// Each rank has so many numbers that are counted, by direction, rank, tag and space.
static void a_rank_has_so_many_tags(void **state)
{
    (void)state;
    struct co_offload_operation operation = proxy_rig_sends(2, 0, 10);
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_SEND};
    for (uint32_t tag = 0; tag < 6; tag++) {
        operation.to_tag = tag;
        command.operation = operation;
        rig.result[0][0] = RIG_PENDING;
        assert_int_equal(co_proxy_command(rig.proxies[0], 0, &command, NULL, 0), 0);
        co_proxy_peer_lost(rig.proxies[0], 1); // so that it ends
        co_proxy_progress(rig.proxies[0]);
    }
    rig.result[0][0] = RIG_PENDING;
    assert_int_equal(co_proxy_command(rig.proxies[0], 0, &command, NULL, 0), 0); // a tag that was there
    co_proxy_progress(rig.proxies[0]);
    command.operation.to_tag = 6;
    assert_int_equal(co_proxy_command(rig.proxies[0], 0, &command, NULL, 0), -ENOSPC);
}

#define ON_PAIRS(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_pairs, proxy_rig_close_state, &rig)
#define ON_EACH(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_each, proxy_rig_close_state, &rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_PAIRS(two_ranks_of_one_proxy_wait_for_each_other),
        ON_PAIRS(a_cached_call_waits_for_its_receiver),
        ON_PAIRS(calls_meet_by_number),
        ON_PAIRS(basic_and_recorded_do_not_meet),
        ON_PAIRS(control_is_not_behind_data),
        ON_EACH(a_barrier_waits_for_what_stands_before_it),
        ON_EACH(forward_passes_on_what_has_come),
        ON_PAIRS(what_is_too_long_is_cut_and_said),
        ON_EACH(what_is_too_long_to_forward),
        ON_PAIRS(a_rank_has_so_many_tags),
        ON_PAIRS(nothing_is_a_message_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
