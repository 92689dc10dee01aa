// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks of unequal lengths: their measure, the way that they take, and how they are packed and unpacked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/collective/unequal_blocks.h"
#include "engine/collective/team.h"
#include "engine/engine.h"

enum { RANKS = 4 };

static unsigned char bytes[64];

// 3, 0, 5 and 1 bytes, the last rank's first, one byte between them.
static void lay_out(struct co_block blocks[RANKS])
{
    static const size_t lengths[RANKS] = {3, 0, 5, 1};
    size_t at = 8;
    for (int i = RANKS - 1; i >= 0; i--) {
        blocks[i] = (struct co_block){.buffer = bytes + at, .bytes = lengths[i]};
        at += lengths[i] + 1;
    }
}

static void measured(void **state)
{
    (void)state;
    struct co_block blocks[RANKS];
    lay_out(blocks);
    struct co_unequal_blocks_shape shape = co_unequal_blocks_measure(blocks, RANKS);
    assert_int_equal(shape.total, 9);
    assert_int_equal(shape.largest, 5);
    assert_int_equal(shape.senders, 3);
    assert_ptr_equal(co_unequal_blocks_first(blocks, RANKS), bytes + 8);
    assert_false(co_unequal_blocks_are_in_a_row(blocks, RANKS));
    blocks[3].bytes = 0;
    blocks[3].buffer = bytes; // says nothing
    assert_ptr_equal(co_unequal_blocks_first(blocks, RANKS), bytes + 10);
    blocks[2].buffer = (unsigned char *)blocks[0].buffer + 3;
    assert_true(co_unequal_blocks_are_in_a_row(blocks, RANKS));
}

static bool are_padded(bool is_flat, int size, size_t total, size_t largest, int senders)
{
    struct co_team team = {.is_flat = is_flat, .size = size};
    struct co_unequal_blocks_shape shape = {.total = total, .largest = largest, .senders = senders};
    return co_unequal_blocks_are_padded(&team, &shape);
}

static void small_ones_and_equal_ones_are_padded(void **state)
{
    (void)state;
    assert_true(are_padded(false, 4, 100, 60, 3));
    assert_false(are_padded(true, 4, 100, 60, 3));  // each goes at its own length
    assert_false(are_padded(false, 4, 60, 60, 1));  // a broadcast
    assert_true(are_padded(false, 4, 130, 128, 2)); // nearly all of one rank, but short
    assert_false(are_padded(false, 16, 1000, 900, 2));
    assert_true(are_padded(false, 16, 4000, 900, 8));
    assert_false(are_padded(false, 4, 1 << 20, (1 << 18) + 1, 4));
    assert_true(are_padded(false, 4, 1 << 20, 1 << 18, 4)); // equal ones, which are an allgather on other members
    assert_false(are_padded(true, 4, 1 << 20, 1 << 18, 4));
}

static void packed_with_a_stride(void **state)
{
    (void)state;
    struct co_block blocks[RANKS];
    unsigned char packed[RANKS * 5];
    lay_out(blocks);
    memset(bytes, 0, sizeof bytes);
    memset(packed, 0x77, sizeof packed);
    memcpy(blocks[0].buffer, "abc", 3);
    co_unequal_blocks_pack_own(packed, 5, blocks, 0);
    assert_memory_equal(packed, "abc\0\0\x77", 6); // and nothing of what stands behind it
    memcpy(packed + 10, "12345", 5);
    memcpy(packed + 15, "z", 1);
    co_unequal_blocks_unpack_others(packed, 5, blocks, RANKS, 0);
    assert_memory_equal(bytes + 7,
                        "\0z\0"
                        "12345\0\0"
                        "abc\0",
                        14);
}

static void placed_for_the_network(void **state)
{
    (void)state;
    struct co_block blocks[RANKS];
    struct co_mcast_place places[RANKS];
    lay_out(blocks);
    co_unequal_blocks_place(places, blocks, RANKS, bytes + 8);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(places[i].bytes, blocks[i].bytes);
        assert_true(blocks[i].bytes == 0 || bytes + 8 + places[i].offset == (unsigned char *)blocks[i].buffer);
    }
    co_unequal_blocks_place(places, blocks, RANKS, NULL);
    size_t at = 0;
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(places[i].offset, blocks[i].bytes == 0 ? 0 : at);
        at += blocks[i].bytes;
    }
}

static void packed_in_a_row(void **state)
{
    (void)state;
    struct co_block blocks[RANKS];
    unsigned char packed[9 + 1];
    lay_out(blocks);
    memset(bytes, 0, sizeof bytes);
    memset(packed, 0x77, sizeof packed);
    memcpy(blocks[2].buffer, "12345", 5);
    co_unequal_blocks_pack_own(packed, 0, blocks, 2);
    assert_memory_equal(packed,
                        "\x77\x77\x77"
                        "12345"
                        "\x77\x77",
                        10);
    memcpy(packed, "abc", 3);
    packed[8] = 'z';
    co_unequal_blocks_unpack_others(packed, 0, blocks, RANKS, 2);
    assert_memory_equal(bytes + 7,
                        "\0z\0"
                        "12345\0\0"
                        "abc\0",
                        14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured),
        cmocka_unit_test(small_ones_and_equal_ones_are_padded),
        cmocka_unit_test(packed_with_a_stride),
        cmocka_unit_test(packed_in_a_row),
        cmocka_unit_test(placed_for_the_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
