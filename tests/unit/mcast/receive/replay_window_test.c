// SPDX-License-Identifier: BSD-3-Clause
//
// The replay window: every sequence once, in any order within the window, never behind it, over jumps and at the end
// of the numbers; and against a plain list of what was accepted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mcast/receive/replay_window.h"

static void each_once(void **state)
{
    (void)state;
    struct co_replay_window window = {0};
    assert_false(co_replay_window_accept(&window, 0)); // sequences start at 1
    for (uint64_t i = 1; i < 200; i++) {
        assert_true(co_replay_window_accept(&window, i));
        assert_false(co_replay_window_accept(&window, i));
    }
    assert_false(co_replay_window_accept(&window, 0));
}

static void late_within_the_window(void **state)
{
    (void)state;
    struct co_replay_window window = {0};
    assert_true(co_replay_window_accept(&window, CO_REPLAY_WINDOW + 36));
    for (uint64_t i = CO_REPLAY_WINDOW + 35; i > 36; i--) {
        assert_true(co_replay_window_accept(&window, i));
        assert_false(co_replay_window_accept(&window, i));
    }
    assert_false(co_replay_window_accept(&window, 36)); // cannot be told from a replay
    assert_false(co_replay_window_accept(&window, 1));
}

static void late_by_hundreds(void **state)
{
    (void)state; // 65 behind was dropped: messages to others, and those of the other socket, count too
    struct co_replay_window window = {0};
    for (uint64_t block = 0; block < 100; block++) {
        for (uint64_t i = 800; i > 0; i--) {
            assert_true(co_replay_window_accept(&window, block * 800 + i));
        }
    }
}

static void jumps(void **state)
{
    (void)state;
    struct co_replay_window window = {0};
    assert_true(co_replay_window_accept(&window, 10));
    assert_true(co_replay_window_accept(&window, 9 + CO_REPLAY_WINDOW)); // 10 is the last one known
    assert_false(co_replay_window_accept(&window, 10));
    assert_true(co_replay_window_accept(&window, 11));
    assert_true(co_replay_window_accept(&window, 9 + 2 * CO_REPLAY_WINDOW)); // nothing old is left
    assert_false(co_replay_window_accept(&window, 9 + CO_REPLAY_WINDOW));
    assert_true(co_replay_window_accept(&window, 10 + CO_REPLAY_WINDOW));
    assert_true(co_replay_window_accept(&window, UINT64_MAX));
    assert_false(co_replay_window_accept(&window, UINT64_MAX));
    assert_true(co_replay_window_accept(&window, UINT64_MAX - (CO_REPLAY_WINDOW - 1)));
    assert_false(co_replay_window_accept(&window, UINT64_MAX - CO_REPLAY_WINDOW));
}

static void against_a_list(void **state)
{
    (void)state;
    enum { SEQUENCES = 8000 };
    bool seen[SEQUENCES] = {false};
    struct co_replay_window window = {0};
    uint64_t highest = 0;
    srand(7);
    for (int i = 0; i < 100000; i++) {
        uint64_t sequence = 1 + (uint64_t)(i / 25 + rand() % 2000);
        bool expected = !seen[sequence] && sequence + CO_REPLAY_WINDOW > highest;
        assert_int_equal(co_replay_window_accept(&window, sequence), expected);
        seen[sequence] = seen[sequence] || expected;
        highest = sequence > highest ? sequence : highest;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_once), cmocka_unit_test(late_within_the_window), cmocka_unit_test(late_by_hundreds),
        cmocka_unit_test(jumps),     cmocka_unit_test(against_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
