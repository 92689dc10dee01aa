// SPDX-License-Identifier: BSD-3-Clause
//
// Hash table by message; see the header.
#include "offload/proxy/proxy_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/mix_bits.h"

enum { BUCKETS_FIRST = 64 };

static struct co_proxy_node **bucket_of(const struct co_proxy_table *table, const struct co_offload_key *key)
{
    uint64_t hash = co_mix_bits(table->secret ^ ((uint64_t)key->from << 32 | key->to));
    hash = co_mix_bits(hash ^ key->tag) + key->space;
    return &table->buckets[(size_t)co_mix_bits(hash ^ key->number) & (table->bucket_count - 1)];
}

static void put(struct co_proxy_table *table, struct co_proxy_node *node)
{
    struct co_proxy_node **bucket = bucket_of(table, &node->key);
    node->next = *bucket;
    *bucket = node;
}

int co_proxy_table_reserve(struct co_proxy_table *table, size_t more)
{
    struct co_proxy_table larger = {.bucket_count = table->bucket_count ? table->bucket_count : BUCKETS_FIRST,
                                    .secret = table->secret};

    while (larger.bucket_count < table->count + more) {
        larger.bucket_count *= 2;
    }
    if (larger.bucket_count == table->bucket_count) {
        return 0;
    }
    larger.buckets = calloc(larger.bucket_count, sizeof(struct co_proxy_node *));
    if (larger.buckets == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (struct co_proxy_node *node = table->buckets[i], *next; node != NULL; node = next) {
            next = node->next;
            put(&larger, node);
        }
    }
    larger.count = table->count;
    free(table->buckets);
    *table = larger;
    return 0;
}

void co_proxy_table_put(struct co_proxy_table *table, struct co_proxy_node *node)
{
    assert(table->count < table->bucket_count);
    put(table, node);
    table->count++;
}

struct co_proxy_node *co_proxy_table_get(const struct co_proxy_table *table, const struct co_offload_key *key)
{
    struct co_proxy_node *node = table->bucket_count > 0 ? *bucket_of(table, key) : NULL;
    while (node != NULL && !co_offload_key_equals(&node->key, key)) {
        node = node->next;
    }
    return node;
}

void co_proxy_table_remove(struct co_proxy_table *table, struct co_proxy_node *node)
{
    struct co_proxy_node **at = bucket_of(table, &node->key);
    while (*at != node) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = node->next;
    table->count--;
}

void co_proxy_table_visit(struct co_proxy_table *table,
                          void (*visit)(void *context, struct co_proxy_table *table, struct co_proxy_node *node),
                          void *context)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (struct co_proxy_node *node = table->buckets[i], *next; node != NULL; node = next) {
            next = node->next;
            visit(context, table, node);
        }
    }
}

void co_proxy_table_close(struct co_proxy_table *table)
{
    free(table->buckets);
    *table = (struct co_proxy_table){0};
}
