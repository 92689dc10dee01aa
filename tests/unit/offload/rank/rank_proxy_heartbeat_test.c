// SPDX-License-Identifier: BSD-3-Clause
//
// When a proxy counts as dead, and when the rank was away itself. No clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "offload/rank/rank_proxy_heartbeat.h"

#define LOOK_NS (100 * CO_NS_PER_MS)
#define DEADLINE_NS (20 * CO_NS_PER_S)
#define BEGIN_NS (1000 * CO_NS_PER_S)

static struct co_rank_proxy_heartbeat heartbeat;
static uint64_t now_ns;

static int begin(void **state)
{
    (void)state;
    heartbeat = (struct co_rank_proxy_heartbeat){.deadline_ns = DEADLINE_NS};
    now_ns = BEGIN_NS;
    co_rank_proxy_heartbeat_begin(&heartbeat);
    return 0;
}

static enum co_heartbeat look(uint64_t count)
{
    now_ns += LOOK_NS;
    return co_rank_proxy_heartbeat_look(&heartbeat, count, now_ns);
}

static void one_that_moves_lives(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(look(i), CO_HEARTBEAT_MOVES);
    }
}

static void one_that_is_quiet_is_rung_and_then_dead(void **state)
{
    (void)state;
    assert_int_equal(look(7), CO_HEARTBEAT_MOVES);
    uint64_t first_ns = now_ns;
    while (now_ns + LOOK_NS < first_ns + CO_HEARTBEAT_QUIET_NS) {
        assert_int_equal(look(7), CO_HEARTBEAT_MOVES);
    }
    while (now_ns + LOOK_NS < first_ns + DEADLINE_NS) {
        assert_int_equal(look(7), CO_HEARTBEAT_TO_RING);
    }
    assert_int_equal(look(7), CO_HEARTBEAT_STOPPED);
}

static void a_ring_that_is_heard_is_a_sign_of_life(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t count = i / 100; // it moves once in ten seconds
        assert_int_not_equal(look(count), CO_HEARTBEAT_STOPPED);
    }
}

// Both were stopped for an hour, a minute, just over a second: its proxy has as long as ever.
static void who_was_away_blames_nobody(void **state)
{
    (void)state;
    static const uint64_t away_s[] = {3600, 60, 1};
    for (size_t i = 0; i < sizeof away_s / sizeof *away_s; i++) {
        begin(NULL);
        assert_int_equal(look(7), CO_HEARTBEAT_MOVES);
        while (now_ns < heartbeat.moved_ns + DEADLINE_NS - 2 * LOOK_NS) {
            (void)look(7);
        }
        now_ns += away_s[i] * CO_NS_PER_S;
        assert_int_equal(look(7), CO_HEARTBEAT_MOVES);
        uint64_t back_ns = now_ns;
        while (now_ns + LOOK_NS < back_ns + DEADLINE_NS) {
            assert_int_not_equal(look(7), CO_HEARTBEAT_STOPPED);
        }
        assert_int_equal(look(7), CO_HEARTBEAT_STOPPED);
    }
}

// Between two waits nobody looked either.
static void each_wait_begins_anew(void **state)
{
    (void)state;
    assert_int_equal(look(7), CO_HEARTBEAT_MOVES);
    for (int i = 0; i < 500; i++) {
        co_rank_proxy_heartbeat_begin(&heartbeat);
        assert_int_equal(look(7), CO_HEARTBEAT_MOVES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_that_moves_lives, begin),
        cmocka_unit_test_setup(one_that_is_quiet_is_rung_and_then_dead, begin),
        cmocka_unit_test_setup(a_ring_that_is_heard_is_a_sign_of_life, begin),
        cmocka_unit_test_setup(who_was_away_blames_nobody, begin),
        cmocka_unit_test_setup(each_wait_begins_anew, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
