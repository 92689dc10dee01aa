// SPDX-License-Identifier: BSD-3-Clause
//
// The congestion window of repairs: against a queue that holds so much and no more, against random loss, and where
// nothing comes at all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/repair/repair_window.h"

// A window's worth is asked for at once: what the queue has no room for is lost.
static void ask_through(struct co_repair_window *window, uint32_t room)
{
    uint32_t asked = window->now, lost = asked > room ? asked - room : 0;
    for (uint32_t i = 0; i < asked - lost; i++) {
        co_repair_window_came(window);
    }
    if (lost > 0) {
        co_repair_window_lost(window, lost, asked > lost);
    }
}

static void it_grows_while_nothing_is_lost(void **state)
{
    (void)state;
    struct co_repair_window window;
    co_repair_window_open(&window);
    assert_int_equal(window.now, CO_REPAIR_WINDOW_START);
    ask_through(&window, UINT32_MAX);
    assert_int_equal(window.now, 2 * CO_REPAIR_WINDOW_START);
    for (int i = 0; i < 10; i++) {
        ask_through(&window, UINT32_MAX);
    }
    assert_int_equal(window.now, CO_REPAIR_WINDOW_MOST);
}

// Whatever the queue holds from four chunks on: in the long run a quarter of what is asked for comes, and the queue is
// used.
static void it_finds_a_queue_that_overflows(void **state)
{
    (void)state;
    for (uint32_t room = 4; room <= CO_REPAIR_WINDOW_MOST; room *= 2) {
        struct co_repair_window window;
        uint32_t asked = 0, came = 0;
        co_repair_window_open(&window);
        for (int i = 0; i < 2000; i++) {
            asked += i < 1000 ? 0 : window.now;
            came += i < 1000 ? 0 : window.now < room ? window.now : room;
            ask_through(&window, room);
            assert_in_range(window.now, CO_REPAIR_WINDOW_LEAST, CO_REPAIR_WINDOW_MOST);
        }
        assert_true(came * 4 >= asked);
        assert_true(window.now >= room || window.now == CO_REPAIR_WINDOW_MOST);
    }
}

// Loss to nobody's fault: a third of all, requests and answers together.
static void random_loss_does_not_shut_it(void **state)
{
    (void)state;
    struct co_repair_window window;
    co_repair_window_open(&window);
    for (int i = 0; i < 3000; i++) {
        if (i % 3 == 0) {
            co_repair_window_lost(&window, 1, true);
        } else {
            co_repair_window_came(&window);
        }
    }
    assert_int_equal(window.now, CO_REPAIR_WINDOW_MOST);
}

// Nothing comes: the least is left, and what was wide enough is there again after a few windows.
static void silence_shuts_it_and_an_answer_opens_it(void **state)
{
    (void)state;
    struct co_repair_window window;
    co_repair_window_open(&window);
    for (int i = 0; i < 400; i++) {
        co_repair_window_lost(&window, window.now, false);
    }
    assert_int_equal(window.now, CO_REPAIR_WINDOW_LEAST);
    for (int i = 0; i < CO_REPAIR_WINDOW_MOST; i++) {
        co_repair_window_came(&window);
    }
    assert_int_equal(window.now, CO_REPAIR_WINDOW_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_while_nothing_is_lost),
        cmocka_unit_test(it_finds_a_queue_that_overflows),
        cmocka_unit_test(random_loss_does_not_shut_it),
        cmocka_unit_test(silence_shuts_it_and_an_answer_opens_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
