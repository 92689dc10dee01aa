// SPDX-License-Identifier: BSD-3-Clause
//
// When a block asks for what: gaps and their age, the cutoff from the last chunk on, the tail that turns out to be
// late, retries that double, the budget, the announced end.
#include "receive_bench.h"

static void all_in_order_asks_nothing(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 7, 0);
    for (uint32_t psn = 0; psn < 7; psn++) {
        assert_false(co_receive_block_is_complete(&bench.block));
        assert_true(take(&bench, psn, psn * 10));
        assert_false(take(&bench, psn, psn * 10 + 1)); // twice counts once
        assert_int_equal(ask(&bench, psn * 10 + 2), 0);
    }
    assert_true(co_receive_block_is_complete(&bench.block));
    assert_true(due(&bench) == UINT64_MAX);
    assert_int_equal(ask(&bench, 1000000), 0);
}

static void a_gap_is_asked_for_when_it_has_aged(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 7, 0);
    take(&bench, 0, 10);
    take(&bench, 3, 20);
    assert_int_equal(ask(&bench, 20), 0); // may be reordered
    assert_true(due(&bench) <= 20 + TIMING.reorder_ns);
    take(&bench, 1, 60); // one of them was
    assert_int_equal(ask(&bench, 159), 0);
    assert_int_equal(ask(&bench, 160), 1); // nothing more comes that could show another gap
    assert_range(&bench, 0, 2, 1);
    assert_false(bench.request.is_retry);
    assert_true(bench.request.is_proven);
    assert_int_equal(ask(&bench, 161), 0); // once
    take(&bench, 5, 170);
    assert_int_equal(ask(&bench, 170), 0);
    assert_int_equal(ask(&bench, 270), 1); // only the new gap
    assert_range(&bench, 0, 4, 1);
}

static void a_gap_that_closes_leaves_no_age_behind(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 7, 0);
    take(&bench, 1, 10);
    assert_int_equal(ask(&bench, 10), 0);
    take(&bench, 0, 20);
    assert_int_equal(ask(&bench, 20), 0);
    take(&bench, 3, 500);
    assert_int_equal(ask(&bench, 500), 0); // its own age counts, not that of the gap before
    assert_int_equal(ask(&bench, 600), 1);
    assert_range(&bench, 0, 2, 1);
}

static void silence_counts_from_the_last_chunk(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 7, 0);
    take(&bench, 0, 100);
    take(&bench, 1, 200);
    assert_true(due(&bench) == 200 + TIMING.cutoff_ns);
    assert_int_equal(ask(&bench, 1199), 0);
    assert_int_equal(ask(&bench, 1200), 1);
    assert_range(&bench, 0, 2, 5);
}

static void a_block_not_begun_is_given_more_time(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 3, 500);
    assert_true(due(&bench) >= 500 + 2 * TIMING.cutoff_ns);
    assert_int_equal(ask(&bench, due(&bench) - 1), 0);
    assert_int_equal(ask(&bench, due(&bench)), 1);
    assert_range(&bench, 0, 0, 3);
}

static void a_bursty_sender_is_not_a_lossy_one(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 7, 0);
    take(&bench, 0, 100);
    take(&bench, 1, 3100);
    assert_int_equal(ask(&bench, 3100 + 2 * 3000 - 1), 0);
    assert_int_equal(ask(&bench, 3100 + 2 * 3000), 1);
}

// Windows of four chunks, whose last is lost: the sender waits for credit until it has been repaired, and that wait is
// a gap to all who hear him.
static void waiting_for_a_repair_does_not_make_the_next_wait_longer(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 400, 0);
    uint64_t now = 100;
    for (uint32_t psn = 0; psn < 200; psn += 4) {
        for (uint32_t i = 0; i < 3; i++) {
            take(&bench, psn + i, now++);
        }
        uint64_t heard = now;
        now = due(&bench);
        assert_true(now <= heard + 20 * TIMING.cutoff_ns);
        assert_true(ask(&bench, now) > 0);
        assert_true(co_receive_block_accept(&bench.block, psn + 3, true, now));
    }
}

static void a_nudge_says_that_the_source_waits(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 400, 0);
    take(&bench, 0, 100);
    assert_true(due(&bench) > 100 + 10 * TIMING.cutoff_ns);
    bench.block.is_ack_requested = true;
    assert_true(due(&bench) == 100 + 10 * TIMING.cutoff_ns);
    take(&bench, 1, 200); // it did not
    assert_true(due(&bench) > 200 + 10 * TIMING.cutoff_ns);
}

static void a_late_tail_takes_its_requests_back(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 7, 0);
    take(&bench, 0, 0);
    take(&bench, 2, 10);
    assert_int_equal(ask(&bench, 1010), 2);
    assert_range(&bench, 0, 1, 1);
    assert_range(&bench, 1, 3, 4);
    take(&bench, 3, 1100); // the sender goes on: only 1 is missing
    assert_int_equal(bench.block.asked_missing, 1);
    assert_int_equal(bench.block.asked_below, 3);
    take(&bench, 4, 1110);
    take(&bench, 6, 1120);
    ask(&bench, 1120);
    assert_int_equal(ask(&bench, 1220), 1);
    assert_range(&bench, 0, 5, 1);
    co_receive_block_accept(&bench.block, 1, true, 1300);
    co_receive_block_accept(&bench.block, 5, true, 1300);
    assert_true(co_receive_block_is_complete(&bench.block));
    assert_int_equal(bench.block.asked_missing, 0);
}

static void repairs_do_not_end_the_tail(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 4, 0);
    take(&bench, 0, 0);
    assert_int_equal(ask(&bench, 1000), 1);
    co_receive_block_accept(&bench.block, 2, true, 1100);
    assert_int_equal(bench.block.asked_missing, 2);
    assert_int_equal(ask(&bench, 1101), 0); // 1 and 3 stay asked for
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(&bench, due(&bench)), 1);
        assert_true(bench.request.is_retry);
        assert_range(&bench, 0, 1, 1);
    }
    assert_int_equal(ask(&bench, due(&bench)), 2);
    assert_range(&bench, 0, 1, 1);
    assert_range(&bench, 1, 3, 1);
}

static void retries_double_and_an_arrival_resets_them(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 4, 0);
    take(&bench, 3, 10);
    ask(&bench, 10);
    assert_int_equal(ask(&bench, 110), 1);
    uint64_t at = 110;
    for (int i = 0; i < 14; i++) {
        uint64_t wait = TIMING.retry_ns << (i < 4 ? 0 : i > 11 ? 7 : i - 4); // even at first: requests get lost too
        assert_int_equal(ask(&bench, at + wait - 1), 0);
        at += wait;
        assert_int_equal(ask(&bench, at), 1);
        assert_true(bench.request.is_retry);
        assert_range(&bench, 0, 0, i < 2 ? 1 : 3); // a chunk may tell about all
    }
    co_receive_block_accept(&bench.block, 0, true, at + 1);
    assert_int_equal(bench.block.retries, 0);
}

static void never_more_than_the_budget_is_outstanding(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 2000, 0);
    uint64_t now = 1000000;
    uint32_t served = 0;
    for (int round = 0; !co_receive_block_is_complete(&bench.block); round++) {
        assert_true(round < 100);
        unsigned count = ask(&bench, now);
        assert_true(bench.block.asked_missing <= BUDGET);
        assert_true(count > 0); // it streams: with room in the budget it does not wait for a timer
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(bench.ranges[i].first, served);
            for (uint32_t psn = 0; psn < bench.ranges[i].count; psn++) {
                co_receive_block_accept(&bench.block, bench.ranges[i].first + psn, true, ++now);
            }
            served += bench.ranges[i].count;
        }
        assert_true(co_receive_block_is_complete(&bench.block) || due(&bench) <= now);
    }
}

static void more_gaps_than_room(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 600, 0);
    for (uint32_t psn = 1; psn < 600; psn += 2) {
        take(&bench, psn, 10);
    }
    ask(&bench, 10);
    unsigned count = ask_with(&bench, &TIMING, 110, 10);
    assert_int_equal(count, 10);
    assert_range(&bench, 9, 18, 1);
    count = ask_with(&bench, &TIMING, 300, 10);
    count += count == 0 ? ask_with(&bench, &TIMING, 500, 10) : 0;
    assert_int_equal(count, 10);
    assert_range(&bench, 0, 20, 1);
}

static void an_announced_end_needs_no_cutoff(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 20, 0);
    take(&bench, 0, 10);
    assert_int_equal(ask(&bench, 10), 0);
    co_receive_block_all_sent(&bench.block, 20);
    ask(&bench, 20);
    assert_int_equal(ask(&bench, 120), 1);
    assert_range(&bench, 0, 1, 19);
}

static void announced_blocks_are_patient(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, CO_WIRE_ANNOUNCED_CHUNKS, 0);
    take(&bench, 0, 10);
    assert_int_equal(ask(&bench, 10 + 5 * TIMING.cutoff_ns), 0);
    assert_true(due(&bench) < UINT64_MAX); // and yet do not depend on the announcement
    assert_int_equal(ask(&bench, due(&bench)), 1);
    assert_range(&bench, 0, 1, CO_WIRE_ANNOUNCED_CHUNKS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_order_asks_nothing),
        cmocka_unit_test(a_gap_is_asked_for_when_it_has_aged),
        cmocka_unit_test(a_gap_that_closes_leaves_no_age_behind),
        cmocka_unit_test(silence_counts_from_the_last_chunk),
        cmocka_unit_test(a_block_not_begun_is_given_more_time),
        cmocka_unit_test(a_bursty_sender_is_not_a_lossy_one),
        cmocka_unit_test(waiting_for_a_repair_does_not_make_the_next_wait_longer),
        cmocka_unit_test(a_nudge_says_that_the_source_waits),
        cmocka_unit_test(a_late_tail_takes_its_requests_back),
        cmocka_unit_test(repairs_do_not_end_the_tail),
        cmocka_unit_test(retries_double_and_an_arrival_resets_them),
        cmocka_unit_test(never_more_than_the_budget_is_outstanding),
        cmocka_unit_test(more_gaps_than_room),
        cmocka_unit_test(an_announced_end_needs_no_cutoff),
        cmocka_unit_test(announced_blocks_are_patient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
