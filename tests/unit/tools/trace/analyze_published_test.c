// SPDX-License-Identifier: BSD-3-Clause
//
// The hash by which a published study of matching spreads its lists.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze_traces.h"
#include "tools/trace/analyze/published.h"

// By RFC 3074's own words: h = T[h ^ key byte], from 0.
static void the_hash_is_the_published_one(void **state)
{
    (void)state;
    assert_int_equal(co_published_hash(CO_CALL_ANY, CO_CALL_ANY, 2), co_published_hash(0, 0, 2));
    unsigned seen[256] = {0}, different = 0;
    for (int32_t source = 0; source < 256; source++) {
        different += seen[co_published_hash(source, 0, 2)]++ == 0;
    }
    assert_int_equal(different, 256); // one byte alone is permuted
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_hash_is_the_published_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
