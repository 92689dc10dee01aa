// SPDX-License-Identifier: BSD-3-Clause
//
// What requests of a block know: many gaps in one, guess or proof, whose silence it is, which answer overtook which,
// what other blocks leave for this one.
#include "receive_bench.h"

static void gaps_gather_while_chunks_stream_in(void **state)
{
    (void)state; // of 20 % loss each gap was a request of its own
    struct bench bench;
    bench_open(&bench, 500, 0);
    unsigned requests = 0, ranges = 0;
    for (uint32_t psn = 0; psn < 300; psn++) {
        if (psn % 5 != 1) {
            take(&bench, psn, psn * 50);
        }
        unsigned count = ask(&bench, psn * 50);
        requests += count > 0 && !bench.request.is_retry;
        ranges += bench.request.is_retry ? 0 : count;
    }
    assert_in_range(ranges, 50, 60);
    assert_in_range(requests, 10, 25);
}

static void guesses_are_told_from_proof(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 4, 0);
    take(&bench, 1, 10);
    assert_int_equal(ask(&bench, 10 + TIMING.cutoff_ns), 2);
    assert_false(bench.request.is_proven); // 2 and 3 may not have been sent
    co_receive_block_all_sent(&bench.block, 1100);
    assert_int_equal(ask(&bench, 1100), 2); // now in earnest, at once
    assert_true(bench.request.is_proven);
}

// However much is being asked for: the sender is to know it in time.
static void loss_is_counted_when_it_is_noticed(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 400, 0);
    const uint64_t reorder_ns = TIMING.reorder_ns;
    take(&bench, 0, 10);
    take(&bench, 300, 10);
    assert_int_equal(co_loss_detector_count_lost(&bench.block, reorder_ns, 10), 0);
    take(&bench, 5, 20); // late
    assert_int_equal(co_loss_detector_count_lost(&bench.block, reorder_ns, 9 + reorder_ns), 0);
    take(&bench, 310, 30);
    assert_int_equal(co_loss_detector_count_lost(&bench.block, reorder_ns, 10 + reorder_ns), 298);
    assert_int_equal(co_loss_detector_count_lost(&bench.block, reorder_ns, 9 + 2 * reorder_ns), 0);
    assert_int_equal(co_loss_detector_count_lost(&bench.block, reorder_ns, 10 + 2 * reorder_ns), 9);
    assert_int_equal(co_loss_detector_count_lost(&bench.block, reorder_ns, 1000000), 0);
    co_receive_block_all_sent(&bench.block, 1000000);
    co_loss_detector_count_lost(&bench.block, reorder_ns, 1000000);
    assert_int_equal(co_loss_detector_count_lost(&bench.block, reorder_ns, 1000000 + reorder_ns), 89);
}

// Who guesses is told how much has been sent: what is missing of that is asked for in earnest, and by itself.
static void who_is_told_asks_in_earnest(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 20, 0);
    take(&bench, 0, 10);
    uint64_t now_ns = 10 + 20 * TIMING.cutoff_ns;
    assert_int_equal(ask(&bench, now_ns), 1);
    assert_false(bench.request.is_proven);
    co_receive_block_told(&bench.block, 1, now_ns); // which was known
    assert_int_equal(ask(&bench, now_ns + TIMING.reorder_ns), 0);
    co_receive_block_told(&bench.block, 5, now_ns);
    assert_int_equal(ask(&bench, now_ns + TIMING.reorder_ns - 1), 0);
    assert_int_equal(ask(&bench, now_ns + TIMING.reorder_ns), 1);
    assert_true(bench.request.is_proven);
    assert_int_equal(bench.ranges[0].first, 1);
    assert_int_equal(bench.ranges[0].count, 4);
    now_ns += 21 * TIMING.cutoff_ns;
    while (bench.request.is_proven) { // again and again, and as silence goes on the rest is guessed about, too
        now_ns += TIMING.retry_ns;
        ask(&bench, now_ns);
    }
    assert_int_equal(bench.ranges[0].first, 5);
    do { // but what is certain is never asked for together with it
        assert_int_equal(ask(&bench, due(&bench)), 1);
        assert_true(bench.request.is_proven);
    } while (bench.block.retries < 20);
    assert_int_equal(bench.ranges[0].count, 4);
}

static void silence_is_that_of_the_next_block(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing later = TIMING;
    later.is_next = false;
    bench_open(&bench, 3, 0);
    assert_true(co_loss_detector_due_ns(&bench.block, &later) == UINT64_MAX);
    assert_int_equal(ask_with(&bench, &later, 1000000, ROOM), 0);
    co_receive_block_is_next(&bench.block, 2000000);
    assert_int_equal(ask(&bench, 2000000 + 5 * TIMING.cutoff_ns - 1), 0);
    assert_int_equal(ask(&bench, 2000000 + 5 * TIMING.cutoff_ns), 1);
}

static void a_short_block_waits_for_the_turns_of_others(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing timing = TIMING;
    for (uint32_t chunks = 4; chunks <= 40; chunks += 36) {
        bench_open(&bench, chunks, 0);
        take(&bench, 0, 10);
        timing.busy_ns = 0;
        uint64_t due_ns = co_loss_detector_due_ns(&bench.block, &timing);
        timing.busy_ns = 10 + TIMING.cutoff_ns / 2;
        uint64_t later_ns = co_loss_detector_due_ns(&bench.block, &timing);
        assert_int_equal(later_ns - due_ns,
                         chunks == 4 ? TIMING.cutoff_ns / 2 : 0); // the end of the other is announced
        timing.busy_ns = 1000 * TIMING.cutoff_ns;
        assert_true(co_loss_detector_due_ns(&bench.block, &timing) < 50 * TIMING.cutoff_ns); // but not for ever
        timing.is_in_turn = true; // not everybody has had his turn since, however long that takes
        assert_int_equal(co_loss_detector_due_ns(&bench.block, &timing) > timing.busy_ns, chunks == 4);
        timing.is_in_turn = false;
    }
}

static void who_hears_nothing_asks_at_once(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing deaf = TIMING;
    deaf.is_deaf = true;
    bench_open(&bench, 20, 500);
    assert_int_equal(co_loss_detector_due_ns(&bench.block, &deaf), 500);
    assert_int_equal(ask_with(&bench, &deaf, 500, ROOM), 1);
    assert_range(&bench, 0, 0, 20);
}

// Of 20 chunks one comes at 10, and at 110 request `number` asks for those before it.
static void open_and_ask(struct bench *bench, struct co_loss_timing *timing, uint32_t psn, uint32_t number)
{
    bench_open(bench, 20, 0);
    take(bench, psn, 10);
    timing->request = number;
    ask_with(bench, timing, 10, ROOM);
    assert_int_equal(ask_with(bench, timing, 110, ROOM), 1);
}

// What went unanswered is probed for by one chunk, whose answer tells about all that was asked for before.
static void one_chunk_tells_about_all(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing timing = TIMING;
    timing.probe_ns = 1000;
    open_and_ask(&bench, &timing, 10, 3);
    assert_range(&bench, 0, 0, 10);
    timing.request = 4;
    assert_int_equal(ask_with(&bench, &timing, 1109, ROOM), 0);
    assert_int_equal(ask_with(&bench, &timing, 1110, ROOM), 1);
    assert_range(&bench, 0, 0, 1);
    co_receive_block_accept(&bench.block, 0, true, 1200);
    timing.request = 5;
    assert_int_equal(ask_with(&bench, &timing, 1200, ROOM), 0);
    timing.answered = 4;
    assert_int_equal(ask_with(&bench, &timing, 1200, ROOM), 1);
    assert_range(&bench, 0, 1, 9);
}

static void what_waits_at_the_neighbour_is_given_time(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing timing = TIMING;
    timing.probe_ns = 1000;
    open_and_ask(&bench, &timing, 10, 3);
    bench.block.is_deferred = true;
    timing.request = 5;
    timing.answered = 4;
    assert_int_equal(ask_with(&bench, &timing, 110 + 2 * TIMING.retry_ns - 1, ROOM), 0);
    assert_int_equal(ask_with(&bench, &timing, 110 + 2 * TIMING.retry_ns, ROOM), 1);
    assert_range(&bench, 0, 0, 10);
    assert_false(bench.block.is_deferred); // until it is told again
}

// Blocks whose sources may not have begun have one patience, that of the first of them.
static void who_waits_behind_another_is_not_asked_for_by_the_clock(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing behind = TIMING;
    behind.is_behind = true;
    behind.request = 3;
    bench_open(&bench, 5, 0);
    assert_int_equal(ask_with(&bench, &behind, 5 * TIMING.cutoff_ns, ROOM), 1);
    assert_true(co_receive_block_is_awaited(&bench.block));
    assert_true(co_loss_detector_due_ns(&bench.block, &behind) == UINT64_MAX);
    behind.request = 9;
    behind.answered = 8; // not its own: that is lost
    assert_int_equal(ask_with(&bench, &behind, 1000000, ROOM), 1);
    behind.request = 10;
    behind.answered = 9;
    bench.block.is_deferred = true;
    assert_int_equal(ask_with(&bench, &behind, 2000000, ROOM), 0);
    assert_int_equal(ask_with(&bench, &TIMING, 2000000, ROOM), 1); // it is the first now
    take(&bench, 1, 2000001);                                      // its source has begun: it has its own patience
    bench.block.is_deferred = true;
    assert_int_equal(ask_with(&bench, &behind, 3000000, ROOM), 1);
}

static void blocks_share_what_the_neighbour_sends_unpaced(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing timing = TIMING;
    timing.is_deaf = true;
    timing.under_way = BUDGET / 2 + 1;
    bench_open(&bench, 500, 10);
    assert_int_equal(ask_with(&bench, &timing, 10, ROOM), 0);
    timing.under_way = 50;
    assert_int_equal(ask_with(&bench, &timing, 10, ROOM), 1);
    assert_range(&bench, 0, 0, BUDGET - 50);
    assert_int_equal(co_receive_block_under_way(&bench.block), BUDGET - 50);
    bench.block.is_deferred = true;
    assert_int_equal(co_receive_block_under_way(&bench.block), 0);
}

static void what_is_not_answered_chokes_all_but_the_clock(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing timing = TIMING;
    timing.is_choked = true;
    timing.request = 30;
    timing.answered = 8;
    bench_open(&bench, 20, 0);
    take(&bench, 10, 10);
    ask_with(&bench, &timing, 10, ROOM);
    assert_int_equal(ask_with(&bench, &timing, 110, ROOM), 0);
    timing.is_choked = false;
    assert_int_equal(ask_with(&bench, &timing, 110, ROOM), 1);
    timing.is_choked = true;
    timing.answered = 31; // overtaken
    assert_int_equal(ask_with(&bench, &timing, 110 + TIMING.retry_ns - 1, ROOM), 0);
    assert_int_equal(ask_with(&bench, &timing, 110 + TIMING.retry_ns, ROOM), 1);
}

// First transmissions that stream by are no answers: patience grows although they come.
static void only_repairs_end_the_patience(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 500, 0);
    unsigned retries = 0;
    for (uint32_t psn = 1; psn < 400; psn++) {
        uint64_t now_ns = psn * TIMING.retry_ns / 10;
        take(&bench, psn, now_ns);
        ask(&bench, now_ns);
        retries += bench.request.is_retry;
    }
    assert_in_range(retries, 8, 10); // after 1, 1, 1, 1, 1, 2, 4, 8, 16 times the retry time
}

// They may be another group's, which has no end.
static void repairs_of_others_hide_what_is_lost_for_a_while(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing timing = TIMING;
    timing.is_deaf = true;
    bench_open(&bench, 20, 10);
    assert_int_equal(ask_with(&bench, &timing, 10, ROOM), 1);
    uint64_t now_ns = 10 + TIMING.retry_ns, asked = 0;
    timing.repaired_ns = now_ns;
    assert_int_equal(ask_with(&bench, &timing, now_ns, ROOM), 0); // what was asked for may be behind that
    for (; asked == 0 && now_ns < 1000 * UINT64_C(1000000); now_ns += TIMING.probe_ns / 2) {
        timing.repaired_ns = now_ns;
        asked = ask_with(&bench, &timing, now_ns, ROOM);
    }
    assert_int_equal(asked, 1);
    assert_true(bench.request.is_retry);
    assert_true(now_ns < 100 * UINT64_C(1000000));
}

// An answer to a later request has come: what this one asked for is lost again, known long before its time is over.
static void overtaken_requests_are_repeated(void **state)
{
    (void)state;
    struct bench bench;
    struct co_loss_timing timing = TIMING;
    open_and_ask(&bench, &timing, 1, 7);
    uint64_t at = 110 + TIMING.rtt_ns + TIMING.reorder_ns;
    timing.answered = 7; // its own
    assert_int_equal(ask_with(&bench, &timing, at, ROOM), 0);
    timing.request = 9;
    timing.answered = 8;
    assert_int_equal(ask_with(&bench, &timing, at - 1, ROOM), 0);
    assert_int_equal(ask_with(&bench, &timing, at, ROOM), 1);
    assert_true(bench.request.is_retry);
    assert_range(&bench, 0, 0, 1);
    assert_int_equal(bench.block.retries, 0);                     // the way is open: no patience
    assert_int_equal(ask_with(&bench, &timing, at + 1, ROOM), 0); // once
    timing.answered = 9;
    assert_int_equal(ask_with(&bench, &timing, 2 * at, ROOM), 0); // its own again
    timing.answered = 10;
    assert_int_equal(ask_with(&bench, &timing, 2 * at, ROOM), 1);
}

// The next request, when it is due, which is for what had been asked for.
static void ask_again(struct bench *bench, uint32_t chunks)
{
    uint32_t asked = 0;
    unsigned count;
    do {
        count = ask(bench, due(bench));
    } while (count == 0); // it only saw that the end has come
    for (unsigned i = 0; i < count; i++) {
        asked += bench->ranges[i].count;
    }
    assert_true(bench->request.is_retry);
    assert_int_equal(asked, chunks);
}

// The window of repairs halves by it: once for each time that it was all asked for, however many tries tell that it was
// lost. The first two are for single chunks.
static void what_is_lost_again_is_said_once(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, 11, 0); // of which the last is there: no tail
    take(&bench, 0, 10);
    take(&bench, 10, 10);
    ask(&bench, 10);
    assert_int_equal(ask(&bench, due(&bench)), 1);
    assert_range(&bench, 0, 1, 9);
    assert_int_equal(bench.request.lost, 0);
    ask_again(&bench, 1);
    assert_int_equal(bench.request.lost, 9);
    assert_false(bench.request.is_cut); // none has come
    ask_again(&bench, 1);
    assert_int_equal(bench.request.lost, 0); // it has been said
    ask_again(&bench, 9);
    assert_int_equal(bench.request.lost, 0);
    ask_again(&bench, 9);
    assert_int_equal(bench.request.lost, 9); // once more
    assert_false(bench.request.is_cut);
    uint64_t now_ns = due(&bench);
    for (uint32_t psn = 1; psn < 5; psn++) {
        co_receive_block_accept(&bench.block, psn, true, now_ns);
    }
    ask_again(&bench, 1); // for who has come ends the patience
    assert_true(bench.request.lost == 5 && bench.request.is_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_gather_while_chunks_stream_in),
        cmocka_unit_test(guesses_are_told_from_proof),
        cmocka_unit_test(loss_is_counted_when_it_is_noticed),
        cmocka_unit_test(who_is_told_asks_in_earnest),
        cmocka_unit_test(silence_is_that_of_the_next_block),
        cmocka_unit_test(a_short_block_waits_for_the_turns_of_others),
        cmocka_unit_test(who_hears_nothing_asks_at_once),
        cmocka_unit_test(repairs_of_others_hide_what_is_lost_for_a_while),
        cmocka_unit_test(overtaken_requests_are_repeated),
        cmocka_unit_test(what_is_lost_again_is_said_once),
        cmocka_unit_test(only_repairs_end_the_patience),
        cmocka_unit_test(one_chunk_tells_about_all),
        cmocka_unit_test(what_waits_at_the_neighbour_is_given_time),
        cmocka_unit_test(who_waits_behind_another_is_not_asked_for_by_the_clock),
        cmocka_unit_test(blocks_share_what_the_neighbour_sends_unpaced),
        cmocka_unit_test(what_is_not_answered_chokes_all_but_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
