// SPDX-License-Identifier: BSD-3-Clause
//
// Chunk bitmaps against an array of bool: every start, every end, both searches, at the seams of the words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/chunk_bitmap.h"

enum { BITS = 200 };

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(co_chunk_bitmap_words(0), 0);
    assert_int_equal(co_chunk_bitmap_words(1), 1);
    assert_int_equal(co_chunk_bitmap_words(64), 1);
    assert_int_equal(co_chunk_bitmap_words(65), 2);
    assert_int_equal(co_chunk_bitmap_words(UINT32_MAX), (size_t)1 << 26);
}

static void set_tells_news_once(void **state)
{
    (void)state;
    uint64_t words[4] = {0};
    for (uint32_t bit = 0; bit < BITS; bit++) {
        assert_false(co_chunk_bitmap_has(words, bit));
        assert_true(co_chunk_bitmap_set(words, bit));
        assert_false(co_chunk_bitmap_set(words, bit));
        assert_true(co_chunk_bitmap_has(words, bit));
    }
    co_chunk_bitmap_clear(words, 64);
    assert_false(co_chunk_bitmap_has(words, 64));
    assert_true(co_chunk_bitmap_has(words, 63) && co_chunk_bitmap_has(words, 65));
}

static uint32_t plain_find(const bool *bits, uint32_t from, uint32_t limit, bool want)
{
    while (from < limit && bits[from] != want) {
        from++;
    }
    return from < limit ? from : limit;
}

static void searches_against_an_array(void **state)
{
    (void)state;
    srand(3);
    for (int density = 0; density <= 8; density++) {
        uint64_t words[4] = {0};
        bool bits[BITS] = {false};
        for (uint32_t i = 0; i < BITS; i++) {
            if (rand() % 8 < density) {
                co_chunk_bitmap_set(words, i);
                bits[i] = true;
            }
        }
        memset((unsigned char *)words + 25, density % 2 ? 0xff : 0,
               sizeof(words) - 25); // beyond the end: not looked at
        for (uint32_t from = 0; from <= BITS; from++) {
            uint32_t clear = 0;
            for (uint32_t limit = from; limit <= BITS; limit++) {
                assert_int_equal(co_chunk_bitmap_find(words, from, limit, true), plain_find(bits, from, limit, true));
                assert_int_equal(co_chunk_bitmap_find(words, from, limit, false), plain_find(bits, from, limit, false));
                assert_int_equal(co_chunk_bitmap_count_clear(words, from, limit), clear);
                clear += limit < BITS && !bits[limit];
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(set_tells_news_once),
        cmocka_unit_test(searches_against_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
