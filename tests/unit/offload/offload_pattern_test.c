// SPDX-License-Identifier: BSD-3-Clause
//
// Patterns: each member sends to each once and hears from each once, partners agree, and at each step all send to
// different ones. Blocks there and back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_pattern.h"

static void each_member_meets_each_once(void **state)
{
    (void)state;
    for (uint32_t members = 1; members <= 9; members++) {
        for (uint32_t me = 0; me < members; me++) {
            unsigned sent = 0, heard = 0;
            for (uint32_t i = 0; i < members; i++) {
                uint32_t to = co_offload_pattern_to(members, me, i), from = co_offload_pattern_from(members, me, i);
                assert_true(to < members && from < members);
                assert_int_equal(co_offload_pattern_from(members, to, i), me);
                assert_int_equal(co_offload_pattern_to(members, from, i), me);
                assert_int_equal(to == me, i == 0);
                sent |= 1U << to;
                heard |= 1U << from;
            }
            assert_int_equal(sent, (1U << members) - 1);
            assert_int_equal(heard, (1U << members) - 1);
        }
    }
    assert_int_equal(co_offload_pattern_to(UINT32_MAX, UINT32_MAX - 1, 3), 2);
    assert_int_equal(co_offload_pattern_from(UINT32_MAX, 1, 3), UINT32_MAX - 2);
}

static void steps_are_permutations(void **state)
{
    (void)state;
    for (uint32_t members = 1; members <= 9; members++) {
        for (uint32_t i = 0; i < members; i++) {
            unsigned taken = 0;
            for (uint32_t me = 0; me < members; me++) {
                taken |= 1U << co_offload_pattern_to(members, me, i);
            }
            assert_int_equal(taken, (1U << members) - 1);
        }
    }
}

static void blocks(void **state)
{
    (void)state;
    const struct co_offload_blocks blocks = {UINT64_C(0x7f0102030405), 6, UINT64_MAX, UINT64_C(1) << 40};
    static const uint8_t golden[CO_OFFLOAD_BLOCKS_BYTES] = {5,    4,    3, 2, 1, 0x7f, 0,    0,    6,    0,    0,
                                                            0,    0,    0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                            0xff, 0xff, 0, 0, 0, 0,    0,    1,    0,    0};
    uint8_t bytes[CO_OFFLOAD_BLOCKS_BYTES];

    co_offload_blocks_encode(bytes, &blocks);
    assert_memory_equal(bytes, golden, sizeof golden);
    struct co_offload_blocks back = co_offload_blocks_decode(bytes);
    assert_memory_equal(&back, &blocks, sizeof back);
    struct co_offload_blocks equal = co_offload_blocks_equal(1000, 5000, 7, 3);
    assert_true(equal.send_address == 1021 && equal.receive_address == 5021 && equal.send_bytes == 7 &&
                equal.receive_bytes == 7);
    equal = co_offload_blocks_equal(0, 0, UINT64_C(3) << 30, 16383); // no place times bytes in 32 bits
    assert_true(equal.send_address == 16383 * (UINT64_C(3) << 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_member_meets_each_once),
        cmocka_unit_test(steps_are_permutations),
        cmocka_unit_test(blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
