// SPDX-License-Identifier: BSD-3-Clause
//
// What one of several senders makes of its path: how long it waits for what stands behind the others' chunks, and what
// the time of a repair does not tell.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send/send_rate.h"

enum { START = 46, LEAST = 21, WINDOW = 1497, SENDERS = 32, RATE = 200 };

#define MS CO_NS_PER_MS
#define RTT_NS (UINT64_C(2) * MS)

static void sent(struct co_send_rate *rate, uint32_t number, uint64_t now_ns)
{
    co_send_rate_sent(rate, SENDERS, number, 1, rate->count == 0, (number - 1) * SENDERS, false, now_ns);
}

// A chunk each, of all of them, in the time that they take together. Returns when that is over.
static uint64_t take_turns(struct co_send_rate *rate, uint32_t turns, uint64_t now_ns)
{
    for (uint32_t i = 1; i <= turns; i++) {
        sent(rate, i, now_ns);
        now_ns += SENDERS * CO_NS_PER_S / RATE;
        co_send_rate_hear(rate, i, i, i * SENDERS, false, now_ns);
    }
    return now_ns;
}

static void a_turn_of_all_is_waited_for(void **state)
{
    (void)state;
    struct co_send_rate rate;
    co_send_rate_open(&rate, START, 0, WINDOW, false);
    rate.best[0] = RATE;
    rate.least_rtt_ns = RTT_NS;
    assert_true(co_send_rate_bound(&rate, SENDERS) < 1); // and yet each sends one
    assert_true(co_send_rate_patience_ns(&rate, SENDERS) >= SENDERS * CO_NS_PER_S / RATE);
    assert_true(co_send_rate_patience_ns(&rate, 1) < SENDERS * CO_NS_PER_S / RATE);
}

static void before_a_rate_is_known_the_chunks_of_others_are_waited_for(void **state)
{
    (void)state;
    struct co_send_rate rate;
    co_send_rate_open(&rate, START, LEAST, WINDOW, false);
    sent(&rate, 1, MS);
    uint64_t patience_ns = co_send_rate_patience_ns(&rate, SENDERS);
    assert_int_equal(co_send_rate_overdue_ns(&rate, SENDERS), MS + patience_ns);
    rate.busy_ns = 500 * MS; // they still come: nobody is asked for a word either
    assert_int_equal(co_send_rate_overdue_ns(&rate, SENDERS), rate.busy_ns + patience_ns);
    rate.busy_ns = 5000 * MS; // but not for ever
    assert_int_equal(co_send_rate_overdue_ns(&rate, SENDERS), MS + CO_SEND_RATE_RTT_MOST_NS);
    rate.busy_ns = 500 * MS;
    assert_int_equal(co_send_rate_overdue_ns(&rate, 1), MS + co_send_rate_patience_ns(&rate, 1));
    for (unsigned i = 0; i < CO_SEND_RATE_GIVEN_UP_BY_TIME; i++) {
        assert_int_equal(co_send_rate_give_up_ns(&rate, SENDERS), MS + (patience_ns << i));
        co_send_rate_give_up(&rate);
    }
    uint64_t longer_ns = patience_ns << CO_SEND_RATE_GIVEN_UP_BY_TIME;
    assert_int_equal(co_send_rate_give_up_ns(&rate, SENDERS), rate.busy_ns + longer_ns);
    rate.best[0] = RATE; // then it is known how long they take
    assert_true(co_send_rate_give_up_ns(&rate, SENDERS) < MS + 8 * co_send_rate_patience_ns(&rate, SENDERS) + 1);
}

// Where every other chunk is lost by somebody, all wait for repairs most of the time: a queue that such times made long
// did not become shorter when it was halved, and was halved on, although it was not the cause.
static void the_time_of_a_repair_says_nothing_of_queues(void **state)
{
    (void)state;
    struct co_send_rate rate;
    co_send_rate_open(&rate, START, 0, WINDOW, false);
    uint64_t now_ns = take_turns(&rate, 8, MS), stood = rate.queue.stood_sum;
    unsigned count = rate.queue.stood_count;
    sent(&rate, 9, now_ns);
    co_send_rate_give_up(&rate);
    co_send_rate_hear(&rate, 9, 9, 9 * SENDERS, false, now_ns + CO_NS_PER_S);
    assert_int_equal(rate.queue.stood_sum, stood);
    assert_int_equal(rate.queue.stood_count, count);
    sent(&rate, 10, now_ns + CO_NS_PER_S);
    co_send_rate_hear(&rate, 10, 10, 10 * SENDERS, true, now_ns + 2 * CO_NS_PER_S); // asked for
    assert_int_equal(rate.queue.stood_count, count);
}

// Operations of a few chunks, each heard before the next begins: the first of them leave at once and tell of no rate.
static uint64_t rate_after_short_ones(uint64_t rate_before)
{
    struct co_send_rate rate;
    co_send_rate_open(&rate, START, LEAST, WINDOW, false);
    rate.best[0] = rate_before;
    for (uint32_t i = 1; i <= CO_SEND_RATE_UNTOLD; i++) {
        assert_int_equal(co_send_rate_now(&rate), rate_before);
        co_send_rate_sent(&rate, 4, 8 * i, 8, true, 32 * (i - 1), true, i * MS);
        co_send_rate_hear(&rate, 8 * i, 8 * i, 32 * i, false, i * MS + MS / 2);
    }
    return co_send_rate_now(&rate);
}

static void what_short_operations_would_be_paced_by_for_ever_is_forgotten(void **state)
{
    (void)state; // 16 KiB of four members on a path without limit: a slow beginning made all of them 20 times as long
    assert_int_equal(rate_after_short_ones(25000), 0);
    uint64_t fast = WINDOW * UINT64_C(1000000) / CO_SEND_RATE_FAST / CO_PATH_QUEUE_MOST + 1000;
    assert_int_equal(rate_after_short_ones(fast), fast); // by which nothing is paced
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_of_all_is_waited_for),
        cmocka_unit_test(what_short_operations_would_be_paced_by_for_ever_is_forgotten),
        cmocka_unit_test(before_a_rate_is_known_the_chunks_of_others_are_waited_for),
        cmocka_unit_test(the_time_of_a_repair_says_nothing_of_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
