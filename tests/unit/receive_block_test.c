// SPDX-License-Identifier: BSD-3-Clause
//
// When a block asks for what: gaps and their age, the cutoff from the last chunk on, the tail that turns out to be
// late, retries that double, the budget, the announced end; and random schedules, whose requests must be exact.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/chunk_bitmap.h"
#include "mcast/receive_block.h"

#define CHUNKS_MAX 2048
#define ROOM 128

static const struct co_repair_timing TIMING = {.cutoff_ns = 1000, .retry_ns = 5000, .reorder_ns = 100};

struct bench {
    struct co_receive_block block;
    uint64_t words[CHUNKS_MAX / 64];
    struct co_fetch_range ranges[ROOM];
    bool is_retry;
};

static void bench_open(struct bench *bench, uint32_t chunks, uint64_t now_ns)
{
    memset(bench, 0, sizeof(*bench));
    co_receive_block_open(&bench->block, bench->words, 0, (size_t)chunks * 10, chunks, now_ns);
}

static bool take(struct bench *bench, uint32_t psn, uint64_t now_ns)
{
    return co_receive_block_accept(&bench->block, psn, false, now_ns);
}

static unsigned ask(struct bench *bench, uint64_t now_ns)
{
    return co_receive_block_request(&bench->block, &TIMING, now_ns, bench->ranges, ROOM, &bench->is_retry);
}

static uint64_t due(const struct bench *bench)
{
    return co_receive_block_due_ns(&bench->block, &TIMING);
}

static void assert_range(const struct bench *bench, unsigned index, uint32_t first, uint32_t count)
{
    assert_int_equal(bench->ranges[index].first, first);
    assert_int_equal(bench->ranges[index].count, count);
}

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
    assert_int_equal(ask(&bench, 119), 0);
    assert_int_equal(ask(&bench, 120), 1);
    assert_range(&bench, 0, 2, 1);
    assert_false(bench.is_retry);
    assert_int_equal(ask(&bench, 121), 0); // once
    take(&bench, 5, 130);
    assert_int_equal(ask(&bench, 131), 0);
    assert_int_equal(ask(&bench, 231), 1); // only the new gap
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
    assert_int_equal(ask(&bench, 1000 + 20 * TIMING.retry_ns), 2);
    assert_true(bench.is_retry);
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
    uint64_t at = 110, wait = TIMING.retry_ns;
    for (int i = 0; i < 12; i++) {
        assert_int_equal(ask(&bench, at + wait - 1), 0);
        at += wait;
        assert_int_equal(ask(&bench, at), 1);
        assert_true(bench.is_retry);
        assert_range(&bench, 0, 0, 3);
        wait = i == 0 ? 2 * TIMING.retry_ns : wait < 64 * TIMING.retry_ns ? wait * 2 : wait;
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
        assert_true(bench.block.asked_missing <= CO_REQUEST_BUDGET);
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
    unsigned count = co_receive_block_request(&bench.block, &TIMING, 110, bench.ranges, 10, &bench.is_retry);
    assert_int_equal(count, 10);
    assert_range(&bench, 9, 18, 1);
    count = co_receive_block_request(&bench.block, &TIMING, 300, bench.ranges, 10, &bench.is_retry);
    count += count == 0 ? co_receive_block_request(&bench.block, &TIMING, 500, bench.ranges, 10, &bench.is_retry) : 0;
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
    co_receive_block_all_sent(&bench.block);
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

static uint32_t count_missing(const struct bench *bench, uint32_t below)
{
    return co_chunk_bitmap_count_clear(bench->words, 0, below);
}

// Whatever comes when: requests name missing chunks only, in order, without overlap; the counts agree with the bitmap;
// and by its own timer the block always gets on.
static void random_schedule(unsigned seed)
{
    struct bench bench;
    srand(seed);
    uint32_t chunks = 1 + (uint32_t)rand() % (rand() % 2 ? 20 : CHUNKS_MAX);
    bench_open(&bench, chunks, 0);
    uint64_t now = 0;
    uint32_t next = 0;
    int loss = rand() % 100;
    for (int step = 0; !co_receive_block_is_complete(&bench.block); step++) {
        assert_true(step < 200000);
        uint64_t at = due(&bench);
        assert_true(at < UINT64_MAX);
        now += (uint64_t)rand() % 50;
        if (next < chunks && rand() % 20) {
            if (rand() % 100 >= loss) {
                take(&bench, next, now);
            }
            next += 1 + (uint32_t)(rand() % 50 == 0);
            next = next > chunks ? chunks : next;
        } else if (next == chunks) {
            now = at > now ? at : now;
        }
        unsigned count = ask(&bench, now);
        uint32_t from = 0;
        for (unsigned i = 0; i < count; i++) {
            const struct co_fetch_range *range = &bench.ranges[i];
            assert_true(range->count > 0 && range->first >= from && range->first + range->count <= chunks);
            from = range->first + range->count;
            for (uint32_t psn = range->first; psn < from; psn++) {
                assert_false(co_chunk_bitmap_has(bench.words, psn));
                assert_true(psn < bench.block.asked_below);
            }
        }
        for (unsigned i = 0; i < count; i++) {
            for (uint32_t k = 0; k < bench.ranges[i].count; k++) {
                if (rand() % 100 >= loss / 2) {
                    co_receive_block_accept(&bench.block, bench.ranges[i].first + k, true, now);
                }
            }
        }
        assert_int_equal(bench.block.asked_missing, count_missing(&bench, bench.block.asked_below));
        assert_int_equal(bench.block.count, chunks - count_missing(&bench, chunks));
        assert_true(bench.block.asked_missing <= CO_REQUEST_BUDGET);
    }
}

static void any_schedule(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 150; seed++) {
        random_schedule(seed);
    }
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
        cmocka_unit_test(a_late_tail_takes_its_requests_back),
        cmocka_unit_test(repairs_do_not_end_the_tail),
        cmocka_unit_test(retries_double_and_an_arrival_resets_them),
        cmocka_unit_test(never_more_than_the_budget_is_outstanding),
        cmocka_unit_test(more_gaps_than_room),
        cmocka_unit_test(an_announced_end_needs_no_cutoff),
        cmocka_unit_test(announced_blocks_are_patient),
        cmocka_unit_test(any_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
