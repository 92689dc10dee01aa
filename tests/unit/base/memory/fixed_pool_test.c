// SPDX-License-Identifier: BSD-3-Clause
//
// The pool: objects do not overlap, a full pool answers NULL and counts, what is given back comes again.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory/fixed_pool.h"

enum { COUNT = 37, BYTES = 21 };

static void objects_do_not_overlap(void **state)
{
    struct co_fixed_pool pool;
    unsigned char *objects[COUNT];

    (void)state;
    assert_int_equal(co_fixed_pool_open(&pool, BYTES, COUNT), 0);
    for (int i = 0; i < COUNT; i++) {
        objects[i] = co_fixed_pool_take(&pool);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
        memset(objects[i], i, BYTES);
    }
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < BYTES; j++) {
            assert_int_equal(objects[i][j], i);
        }
    }
    co_fixed_pool_close(&pool);
    assert_null(pool.memory);
}

static void a_full_pool_says_so(void **state)
{
    struct co_fixed_pool pool;
    void *objects[3];

    (void)state;
    assert_int_equal(co_fixed_pool_open(&pool, 8, 3), 0);
    for (int i = 0; i < 3; i++) {
        objects[i] = co_fixed_pool_take(&pool);
    }
    assert_int_equal(pool.overflows, 0);
    assert_null(co_fixed_pool_take(&pool));
    assert_null(co_fixed_pool_take(&pool));
    assert_int_equal(pool.overflows, 2);
    assert_int_equal(pool.in_use, 3);
    co_fixed_pool_give(&pool, objects[1]);
    assert_ptr_equal(co_fixed_pool_take(&pool), objects[1]);
    assert_null(co_fixed_pool_take(&pool));
    co_fixed_pool_close(&pool);
}

static void what_is_given_back_comes_again(void **state)
{
    struct co_fixed_pool pool;
    void *held[COUNT] = {NULL};
    uint32_t random = 12345;
    size_t in_use = 0;

    (void)state;
    assert_int_equal(co_fixed_pool_open(&pool, sizeof(void *), COUNT), 0);
    for (int i = 0; i < 20000; i++) {
        random = random * 1664525 + 1013904223;
        size_t at = (random >> 16) % COUNT;
        if (held[at]) {
            assert_memory_equal(held[at], &held[at], sizeof held[at]);
            co_fixed_pool_give(&pool, held[at]);
            held[at] = NULL;
            in_use--;
        } else {
            held[at] = co_fixed_pool_take(&pool);
            assert_non_null(held[at]);
            memcpy(held[at], &held[at], sizeof held[at]); // its own address: a second owner would destroy it
            in_use++;
        }
        assert_int_equal(pool.in_use, in_use);
    }
    assert_int_equal(pool.overflows, 0);
    assert_in_range(pool.high_water, in_use, COUNT);
    co_fixed_pool_give(&pool, NULL);
    assert_int_equal(pool.in_use, in_use);
    co_fixed_pool_close(&pool);
}

static void pages_wait_until_they_are_needed(void **state)
{
    struct co_fixed_pool pool;

    (void)state;
    assert_int_equal(co_fixed_pool_open(&pool, 4096, 1000), 0);
    co_fixed_pool_give(&pool, co_fixed_pool_take(&pool));
    co_fixed_pool_give(&pool, co_fixed_pool_take(&pool));
    assert_int_equal(pool.touched, 1);
    assert_int_equal(pool.high_water, 1);
    co_fixed_pool_close(&pool);
}

static void wrong_sizes_are_refused(void **state)
{
    struct co_fixed_pool pool;

    (void)state;
    assert_int_equal(co_fixed_pool_open(&pool, 0, 1), -EINVAL);
    assert_int_equal(co_fixed_pool_open(&pool, 1, 0), -EINVAL);
    assert_int_equal(co_fixed_pool_open(&pool, SIZE_MAX, 1), -EINVAL);
    assert_int_equal(co_fixed_pool_open(&pool, SIZE_MAX / 4, 8), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_do_not_overlap),           cmocka_unit_test(a_full_pool_says_so),
        cmocka_unit_test(what_is_given_back_comes_again),   cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(pages_wait_until_they_are_needed),
    };

    return cmocka_run_group_tests_name("fixed_pool", tests, NULL, NULL);
}
