// SPDX-License-Identifier: BSD-3-Clause
//
// The table of messages: what is put in is found by all of its key, until it is removed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "offload/proxy/proxy_table.h"

enum { NODES = 4000 };

static struct co_proxy_node nodes[NODES];
static struct co_proxy_table table;

static struct co_offload_key key_of(uint32_t i)
{
    return (struct co_offload_key){i % 7, i % 5, i % 3, i % 2, UINT64_C(0x100000000) * (i % 11) + i / 11};
}

static void found_by_the_whole_key(void **state)
{
    (void)state;
    struct co_offload_key key = key_of(0);
    assert_null(co_proxy_table_get(&table, &key));
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i].key = key_of(i);
        assert_int_equal(co_proxy_table_reserve(&table, 1), 0);
        co_proxy_table_put(&table, &nodes[i]);
    }
    for (uint32_t i = 0; i < NODES; i += 2) {
        co_proxy_table_remove(&table, &nodes[i]);
    }
    assert_int_equal(table.count, NODES / 2);
    for (uint32_t i = 0; i < NODES; i++) {
        key = key_of(i);
        assert_ptr_equal(co_proxy_table_get(&table, &key), i % 2 ? &nodes[i] : NULL);
        struct co_offload_key others[] = {key, key, key, key, key};
        others[0].from += 7;
        others[1].to += 5;
        others[2].tag += 3;
        others[3].space += 2;
        others[4].number += UINT64_C(1) << 40;
        for (int k = 0; k < 5; k++) {
            assert_null(co_proxy_table_get(&table, &others[k]));
        }
    }
}

static void remove_odd(void *context, struct co_proxy_table *in, struct co_proxy_node *node)
{
    size_t *seen = context;
    ++*seen;
    if (node->key.number % 2) {
        co_proxy_table_remove(in, node);
    }
}

static void visit_may_remove(void **state)
{
    (void)state;
    size_t seen = 0, again = 0;
    co_proxy_table_visit(&table, remove_odd, &seen);
    assert_int_equal(seen, NODES / 2);
    co_proxy_table_visit(&table, remove_odd, &again);
    assert_int_equal(again, table.count);
    assert_true(again > 0 && again < seen);
    co_proxy_table_close(&table);
    assert_int_equal(table.count, 0);
}

// Where a key of an otherwise empty table stands.
static size_t bucket_with(uint64_t secret, uint32_t i)
{
    struct co_proxy_table other = {.secret = secret};
    struct co_proxy_node node = {.key = key_of(i)};
    size_t bucket = 0;

    assert_int_equal(co_proxy_table_reserve(&other, 1000), 0);
    co_proxy_table_put(&other, &node);
    while (other.buckets[bucket] == NULL) {
        bucket++;
    }
    co_proxy_table_close(&other);
    return bucket;
}

// Keys that share a bucket under one secret do not under another: who does not know it cannot choose such ones.
static void where_a_key_stands_is_a_secret(void **state)
{
    (void)state;
    size_t first = bucket_with(1, 0);
    int together = 0, still_together = 0;
    for (uint32_t i = 1; i < 2 * NODES; i++) {
        bool is_together = bucket_with(1, i) == first;
        together += is_together;
        still_together += is_together && bucket_with(2, i) == bucket_with(2, 0);
    }
    assert_true(together > 2);
    assert_true(still_together <= together / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_the_whole_key),
        cmocka_unit_test(visit_may_remove),
        cmocka_unit_test(where_a_key_stands_is_a_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
