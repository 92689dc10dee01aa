// SPDX-License-Identifier: BSD-3-Clause
//
// Requests of a block under random schedules of loss and delay: they must be exact.
#include "receive_bench.h"

#include <stdlib.h>

#include "base/chunk_bitmap.h"

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
            const struct co_nack_range *range = &bench.ranges[i];
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
        assert_true(bench.block.asked_missing <= BUDGET);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_schedule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
