// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks of a transfer: all bytes once, whatever their number; immediate data; what is missing as ranges; the pace.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/chunk_bitmap.h"
#include "onesided/transfer_plan.h"

static void all_bytes_once(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {
        1, 65535, 65536, 65537, 128 << 20, 134217729, UINT64_C(5) << 33, CO_TRANSFER_BYTES_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t sum = 0;
        uint32_t chunks = co_transfer_chunks(sizes[i]);
        assert_in_range(chunks, 1, CO_TRANSFER_CHUNKS_MAX);
        for (uint32_t chunk = 0; chunk < chunks; chunk++) {
            assert_int_equal(sum, (uint64_t)chunk * co_transfer_chunk_bytes(sizes[i]));
            sum += co_transfer_bytes_of(sizes[i], chunk);
        }
        assert_int_equal(sum, sizes[i]);
    }
    assert_int_equal(co_transfer_chunk_bytes(128 << 20), 65536);
    assert_int_equal(co_transfer_chunk_bytes((128 << 20) + 1), 69632);
}

// The coordinator may say anything: no end writes or reads behind its buffer for it.
static void set_ups_that_were_not_asked_for(void **state)
{
    (void)state;
    struct co_coordination_setup setup = {.bytes = 4000, .members = 3};
    assert_true(co_transfer_setup_fits(&setup, true, 4000, 3));
    assert_true(co_transfer_setup_fits(&setup, false, 4000, 0));
    assert_true(co_transfer_setup_fits(&setup, false, 4001, 0));
    assert_false(co_transfer_setup_fits(&setup, false, 3999, 0));
    assert_false(co_transfer_setup_fits(&setup, true, 3999, 3));
    assert_false(co_transfer_setup_fits(&setup, true, 4001, 3));
    assert_false(co_transfer_setup_fits(&setup, true, 4000, 2));
    assert_false(co_transfer_setup_fits(&setup, true, 4000, 4));
    setup.bytes = 0;
    assert_false(co_transfer_setup_fits(&setup, false, 4000, 0));
    setup.bytes = CO_TRANSFER_BYTES_MAX + 1;
    assert_false(co_transfer_setup_fits(&setup, false, UINT64_MAX, 0));
}

static void immediate_data(void **state)
{
    (void)state;
    uint32_t chunk;
    assert_true(co_transfer_take_immediate(co_transfer_immediate(258, 7), 258, 8, &chunk));
    assert_int_equal(chunk, 7);
    assert_false(co_transfer_take_immediate(co_transfer_immediate(257, 7), 258, 8, &chunk));
    assert_false(co_transfer_take_immediate(co_transfer_immediate(258, 8), 258, 8, &chunk));
    assert_false(co_transfer_take_immediate(UINT32_MAX, 255, 2048, &chunk));
}

static void missing_as_ranges(void **state)
{
    (void)state;
    static struct co_coordination_missing missing;
    uint64_t bitmap[3] = {0};
    co_transfer_list_missing(&missing, bitmap, 130);
    assert_int_equal(missing.missing, 130);
    assert_int_equal(missing.range_count, 1);
    assert_int_equal(missing.ranges[0].count, 130);
    memset(bitmap, 0xff, sizeof bitmap);
    co_transfer_list_missing(&missing, bitmap, 130);
    assert_int_equal(missing.missing, 0);
    assert_int_equal(missing.range_count, 0);
    co_chunk_bitmap_clear(bitmap, 0);
    co_chunk_bitmap_clear(bitmap, 63);
    co_chunk_bitmap_clear(bitmap, 64);
    co_chunk_bitmap_clear(bitmap, 129);
    co_transfer_list_missing(&missing, bitmap, 130);
    assert_int_equal(missing.missing, 4);
    assert_int_equal(missing.range_count, 3);
    assert_int_equal(missing.ranges[1].first, 63);
    assert_int_equal(missing.ranges[1].count, 2);
    assert_int_equal(missing.ranges[2].first, 129);
}

// Every other chunk of the most that there are: all ranges fit in a message.
static void as_many_ranges_as_can_be(void **state)
{
    (void)state;
    static struct co_coordination_missing missing;
    uint64_t bitmap[CO_TRANSFER_CHUNKS_MAX / 64];
    memset(bitmap, 0x55, sizeof bitmap);
    co_transfer_list_missing(&missing, bitmap, CO_TRANSFER_CHUNKS_MAX);
    assert_int_equal(missing.missing, CO_TRANSFER_CHUNKS_MAX / 2);
    assert_int_equal(missing.range_count, CO_TRANSFER_CHUNKS_MAX / 2);
}

static void the_pace(void **state)
{
    (void)state;
    struct co_transfer_pace pace = {0};
    co_transfer_pace_learn(&pace, 1000, 1000000, 20);
    assert_int_equal(pace.pause_ns, 0);
    co_transfer_pace_learn(&pace, 1000, 1000000, 500);
    assert_int_equal(pace.pause_ns, 1000);
    co_transfer_pace_learn(&pace, 100, 200000, 50);
    assert_int_equal(pace.pause_ns, 3000);
    co_transfer_pace_learn(&pace, 1, 200000, 1); // one lost packet says nothing
    co_transfer_pace_learn(&pace, 0, 0, 0);
    assert_int_equal(pace.pause_ns, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_once),           cmocka_unit_test(set_ups_that_were_not_asked_for),
        cmocka_unit_test(immediate_data),           cmocka_unit_test(missing_as_ranges),
        cmocka_unit_test(as_many_ranges_as_can_be), cmocka_unit_test(the_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
