// SPDX-License-Identifier: BSD-3-Clause
//
// What a sender learns of its path, against a path whose rate and delay are known: the rate, what may be in flight, the
// pace, and of what nothing is to be learned.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send/send_rate.h"

enum { START = 46, LEAST = 21, WINDOW = 1497, SENDERS = 7, RATE = 10000, BATCH = 16 };

#define MS CO_NS_PER_MS
#define RTT_NS (UINT64_C(1) * MS)

// Chunks leave in batches, one after the other through a link of RATE, and are heard a round trip later, by batches.
struct path {
    struct co_send_rate rate;
    uint64_t now_ns, rtt_ns;
    uint32_t sent, batch;
    bool is_last;
};

static void path_open(struct path *path)
{
    *path = (struct path){.now_ns = 1000 * MS, .rtt_ns = RTT_NS, .batch = BATCH};
    co_send_rate_open(&path->rate, START, LEAST, WINDOW, false);
}

// Sends `batches` back to back from now on, lets all be heard at the link's `rate`, and ends when the last was.
static void send(struct path *path, unsigned batches, uint64_t rate)
{
    uint64_t began_ns = path->now_ns;
    uint32_t first = path->sent;
    for (unsigned i = 0; i < batches; i++) {
        path->sent += path->batch;
        co_send_rate_sent(&path->rate, 1, path->sent, path->batch, i == 0, first, path->is_last && i + 1 == batches,
                          began_ns);
    }
    for (unsigned i = 1; i <= batches; i++) {
        uint32_t heard = first + i * path->batch;
        path->now_ns = began_ns + path->rtt_ns + (uint64_t)i * path->batch * CO_NS_PER_S / rate;
        co_send_rate_time_flight(&path->rate, heard, path->now_ns);
        co_send_rate_hear(&path->rate, heard, path->sent, heard, false, path->now_ns);
    }
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    assert_int_equal(co_send_rate_bound(&path.rate, 1), START);
    assert_int_equal(co_send_rate_bound(&path.rate, 4), START / 4);
    assert_int_equal(co_send_rate_allows(&path.rate, 1, true, path.now_ns), UINT32_MAX);
    assert_int_equal(co_send_rate_patience_ns(&path.rate, 1), 2 * CO_SEND_RATE_UNKNOWN_NS + CO_SEND_RATE_LATE_NS);
}

static void it_learns_the_rate_and_the_round_trip(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    send(&path, 12, RATE);
    // 192 chunks and a round trip are 20.2 ms.
    assert_in_range(co_send_rate_now(&path.rate), RATE * 8 / 10, RATE);
    assert_in_range(path.rate.least_rtt_ns, RTT_NS, RTT_NS + (uint64_t)BATCH * CO_NS_PER_S / RATE);
    uint64_t bridge_us = path.rate.least_rtt_ns / CO_NS_PER_US + path.rate.queue.now;
    assert_int_equal(co_send_rate_bound(&path.rate, 1), co_send_rate_now(&path.rate) * bridge_us / 1000000);
    assert_int_equal(co_send_rate_bound(&path.rate, 2), co_send_rate_bound(&path.rate, 1) / 2);
}

static void what_leaves_first_says_nothing(void **state)
{
    (void)state; // a shaper lets 64 KiB through at once: the rate was found fifteen times too large
    struct path path;
    path_open(&path);
    path.is_last = true;
    for (int i = 0; i < 20; i++) {
        send(&path, START / BATCH, 100 * RATE);
    }
    assert_int_equal(co_send_rate_now(&path.rate), 0);
    assert_int_equal(co_send_rate_bound(&path.rate, 1), START);
}

static void a_window_that_was_empty_is_no_beginning(void **state)
{
    (void)state; // with a bound of one batch each was the first, and the rate was never known
    struct path path;
    path_open(&path);
    for (int i = 0; i < 12; i++) {
        send(&path, 1, RATE);
    }
    assert_true(co_send_rate_now(&path.rate) > 0);
}

static void a_rate_that_falls_is_noticed_and_one_that_rises_at_once(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    send(&path, 12, RATE);
    for (int i = 0; i < 4 * CO_SEND_RATE_ROUNDS; i++) {
        send(&path, 12, RATE / 10);
    }
    assert_in_range(co_send_rate_now(&path.rate), RATE * 7 / 100, RATE * 11 / 100);
    for (int i = 0; i < 4; i++) { // ten times: four doublings
        uint64_t before = co_send_rate_now(&path.rate);
        send(&path, 12, RATE);
        assert_true(co_send_rate_now(&path.rate) > before || before > RATE / 2);
    }
    assert_true(co_send_rate_now(&path.rate) > RATE / 2);
}

// Before a rate is known, what an idle port let through at once says nothing of the others' round trips behind it: each
// further time takes twice as long, up to 64 times.
static void before_a_rate_is_known_less_and_less_is_given_up(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    uint64_t patience_ns = co_send_rate_patience_ns(&path.rate, 8),
             began_ns = co_send_rate_give_up_ns(&path.rate, 8) - patience_ns;
    for (int i = 0; i < 20; i++) {
        co_send_rate_give_up(&path.rate);
    }
    assert_int_equal(co_send_rate_give_up_ns(&path.rate, 8), began_ns + 64 * patience_ns);
}

static void the_pace_is_kept_over_time(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    send(&path, 12, RATE);
    path.rate.is_growing = false;
    uint64_t pace = co_send_rate_pace(&path.rate, 1), now_ns = path.now_ns + 1000 * MS, began_ns = now_ns;
    uint32_t sent = path.sent, first = co_send_rate_allows(&path.rate, 1, true, now_ns);
    assert_int_equal(first, LEAST); // after an idle time, not a second's worth
    for (bool was_idle = true; now_ns < began_ns + 100 * MS; was_idle = false) {
        uint32_t allowed = co_send_rate_allows(&path.rate, 1, was_idle, now_ns);
        if (allowed == 0) {
            uint64_t due_ns = co_send_rate_due_ns(&path.rate, 1, 1);
            assert_true(due_ns > now_ns);
            now_ns = due_ns + (sent % 5 == 0 ? 3 * MS : 0); // now and then the sender has to wait for the processor
            continue;
        }
        sent += allowed;
        co_send_rate_sent(&path.rate, 1, sent, allowed, was_idle, path.sent, false, now_ns);
    }
    uint64_t expected = pace * (now_ns - began_ns) / CO_NS_PER_S + first;
    assert_in_range(sent - path.sent, expected - 4 * pace / 1000, expected + 1); // it may end in a wait
}

static void a_fast_path_is_not_paced_until_something_is_lost(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    uint64_t fast = (uint64_t)WINDOW / CO_SEND_RATE_FAST * CO_NS_PER_S / (CO_PATH_QUEUE_MOST * CO_NS_PER_US);
    path.rate.best[0] = fast - fast / 100;
    path.rate.least_rtt_ns = RTT_NS;
    assert_true(co_send_rate_pace(&path.rate, 1) > 0);
    assert_true(co_send_rate_bound(&path.rate, 1) < WINDOW / 2);
    path.rate.best[0] = fast + fast / 100;
    assert_int_equal(co_send_rate_bound(&path.rate, 1), WINDOW);
    assert_int_equal(co_send_rate_allows(&path.rate, 1, false, path.now_ns), UINT32_MAX);
    co_path_queue_judge(&path.rate.queue, WINDOW / 10, WINDOW);
    assert_true(co_send_rate_pace(&path.rate, 1) > 0);
    assert_true(co_send_rate_bound(&path.rate, 1) < WINDOW / 4);
    for (int i = 0; i < 200; i++) { // who has lost once stays careful
        co_path_queue_judge(&path.rate.queue, 0, WINDOW);
    }
    assert_int_equal(path.rate.queue.now, CO_PATH_QUEUE_MOST);
    assert_true(co_send_rate_pace(&path.rate, 1) > 0);
}

static void a_long_way_is_told_from_a_slow_link(void **state)
{
    (void)state; // a first flight of 48 chunks takes 50 ms either way
    struct path path;
    path_open(&path);
    send(&path, 3, RATE / 10);
    assert_in_range(path.rate.far_ns, RTT_NS - MS / 10, RTT_NS + MS / 10);
    assert_true(path.rate.least_rtt_ns > 8 * MS && !co_send_rate_is_starting(&path.rate));
    path_open(&path);
    path.rtt_ns = 48 * MS;
    send(&path, 3, RATE);
    assert_in_range(path.rate.far_ns, 48 * MS - MS / 10, 48 * MS + MS / 10);
    assert_true(co_send_rate_is_starting(&path.rate));
}

static void on_a_long_way_the_rate_doubles_until_it_stays(void **state)
{
    (void)state; // with 8 ms of queue for 100 ms of round trip it grew by a twelfth in each round
    struct path path;
    path_open(&path);
    path.rtt_ns = 100 * MS;
    for (uint32_t bound = START, full = RATE / 10, rounds = 0; bound < full; rounds++) {
        uint64_t before = co_send_rate_now(&path.rate);
        assert_true(rounds < 5);
        path.batch = (bound + 2) / 3;
        send(&path, 3, RATE);
        assert_true(co_send_rate_now(&path.rate) >= 2 * before || co_send_rate_bound(&path.rate, 1) >= full);
        bound = co_send_rate_bound(&path.rate, 1);
        assert_true(co_send_rate_pace(&path.rate, 1) > 2 * co_send_rate_now(&path.rate));
    }
    path.rate.flat_rounds = CO_SEND_RATE_FLAT;
    uint64_t now = co_send_rate_now(&path.rate), rtt_us = path.rate.least_rtt_ns / CO_NS_PER_US;
    assert_in_range(co_send_rate_bound(&path.rate, 1), now * rtt_us * 12 / 10000000, now * rtt_us * 13 / 10000000);
    co_path_queue_judge(&path.rate.queue, WINDOW / 10, WINDOW); // what is lost there ends both
    assert_int_equal(co_send_rate_bound(&path.rate, 1), now * (rtt_us + path.rate.queue.now) / 1000000);
}

static void a_long_way_is_paced_however_fast(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    path.rate.best[0] = 100 * RATE;
    path.rate.far_ns = path.rate.least_rtt_ns = RTT_NS;
    assert_int_equal(co_send_rate_pace(&path.rate, 1), 0);
    path.rate.far_ns = path.rate.least_rtt_ns = 20 * RTT_NS;
    assert_true(co_send_rate_pace(&path.rate, 1) > 0);
}

static void lateness_is_added_to_the_round_trip(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    send(&path, 12, RATE);
    uint64_t latest_ns = path.now_ns, overdue_ns = co_send_rate_overdue_ns(&path.rate, 1);
    assert_true(overdue_ns > latest_ns + RTT_NS + CO_SEND_RATE_LATE_NS);
    assert_true(overdue_ns < latest_ns + 20 * MS);
    uint32_t late = path.rate.queue.late;
    path.sent += BATCH;
    co_send_rate_sent(&path.rate, 1, path.sent, BATCH, true, path.sent - BATCH, false, path.now_ns);
    co_send_rate_time_news(&path.rate, path.now_ns + 40 * MS);
    co_send_rate_hear(&path.rate, path.sent, path.sent, path.sent, false, path.now_ns + 40 * MS);
    assert_true(path.rate.queue.late > late + 30000);
}

static void a_pace_of_few_chunks_grows(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    for (uint64_t rate = 1; rate < 20; rate++) {
        path.rate.best[0] = rate;
        assert_true(co_send_rate_pace(&path.rate, 1) > rate);
    }
}

// Chunk by chunk, each of SENDERS; of four, `late` are heard of only when the sender's patience has just not ended.
static void send_each(struct path *path, unsigned count, unsigned late, bool is_asked)
{
    for (unsigned i = 0; i < count; i++) {
        path->sent++;
        co_send_rate_sent(&path->rate, SENDERS, path->sent, 1, true, path->sent - 1, false, path->now_ns);
        path->now_ns += i % 4 < late ? co_send_rate_patience_ns(&path->rate, SENDERS) - 1 : RTT_NS;
        co_send_rate_hear(&path->rate, path->sent, path->sent, path->sent, is_asked, path->now_ns);
    }
}

static uint64_t usual_rtts_ns(const struct path *path)
{
    return co_usual_time_limit_ns(&path->rate.rtts, 0, UINT64_MAX);
}

static void patience_is_not_learned_from_waits_for_lost_words(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    send_each(&path, CO_USUAL_TIME_SAMPLES, 0, false);
    assert_int_equal(usual_rtts_ns(&path), 2 * RTT_NS);
    send_each(&path, 100, 1, false); // what another's question brings has no mark
    assert_int_equal(usual_rtts_ns(&path), 2 * RTT_NS);
    send_each(&path, 100, 4, true); // but what answers ours says so
    assert_int_equal(usual_rtts_ns(&path), 2 * RTT_NS);
}

static void patience_is_learned_from_round_trips_behind_others(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    send_each(&path, 4, 0, false);
    path.rtt_ns = 50 * RTT_NS;
    for (unsigned i = 0; i < CO_USUAL_TIME_SAMPLES; i++) {
        send(&path, 1, RATE);
    }
    assert_true(co_send_rate_patience_ns(&path.rate, SENDERS) >= 100 * RTT_NS);
}

static void who_is_ahead_of_the_others_has_less_in_flight(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    path.rate.best[0] = RATE;
    path.rate.least_rtt_ns = RTT_NS;
    uint32_t share = co_send_rate_bound(&path.rate, 2), alone = co_send_rate_bound(&path.rate, 1);
    static const struct {
        int lead; // quarters of the share
        int less;
    } cases[] = {{0, 0}, {2, 0}, {-2, 0}, {3, 1}, {-3, -1}, {4, 2}, {40, 2}, {-40, -2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        path.rate.lead = cases[i].lead * (int32_t)share / 4;
        uint32_t expected = (uint32_t)((int32_t)share - cases[i].less * (int32_t)share / 4);
        assert_in_range(co_send_rate_bound(&path.rate, 2), expected - 1, expected + 1);
        assert_int_equal(co_send_rate_bound(&path.rate, 1), alone);
    }
}

// One of SENDERS, after an idle time: START chunks of all come through at once, the rest at RATE.
static void send_behind_tokens(struct path *path, uint32_t count, uint32_t *delivered)
{
    uint32_t of_all = count * SENDERS, before = *delivered;
    uint64_t began_ns = path->now_ns;
    path->sent += count;
    co_send_rate_sent(&path->rate, SENDERS, path->sent, count, true, before, true, began_ns);
    path->now_ns += RTT_NS + (uint64_t)(of_all - START) * CO_NS_PER_S / RATE;
    *delivered += of_all;
    co_send_rate_hear(&path->rate, path->sent, path->sent, *delivered, false, path->now_ns);
    path->now_ns += 100 * MS;
}

static void what_several_are_let_through_at_once_is_no_rate(void **state)
{
    (void)state; // a port's tokens of 64 KiB: the rate was found three times too large, and nothing was paced
    struct path path;
    path_open(&path);
    uint32_t delivered = 0;
    path.rate.best[0] = path.rate.best[1] = RATE;
    for (uint32_t i = 0; i < CO_SEND_RATE_ROUNDS - 1; i++) {
        send_behind_tokens(&path, 10, &delivered);
        assert_int_equal(co_send_rate_now(&path.rate), RATE);
    }
    path.rate.best[0] = path.rate.best[1] = RATE / 10; // but that it is faster than this is certain
    send_behind_tokens(&path, 10, &delivered);
    assert_in_range(co_send_rate_now(&path.rate), RATE / 3, RATE);
}

static void what_was_given_up_is_no_round_trip(void **state)
{
    (void)state;
    struct path path;
    path_open(&path);
    co_send_rate_sent(&path.rate, SENDERS, 1, 1, true, 0, false, path.now_ns);
    co_send_rate_give_up(&path.rate);
    co_send_rate_sent(&path.rate, SENDERS, 2, 1, false, 0, false, path.now_ns + 30 * MS);
    co_send_rate_hear(&path.rate, 2, 2, 2, false, path.now_ns + 31 * MS);
    assert_int_equal(path.rate.rtts.count, 1);
    assert_int_equal(path.rate.rtts.sorted_ns[0], RTT_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(it_learns_the_rate_and_the_round_trip),
        cmocka_unit_test(what_leaves_first_says_nothing),
        cmocka_unit_test(a_window_that_was_empty_is_no_beginning),
        cmocka_unit_test(a_rate_that_falls_is_noticed_and_one_that_rises_at_once),
        cmocka_unit_test(before_a_rate_is_known_less_and_less_is_given_up),
        cmocka_unit_test(the_pace_is_kept_over_time),
        cmocka_unit_test(a_fast_path_is_not_paced_until_something_is_lost),
        cmocka_unit_test(a_long_way_is_told_from_a_slow_link),
        cmocka_unit_test(on_a_long_way_the_rate_doubles_until_it_stays),
        cmocka_unit_test(a_long_way_is_paced_however_fast),
        cmocka_unit_test(lateness_is_added_to_the_round_trip),
        cmocka_unit_test(a_pace_of_few_chunks_grows),
        cmocka_unit_test(patience_is_not_learned_from_waits_for_lost_words),
        cmocka_unit_test(patience_is_learned_from_round_trips_behind_others),
        cmocka_unit_test(what_was_given_up_is_no_round_trip),
        cmocka_unit_test(who_is_ahead_of_the_others_has_less_in_flight),
        cmocka_unit_test(what_several_are_let_through_at_once_is_no_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
