// SPDX-License-Identifier: BSD-3-Clause
//
// The send window: room and shares, credit that is old, forged or wraps, and what halves and grows it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send_window.h"

static void credit_makes_room(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 100);
    assert_int_equal(co_send_window_room(&window, 1), 100);
    window.sent = 100;
    assert_int_equal(co_send_window_room(&window, 1), 0);
    co_send_window_credit(&window, 30, 1);
    assert_int_equal(co_send_window_room(&window, 1), 30);
    co_send_window_credit(&window, 20, 1); // an old report
    assert_int_equal(window.credited, 30);
    co_send_window_credit(&window, 5000, 1); // more than was ever sent
    assert_int_equal(window.credited, 100);
    assert_int_equal(co_send_window_room(&window, 1), 100);
}

static void senders_share(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 100);
    assert_int_equal(co_send_window_room(&window, 4), 25);
    assert_int_equal(co_send_window_room(&window, 1000), CO_SEND_WINDOW_LEAST); // never none
    window.sent = 25;
    assert_int_equal(co_send_window_room(&window, 4), 0);
    window.sent = 90; // a share that has become smaller than what is in flight
    assert_int_equal(co_send_window_room(&window, 4), 0);
}

// A window's worth of chunks is sent and credited; `lost` of them had to be repaired.
static void round_of(struct co_send_window *window, uint32_t lost)
{
    window->sent += window->now;
    window->lost += lost;
    co_send_window_credit(window, window->sent, 1);
}

static void heavy_loss_halves_it_and_success_grows_it(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 64);
    round_of(&window, 6); // less than a tenth
    assert_int_equal(window.now, 64);
    round_of(&window, 7);
    assert_int_equal(window.now, 32);
    for (int i = 0; i < 10; i++) {
        round_of(&window, window.now);
    }
    assert_int_equal(window.now, CO_SEND_WINDOW_LEAST);
    uint32_t before = window.now;
    for (int i = 0; i < 20; i++) {
        round_of(&window, 0);
        assert_true(window.now > before || window.now == window.most);
        before = window.now;
    }
    assert_int_equal(window.now, 64);
}

static void loss_is_judged_once_a_window(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 100);
    window.sent = 100;
    window.lost = 50;
    for (uint32_t credited = 1; credited < 100; credited++) {
        co_send_window_credit(&window, credited, 1);
        assert_int_equal(window.now, 100);
    }
    co_send_window_credit(&window, 100, 1);
    assert_int_equal(window.now, 50);
}

// Eight senders lose 2 % each: a member has lost more than a tenth of what one of them sent, and yet little.
static void losses_of_all_senders_are_counted_together(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 400);
    for (int i = 0; i < 20; i++) {
        window.sent += 400;
        window.lost += 64;
        co_send_window_credit(&window, window.sent, 8);
        assert_int_equal(window.now, 400);
    }
    window.sent += 400;
    window.lost += 321;
    co_send_window_credit(&window, window.sent, 8);
    assert_int_equal(window.now, 200);
}

static void counts_wrap(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 50);
    window.sent = window.credited = window.judged_at = UINT32_MAX - 120;
    window.lost = window.lost_judged = UINT32_MAX - 1;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(co_send_window_room(&window, 1), 50);
        window.sent += 50;
        assert_int_equal(co_send_window_room(&window, 1), 0);
        co_send_window_credit(&window, window.sent - 50 - 1, 1); // old, seen from beyond the wrap
        assert_int_equal(co_send_window_room(&window, 1), 0);
        window.lost += 1;
        co_send_window_credit(&window, window.sent, 1);
    }
    assert_int_equal(window.now, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credit_makes_room),
        cmocka_unit_test(senders_share),
        cmocka_unit_test(heavy_loss_halves_it_and_success_grows_it),
        cmocka_unit_test(loss_is_judged_once_a_window),
        cmocka_unit_test(losses_of_all_senders_are_counted_together),
        cmocka_unit_test(counts_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
