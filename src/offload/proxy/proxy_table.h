// SPDX-License-Identifier: BSD-3-Clause
//
// Hash table of things that are found by which message they are of (offload_key.h). A node stands inside of what is
// found, so that putting it in needs no memory once there is room. Pure; one thread; get is hot.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_TABLE_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_TABLE_H

#include <stddef.h>

#include "offload/offload_key.h"

struct co_proxy_node {
    struct co_offload_key key;
    struct co_proxy_node *next;
    bool is_mark; // what it stands in: a mark, or an end (proxy_state.h)
};

struct co_proxy_table {
    struct co_proxy_node **buckets;
    size_t bucket_count; // a power of 2, or 0
    size_t count;
    uint64_t secret; // that whoever chooses keys does not know: else he chooses ones of one bucket
};

// Room for so many more. -ENOMEM: nothing has changed.
int co_proxy_table_reserve(struct co_proxy_table *table, size_t more);
// Of a key that is not there; there is room.
void co_proxy_table_put(struct co_proxy_table *table, struct co_proxy_node *node);
struct co_proxy_node *co_proxy_table_get(const struct co_proxy_table *table, const struct co_offload_key *key);
void co_proxy_table_remove(struct co_proxy_table *table, struct co_proxy_node *node); // that is there

// All of them, in no order. `visit` may remove and free the node that it is given, and nothing else.
void co_proxy_table_visit(struct co_proxy_table *table,
                          void (*visit)(void *context, struct co_proxy_table *table, struct co_proxy_node *node),
                          void *context);
void co_proxy_table_close(struct co_proxy_table *table); // the nodes are the caller's business

#endif
