// SPDX-License-Identifier: BSD-3-Clause
//
// Heads that are compared in place of being decoded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/wire/wire.h"

// Compared to the head of another chunk, a head is looked at as a whole.
static void of_the_same_block(void **state)
{
    (void)state;
    struct co_chunk chunk = {
        .source = 0x1234, .chunk_bytes = 64, .team = 0x12345678, .operation = 0x89abcdef, .block_bytes = 301};
    uint8_t head[CO_WIRE_HEAD_BYTES], other[CO_WIRE_HEAD_BYTES];
    co_wire_chunk_encode(other, &chunk);
    chunk.psn = 3;
    chunk.credit_shift = CO_WIRE_CREDIT_SHIFT_MAX; // changes from chunk to chunk
    co_wire_chunk_encode(head, &chunk);
    assert_true(co_wire_is_first_of(head, other, 3));
    assert_false(co_wire_is_first_of(head, other, 2));
    for (unsigned bit = 0; bit < 8 * sizeof(head); bit++) {
        head[bit / 8] ^= (uint8_t)(1 << bit % 8);
        struct co_chunk back;
        bool is_other_shift =
            bit / 8 == 1 && co_wire_chunk_decode(&back, head, sizeof(head) + 64) == 0 && !back.is_repair;
        assert_int_equal(co_wire_is_first_of(head, other, 3), is_other_shift);
        head[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

// Which way later ones go stands above the block's bytes, of which nothing is lost.
static void way_bytes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 301, CO_WIRE_BLOCK_BYTES_MAX};
    for (unsigned i = 0; i < 3 * CO_WAY_END; i++) {
        struct co_chunk chunk = {.chunk_bytes = 64, .block_bytes = sizes[i / CO_WAY_END], .way = i % CO_WAY_END}, back;
        uint8_t data[CO_WIRE_HEAD_BYTES + 64] = {0}, unsaid[CO_WIRE_HEAD_BYTES];
        size_t bytes = CO_WIRE_HEAD_BYTES + (chunk.block_bytes < 64 ? chunk.block_bytes : 64);
        co_wire_chunk_encode(data, &chunk);
        assert_int_equal(co_wire_chunk_decode(&back, data, bytes), 0);
        assert_int_equal(back.way, chunk.way);
        assert_true(back.block_bytes == chunk.block_bytes);
        chunk.way = CO_WAY_UNSAID;
        co_wire_chunk_encode(unsaid, &chunk);
        assert_int_equal(data[21] ^ unsaid[21], back.way << 6);
        data[21] = unsaid[21];
        assert_memory_equal(data, unsaid, sizeof(unsaid));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_the_same_block), cmocka_unit_test(way_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
