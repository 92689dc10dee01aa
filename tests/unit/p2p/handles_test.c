// SPDX-License-Identifier: BSD-3-Clause
//
// Handles: found until they are removed, never again, also when their place is used anew or the generation wraps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2p/handles.h"

enum { MANY = 1000 };

static void found_until_removed(void **state)
{
    (void)state;
    static int objects[MANY];
    static uint64_t handles[MANY];
    struct co_handles table = {.room = 0};
    for (int i = 0; i < MANY; i++) {
        handles[i] = co_handles_add(&table, &objects[i]);
        assert_true(handles[i] != 0);
    }
    for (int i = 0; i < MANY; i += 2) {
        co_handles_remove(&table, handles[i]);
    }
    for (int i = 0; i < MANY; i++) {
        assert_ptr_equal(co_handles_find(&table, handles[i]), i % 2 == 0 ? NULL : &objects[i]);
    }
    co_handles_close(&table);
}

static void place_used_anew(void **state)
{
    (void)state;
    int first, second;
    struct co_handles table = {.room = 0};
    uint64_t old = co_handles_add(&table, &first);
    co_handles_remove(&table, old);
    uint64_t new = co_handles_add(&table, &second);
    assert_int_equal((uint32_t) new, (uint32_t)old);
    assert_null(co_handles_find(&table, old));
    co_handles_remove(&table, old); // does not hit the other
    assert_ptr_equal(co_handles_find(&table, new), &second);
    co_handles_close(&table);
}

static void generation_wraps(void **state)
{
    (void)state;
    int object;
    struct co_handles table = {.room = 0};
    co_handles_remove(&table, co_handles_add(&table, &object));
    table.cells[0].generation = UINT32_MAX;
    uint64_t last = co_handles_add(&table, &object);
    co_handles_remove(&table, last);
    uint64_t next = co_handles_add(&table, &object);
    assert_true(next != 0);
    assert_null(co_handles_find(&table, last));
    assert_ptr_equal(co_handles_find(&table, next), &object);
    co_handles_close(&table);
}

static void strangers(void **state)
{
    (void)state;
    int object;
    struct co_handles table = {.room = 0};
    assert_null(co_handles_find(&table, 0));
    assert_null(co_handles_find(&table, UINT64_C(1) << 32 | 1));
    uint64_t handle = co_handles_add(&table, &object);
    assert_null(co_handles_find(&table, handle + 1));
    assert_null(co_handles_find(&table, handle & UINT64_C(0xffffffff00000000)));
    co_handles_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_until_removed), cmocka_unit_test(place_used_anew),
                                       cmocka_unit_test(generation_wraps), cmocka_unit_test(strangers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
