// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for kept copies: what is given back comes again, and in use and idle together are never more than may be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/state/kept_copies.h"

#define KIB 1024
#define MOST ((size_t)64 * KIB)

static void what_is_given_back_comes_again(void **state)
{
    (void)state;
    struct co_kept_copies kept = {.most = MOST};
    void *first = co_kept_take(&kept, 16 * KIB), *second = co_kept_take(&kept, 13 * KIB);
    memset(first, 1, 16 * KIB);
    memset(second, 2, 13 * KIB);
    assert_int_equal(kept.in_use, 32 * KIB);
    co_kept_give(&kept, first, 16 * KIB);
    co_kept_give(&kept, second, 13 * KIB);
    assert_int_equal(kept.in_use, 0);
    assert_int_equal(kept.idle, 32 * KIB);
    assert_ptr_equal(co_kept_take(&kept, 9 * KIB), second);
    assert_ptr_equal(co_kept_take(&kept, 16 * KIB), first);
    assert_int_equal(kept.idle, 0);
    co_kept_give(&kept, first, 16 * KIB);
    co_kept_give(&kept, second, 9 * KIB);
    co_kept_free_idle(&kept);
    assert_int_equal(kept.idle, 0);
}

static void there_is_never_more_than_may_be(void **state)
{
    (void)state;
    struct co_kept_copies kept = {.most = MOST};
    void *copies[4];
    for (int i = 0; i < 4; i++) {
        copies[i] = co_kept_take(&kept, 16 * KIB);
        assert_non_null(copies[i]);
    }
    assert_null(co_kept_take(&kept, 1));
    for (int i = 0; i < 4; i++) {
        co_kept_give(&kept, copies[i], 16 * KIB);
    }
    void *other = co_kept_take(&kept, 32 * KIB); // what is idle makes room for it
    assert_non_null(other);
    assert_true(kept.in_use + kept.idle <= MOST);
    assert_null(co_kept_take(&kept, 64 * KIB));
    co_kept_give(&kept, other, 32 * KIB);
    co_kept_free_idle(&kept);
}

static void small_ones_are_counted_as_they_are(void **state)
{
    (void)state;
    struct co_kept_copies kept = {.most = MOST};
    void *small = co_kept_take(&kept, 150), *none = co_kept_take(&kept, 0);
    assert_int_equal(kept.in_use, 150);
    co_kept_give(&kept, none, 0);
    co_kept_give(&kept, small, 150);
    assert_int_equal(kept.in_use + kept.idle, 0);
    assert_null(co_kept_take(&kept, SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back_comes_again),
        cmocka_unit_test(there_is_never_more_than_may_be),
        cmocka_unit_test(small_ones_are_counted_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
