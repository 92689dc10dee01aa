// SPDX-License-Identifier: BSD-3-Clause
//
// The map against a plain array over long random runs of put, get and remove, with keys that collide on purpose.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash_map.h"

enum { KEYS = 300 };

static char things[KEYS];

static void an_empty_map_costs_nothing(void **state)
{
    struct co_hash_map map;
    size_t position = 0;

    (void)state;
    co_hash_map_open(&map);
    assert_null(map.slots);
    assert_null(co_hash_map_get(&map, 7));
    assert_null(co_hash_map_remove(&map, 7));
    assert_null(co_hash_map_next(&map, &position, NULL));
    co_hash_map_close(&map);
}

static void any_key_is_allowed(void **state)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63};
    struct co_hash_map map;

    (void)state;
    co_hash_map_open(&map);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(co_hash_map_put(&map, keys[i], &things[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_ptr_equal(co_hash_map_get(&map, keys[i]), &things[i]);
        assert_int_equal(co_hash_map_put(&map, keys[i], &things[9]), -EEXIST);
        assert_ptr_equal(co_hash_map_get(&map, keys[i]), &things[i]);
    }
    assert_null(co_hash_map_get(&map, 2));
    co_hash_map_close(&map);
}

// Finds keys whose home in a map of 16 slots is the last one, so that runs wrap around the end.
static void make_colliding_keys(uint64_t *keys, size_t count)
{
    struct co_hash_map map;
    uint64_t key = 0;

    for (size_t found = 0; found < count; key++) {
        co_hash_map_open(&map);
        assert_int_equal(co_hash_map_put(&map, key, things), 0);
        if (map.slots[15].value) {
            keys[found++] = key;
        }
        co_hash_map_close(&map);
    }
}

static void removal_keeps_runs_whole(void **state)
{
    struct co_hash_map map;
    uint64_t keys[12];

    (void)state;
    make_colliding_keys(keys, 12);
    for (size_t removed = 0; removed < 12; removed++) {
        co_hash_map_open(&map);
        for (size_t i = 0; i < 12; i++) {
            assert_int_equal(co_hash_map_put(&map, keys[i], &things[i]), 0);
        }
        assert_int_equal(map.slot_count, 16);
        assert_ptr_equal(co_hash_map_remove(&map, keys[removed]), &things[removed]);
        assert_null(co_hash_map_remove(&map, keys[removed]));
        for (size_t i = 0; i < 12; i++) {
            assert_ptr_equal(co_hash_map_get(&map, keys[i]), i == removed ? NULL : &things[i]);
        }
        co_hash_map_close(&map);
    }
}

static void check_visits(const struct co_hash_map *map, void *const *mirror, uint64_t factor)
{
    size_t position = 0, visited = 0;
    uint64_t key;
    void *value;

    while ((value = co_hash_map_next(map, &position, &key))) {
        assert_ptr_equal(mirror[key / factor], value);
        visited++;
    }
    assert_int_equal(visited, map->count);
}

static void agrees_with_an_array(void **state)
{
    static const uint64_t factors[] = {1, 16, 4096, UINT64_C(0x100000000)};

    (void)state;
    for (size_t run = 0; run < 4; run++) {
        struct co_hash_map map;
        void *mirror[KEYS] = {NULL};
        uint32_t random = 99 + (uint32_t)run;
        size_t count = 0;
        co_hash_map_open(&map);
        for (int i = 0; i < 20000; i++) {
            random = random * 1664525 + 1013904223;
            size_t at = (random >> 12) % KEYS;
            uint64_t key = at * factors[run];
            assert_ptr_equal(co_hash_map_get(&map, key), mirror[at]);
            if (mirror[at]) {
                assert_ptr_equal(co_hash_map_remove(&map, key), mirror[at]);
                mirror[at] = NULL;
                count--;
            } else {
                assert_int_equal(co_hash_map_put(&map, key, &things[at]), 0);
                mirror[at] = &things[at];
                count++;
            }
            assert_int_equal(map.count, count);
        }
        check_visits(&map, mirror, factors[run]);
        co_hash_map_close(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_costs_nothing),
        cmocka_unit_test(any_key_is_allowed),
        cmocka_unit_test(removal_keeps_runs_whole),
        cmocka_unit_test(agrees_with_an_array),
    };

    return cmocka_run_group_tests_name("hash_map", tests, NULL, NULL);
}
