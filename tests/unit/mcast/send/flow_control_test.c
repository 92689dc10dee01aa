// SPDX-License-Identifier: BSD-3-Clause
//
// The send window: room and shares, credit that is old, forged or wraps, what is in flight beside what is owed, and
// when loss is judged.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send/flow_control.h"

enum { NOW = 1000000, WINDOW = 2 * CO_PATH_QUEUE_JUDGED };

static void open_window(struct co_send_window *window, uint32_t most, uint32_t shared_most)
{
    co_send_window_open(window, most, shared_most, 4 * most, 0, false); // what is in flight at first is no limit here
}

static uint32_t room(struct co_send_window *window, uint32_t senders)
{
    return co_send_window_room(window, senders, NOW);
}

static void send(struct co_send_window *window, uint32_t senders, uint32_t count)
{
    co_send_window_sent(window, senders, count, 0, false, NOW);
}

static bool credit(struct co_send_window *window, uint32_t senders, uint32_t credited)
{
    return co_send_window_credit(window, senders, credited, credited, 0, false, NOW);
}

static void credit_makes_room(void **state)
{
    (void)state;
    struct co_send_window window;
    open_window(&window, 100, 100);
    assert_int_equal(room(&window, 1), 100);
    send(&window, 1, 100);
    assert_int_equal(room(&window, 1), 0);
    credit(&window, 1, 30);
    assert_int_equal(room(&window, 1), 30);
    credit(&window, 1, 20); // an old report
    assert_int_equal(window.credited, 30);
    credit(&window, 1, 5000); // more than was ever sent
    assert_int_equal(window.credited, 100);
    assert_int_equal(window.heard, 100);
    assert_int_equal(room(&window, 1), 100);
}

static void senders_share(void **state)
{
    (void)state;
    struct co_send_window window;
    open_window(&window, 100, 100);
    assert_int_equal(room(&window, 4), 25);
    assert_int_equal(room(&window, 1000), 1); // never none
    send(&window, 4, 25);
    assert_int_equal(room(&window, 4), 0);
    send(&window, 4, 65); // a share that has become smaller than what is in flight
    assert_int_equal(room(&window, 4), 0);
}

static void what_is_lost_is_in_nobodys_way(void **state)
{
    (void)state; // it was, until it had been repaired
    struct co_send_window window;
    co_send_window_open(&window, 1000, 1000, 50, 0, false);
    assert_int_equal(room(&window, 1), 50);
    send(&window, 1, 50);
    assert_int_equal(room(&window, 1), 0);
    co_send_window_credit(&window, 1, 10, 40, 0, false, NOW); // 30 are missing, 10 under way
    assert_int_equal(co_send_window_in_flight(&window), 10);
    assert_int_equal(room(&window, 1), 40);
    send(&window, 1, 40);
    assert_int_equal(room(&window, 1), 0);
    co_send_window_credit(&window, 1, 0, 20, 0, false, NOW); // old
    assert_int_equal(co_send_window_in_flight(&window), 50);
}

static void what_nobody_hears_is_given_up_in_time(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 100, 100, 50, 0, false);
    send(&window, 1, 50);
    uint64_t overdue_ns = co_send_window_overdue_ns(&window, 1);
    assert_int_equal(co_send_window_room(&window, 1, overdue_ns - 1), 0);
    assert_int_equal(co_send_window_room(&window, 1, overdue_ns), CO_SEND_WINDOW_LEAST);
    co_send_window_sent(&window, 1, CO_SEND_WINDOW_LEAST, 0, false, overdue_ns);
    assert_int_equal(co_send_window_room(&window, 1, overdue_ns), 0); // and not more at once
    while (window.sent < 100) {
        overdue_ns = co_send_window_overdue_ns(&window, 1);
        uint32_t more = co_send_window_room(&window, 1, overdue_ns);
        assert_in_range(more, 1, CO_SEND_WINDOW_LEAST);
        co_send_window_sent(&window, 1, more, 0, false, overdue_ns);
    }
    assert_int_equal(co_send_window_room(&window, 1, UINT64_MAX), 0); // the window itself is for memory
}

static void credit_is_wanted_by_quarters_of_what_may_be_in_flight(void **state)
{
    (void)state;
    struct co_send_window window;
    open_window(&window, 1000, 1000);
    assert_int_equal(co_send_window_credit_shift(&window, 1), 0); // the whole, which all know
    co_send_window_open(&window, 1000, 1000, 500, 0, false);
    assert_int_equal(co_send_window_credit_shift(&window, 1), 7); // every 64 of 125
    assert_int_equal(co_send_window_credit_shift(&window, 4), 6); // every 32 of 62
    co_send_window_open(&window, 1000, 1000, 500, 0, true);
    assert_int_equal(co_send_window_credit_shift(&window, 1), 0); // held back by the links: the whole
    co_send_window_open(&window, 1000, 1000, CO_SEND_WINDOW_LEAST, 0, false);
    assert_int_equal(co_send_window_credit_shift(&window, 1), 1); // each
}

static void who_has_more_to_send_shares_the_path(void **state)
{
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 1000, 1000, 50, 0, false);
    window.shared.rate.best[0] = 10000; // chunks a second: 100 in the round trip and the queue
    window.shared.rate.least_rtt_ns = 2 * CO_NS_PER_MS;
    assert_int_equal(co_send_window_bound(&window, 8), 12);
    window.sending = 20;
    assert_int_equal(co_send_window_bound(&window, 8), 12);
    window.sending = 4;
    assert_int_equal(co_send_window_bound(&window, 8), 25);
    window.sending = 1;
    assert_int_equal(co_send_window_bound(&window, 8), 100);
    window.shared.rate.best[0] = 20000;
    assert_int_equal(co_send_window_bound(&window, 8), 125); // of members' memory the others keep their parts
}

static void loss_is_judged_once_a_window(void **state)
{
    (void)state;
    struct co_send_window window;
    open_window(&window, WINDOW, WINDOW);
    send(&window, 1, WINDOW);
    window.lost = WINDOW / 2;
    for (uint32_t credited = 1; credited < WINDOW; credited++) {
        assert_false(credit(&window, 1, credited));
        assert_int_equal(window.alone.rate.queue.now, CO_PATH_QUEUE_MOST);
    }
    assert_true(credit(&window, 1, WINDOW));
    assert_int_equal(window.alone.rate.queue.now, CO_PATH_QUEUE_MOST / 2);
    assert_int_equal(window.lost, 0);
}

static void several_senders_have_a_window_of_their_own(void **state)
{
    (void)state;
    struct co_send_window window;
    open_window(&window, 2 * WINDOW, WINDOW);
    assert_int_equal(room(&window, 1), 2 * WINDOW);
    assert_int_equal(room(&window, 4), WINDOW / 4);
    send(&window, 4, WINDOW / 4);
    window.lost = WINDOW / 10; // of what four sent
    credit(&window, 4, WINDOW / 4);
    assert_int_equal(window.shared.rate.queue.now, CO_PATH_QUEUE_MOST / 2);
    assert_int_equal(window.alone.rate.queue.now, CO_PATH_QUEUE_MOST);
}

// Eight senders lose 2 % each, and by chance a little more: a member has lost more than a tenth of what one of them
// sent, and yet little.
static void losses_of_all_senders_are_counted_together(void **state)
{
    (void)state;
    struct co_send_window window;
    open_window(&window, 400, 400);
    for (int i = 0; i < 20; i++) {
        send(&window, 8, 400);
        window.lost += i % 2 == 0 ? 64 : 82;
        credit(&window, 8, window.sent);
        assert_int_equal(window.shared.rate.queue.now, CO_PATH_QUEUE_MOST);
    }
    send(&window, 8, 400);
    window.lost += 83;
    credit(&window, 8, window.sent);
    assert_int_equal(window.shared.rate.queue.now, CO_PATH_QUEUE_MOST / 2);
}

static void counts_wrap(void **state)
{
    (void)state;
    struct co_send_window window;
    open_window(&window, 50, 50);
    window.sent = window.credited = window.heard = window.judged_at = UINT32_MAX - 120;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(room(&window, 1), 50);
        send(&window, 1, 50);
        assert_int_equal(room(&window, 1), 0);
        credit(&window, 1, window.sent - 50 - 1); // old, seen from beyond the wrap
        assert_int_equal(room(&window, 1), 0);
        credit(&window, 1, window.sent);
    }
}

// Four send 24 chunks each after an idle time, of which 46 come through at once. In between we send alone.
static void tokens_are_no_rate_between_broadcasts_either(void **state)
{
    enum { TOKENS = 46, OWN = 24, ALL = 4 * OWN, RATE = 16000 };
    (void)state;
    struct co_send_window window;
    co_send_window_open(&window, 1497, 1497, TOKENS, 21, false);
    window.shared.rate.best[0] = window.shared.rate.best[1] = RATE;
    uint64_t now_ns = CO_NS_PER_S;
    uint32_t of_others = 0;
    for (int i = 0; i < 12; i++, now_ns += CO_NS_PER_S) {
        co_send_window_sent(&window, 1, OWN, of_others, true, now_ns);
        co_send_window_credit(&window, 1, window.sent, window.sent, of_others, false, now_ns + CO_NS_PER_MS);
        now_ns += CO_NS_PER_S;
        co_send_window_sent(&window, 4, OWN, of_others, true, now_ns);
        of_others += ALL - OWN;
        uint64_t heard_ns = now_ns + (uint64_t)(ALL - TOKENS) * CO_NS_PER_S / RATE + 1000;
        co_send_window_credit(&window, 4, window.sent, window.sent, of_others, false, heard_ns);
        assert_in_range(co_send_rate_now(&window.shared.rate), RATE * 9 / 10, RATE * 11 / 10);
    }
}

// Operations that are shorter than what may be in flight at first, one after the other, and the next one waits for
// room: what is heard of them tells the rate.
static uint64_t rate_of_short_operations(bool wait_for_room)
{
    enum { START = 45, SHORT = 12, RTT_NS = 50000 };
    struct co_send_window window;
    co_send_window_open(&window, 1000, 1000, START, 8, false);
    uint64_t now_ns = NOW;
    for (int flight = 0; flight < 8; flight++) {
        while (co_send_window_room(&window, 1, now_ns) >= SHORT && window.sent - window.heard < START - SHORT) {
            co_send_window_sent(&window, 1, SHORT, 0, true, now_ns);
        }
        if (wait_for_room) {
            co_send_window_stalled(&window);
        }
        now_ns += RTT_NS;
        co_send_window_credit(&window, 1, window.sent, window.sent, 0, false, now_ns);
    }
    return co_send_rate_now(&window.alone.rate);
}

static void who_waits_for_room_is_limited_by_the_path(void **state)
{
    (void)state; // for ever three operations were in flight, of a path that bears a hundred
    assert_int_equal(rate_of_short_operations(false), 0);
    assert_in_range(rate_of_short_operations(true), 36 * 20000 * 9 / 10, 36 * 20000 * 11 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credit_makes_room),
        cmocka_unit_test(senders_share),
        cmocka_unit_test(what_is_lost_is_in_nobodys_way),
        cmocka_unit_test(what_nobody_hears_is_given_up_in_time),
        cmocka_unit_test(credit_is_wanted_by_quarters_of_what_may_be_in_flight),
        cmocka_unit_test(who_has_more_to_send_shares_the_path),
        cmocka_unit_test(loss_is_judged_once_a_window),
        cmocka_unit_test(several_senders_have_a_window_of_their_own),
        cmocka_unit_test(losses_of_all_senders_are_counted_together),
        cmocka_unit_test(counts_wrap),
        cmocka_unit_test(tokens_are_no_rate_between_broadcasts_either),
        cmocka_unit_test(who_waits_for_room_is_limited_by_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
