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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_the_same_block)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
