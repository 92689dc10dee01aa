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
    co_send_window_open(&window, 100, 100);
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
    co_send_window_open(&window, 100, 100);
    assert_int_equal(co_send_window_room(&window, 4), 25);
    assert_int_equal(co_send_window_room(&window, 1000), CO_SEND_WINDOW_LEAST); // never none
    window.sent = 25;
    assert_int_equal(co_send_window_room(&window, 4), 0);
    window.sent = 90; // a share that has become smaller than what is in flight
    assert_int_equal(co_send_window_room(&window, 4), 0);
}

// Enough for one judgement is sent and credited in windows; of each, `lost` had to be repaired.
static void round_of(struct co_send_window *window, uint32_t lost)
{
    uint32_t now = window->alone.now;
    for (uint32_t sent = 0; sent < now || sent < CO_SEND_WINDOW_JUDGED; sent += now) {
        window->sent += now;
        window->lost += lost;
        co_send_window_credit(window, window->sent, 1);
    }
}

// What a queue of so many chunks before a receiver loses of each window.
static uint32_t overrun(const struct co_send_window *window, uint32_t queue)
{
    return window->alone.now > queue ? window->alone.now - queue : 0;
}

static void overrun_halves_it_and_success_grows_it(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 64, 64);
    round_of(&window, 1); // less than two in a hundred
    assert_int_equal(window.alone.now, 64);
    round_of(&window, overrun(&window, 4));
    assert_int_equal(window.alone.now, 32);
    for (int i = 0; i < 3; i++) {
        round_of(&window, overrun(&window, 4));
    }
    assert_int_equal(window.alone.now, CO_SEND_WINDOW_LEAST);
    uint32_t before = window.alone.now;
    for (int i = 0; i < 40; i++) {
        round_of(&window, 0);
        assert_true(window.alone.now > before || window.alone.now == window.alone.most);
        before = window.alone.now;
    }
    assert_int_equal(window.alone.now, 64);
}

static void loss_that_a_smaller_window_does_not_cure_leaves_it_large(void **state)
{
    (void)state; // a fifth of everything is lost whatever the window: of 4 chunks in flight 1 MiB took seconds
    struct co_send_window window;
    co_send_window_open(&window, 1000, 1000);
    round_of(&window, 200);
    assert_int_equal(window.alone.now, 500);
    for (int i = 0; i < 20; i++) {
        round_of(&window, window.alone.now / 5);
    }
    assert_int_equal(window.alone.now, 1000);
    for (int i = 0; i < 8; i++) { // the receivers are overrun as well: that is cured
        round_of(&window, window.alone.now / 5 + overrun(&window, 100) * 4 / 5);
    }
    assert_in_range(window.alone.now, 50, 200);
}

static void credit_is_wanted_by_quarters_of_what_is_left(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 1000, 1000);
    assert_int_equal(co_send_window_credit_shift(&window, 1), 0); // the whole, which all know
    window.alone.now = window.shared.now = 500;
    assert_int_equal(co_send_window_credit_shift(&window, 1), 7); // every 64 of 125
    assert_int_equal(co_send_window_credit_shift(&window, 4), 5);
    window.alone.now = CO_SEND_WINDOW_LEAST;
    assert_int_equal(co_send_window_credit_shift(&window, 1), 1); // each
}

// Of 64 chunks one in a hundred is often none, and often two or three: small windows fell by chance and stayed there.
static void chance_is_no_loss(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 64, 64);
    for (int i = 0; i < 50; i++) {
        round_of(&window, i % 4 == 0 ? 4 : 0);
        assert_int_equal(window.alone.now, 64);
    }
    round_of(&window, 6);
    assert_int_equal(window.alone.now, 32);
}

static void loss_is_judged_once_a_window(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 100, 100);
    window.sent = 100;
    window.lost = 50;
    for (uint32_t credited = 1; credited < 100; credited++) {
        co_send_window_credit(&window, credited, 1);
        assert_int_equal(window.alone.now, 100);
    }
    co_send_window_credit(&window, 100, 1);
    assert_int_equal(window.alone.now, 50);
}

// Near the size that lost too much it grows slowly, so that it seldom loses; beyond, the network has changed.
static void it_is_careful_where_it_lost(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 4000, 4000);
    window.alone.now = 1000;
    round_of(&window, overrun(&window, 500));
    assert_int_equal(window.alone.now, 500);
    unsigned careful = 0, rounds = 0;
    while (window.alone.now < 4000 && rounds < 100) {
        uint32_t before = window.alone.now;
        round_of(&window, 0);
        rounds++;
        careful += window.alone.now < before + before / 32;
        assert_true(window.alone.now - before < before / 32 ? before >= 700 && before < 1300 : true);
    }
    assert_in_range(careful, 20, 50);
    assert_int_equal(window.alone.now, 4000);
}

static void several_senders_have_a_window_of_their_own(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 1000, 400);
    assert_int_equal(co_send_window_room(&window, 1), 1000);
    assert_int_equal(co_send_window_room(&window, 4), 100);
    window.sent = 100;
    window.lost = 40; // a tenth of what four sent
    co_send_window_credit(&window, 100, 4);
    assert_int_equal(window.shared.now, 200);
    assert_int_equal(window.alone.now, 1000);
    assert_int_equal(co_send_window_room(&window, 4), 50);
}

// Eight senders lose 2 % each, and by chance a little more: a member has lost more than a tenth of what one of them
// sent, and yet little.
static void losses_of_all_senders_are_counted_together(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 400, 400);
    for (int i = 0; i < 20; i++) {
        window.sent += 400;
        window.lost += i % 2 == 0 ? 64 : 82;
        co_send_window_credit(&window, window.sent, 8);
        assert_int_equal(window.shared.now, 400);
    }
    window.sent += 400;
    window.lost += 83;
    co_send_window_credit(&window, window.sent, 8);
    assert_int_equal(window.shared.now, 200);
}

static void counts_wrap(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 50, 50);
    window.sent = window.credited = window.judged_at = UINT32_MAX - 120;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(co_send_window_room(&window, 1), 50);
        window.sent += 50;
        assert_int_equal(co_send_window_room(&window, 1), 0);
        co_send_window_credit(&window, window.sent - 50 - 1, 1); // old, seen from beyond the wrap
        assert_int_equal(co_send_window_room(&window, 1), 0);
        window.lost += 1;
        co_send_window_credit(&window, window.sent, 1);
    }
    assert_int_equal(window.alone.now, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credit_makes_room),
        cmocka_unit_test(senders_share),
        cmocka_unit_test(overrun_halves_it_and_success_grows_it),
        cmocka_unit_test(loss_that_a_smaller_window_does_not_cure_leaves_it_large),
        cmocka_unit_test(credit_is_wanted_by_quarters_of_what_is_left),
        cmocka_unit_test(chance_is_no_loss),
        cmocka_unit_test(loss_is_judged_once_a_window),
        cmocka_unit_test(it_is_careful_where_it_lost),
        cmocka_unit_test(several_senders_have_a_window_of_their_own),
        cmocka_unit_test(losses_of_all_senders_are_counted_together),
        cmocka_unit_test(counts_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
