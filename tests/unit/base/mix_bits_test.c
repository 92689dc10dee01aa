// SPDX-License-Identifier: BSD-3-Clause
//
// Every host computes the job's groups and port with it, and seeds of faults mean the same in every release: the
// values are those of SplitMix64 for good.
#include "base/mix_bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

// The generator's first outputs from seed 0, as its author publishes them: the finalizer of multiples of its step.
static void it_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t outputs[] = {UINT64_C(0xE220A8397B1DCDAF), UINT64_C(0x6E789E6AA1B965F4),
                                       UINT64_C(0x06C45D188009454F)};
    for (uint64_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        assert_true(co_mix_bits((i + 1) * UINT64_C(0x9E3779B97F4A7C15)) == outputs[i]);
    }
    assert_true(co_mix_bits(0) == 0);
}

static void neighbours_come_out_far_apart(void **state)
{
    (void)state;
    for (uint64_t x = 0; x < 1000; x++) {
        int bits = __builtin_popcountll(co_mix_bits(x) ^ co_mix_bits(x + 1));
        assert_in_range(bits, 10, 54);
    }
}

// Cells looked at until all of so many addresses at equal distances have one, in a table that is less than half full.
static unsigned long looks(uint64_t distance, unsigned bits, unsigned long count)
{
    unsigned char *used = calloc((size_t)1 << bits, 1);
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    unsigned long total = 0;
    assert_non_null(used);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t cell = co_mix_bits_fast((UINT64_C(0x555555a01230) + i * distance) >> 4) & mask;
        for (total++; used[cell] != 0; total++) {
            cell = (cell + 1) & mask;
        }
        used[cell] = 1;
    }
    free(used);
    return total;
}

static void equal_distances_do_not_crowd(void **state)
{
    (void)state; // 1.41 looks each are what chance takes
    for (uint64_t distance = 16; distance <= 1024; distance += 16) {
        for (unsigned bits = 12; bits <= 18; bits += 3) {
            unsigned long count = (1UL << bits) * 45 / 100;
            assert_true(looks(distance, bits, count) < 2 * count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_splitmix64),
        cmocka_unit_test(neighbours_come_out_far_apart),
        cmocka_unit_test(equal_distances_do_not_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
