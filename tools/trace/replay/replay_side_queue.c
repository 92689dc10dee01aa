// SPDX-License-Identifier: BSD-3-Clause
//
// Grows matchers by moving them.
#include "tools/trace/replay/replay_side_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"

enum { CHUNK = 64, PLACES_FIRST = 64 };

static void *zeroed(size_t bytes)
{
    void *memory = aligned_alloc(CO_CACHE_LINE, (bytes + CO_CACHE_LINE - 1) / CO_CACHE_LINE * CO_CACHE_LINE);
    return memory == NULL ? NULL : memset(memory, 0, bytes);
}

struct co_side_queue *co_side_queue_open(uint32_t bins)
{
    struct co_side_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return NULL;
    }
    queue->config = (struct co_matcher_config){PLACES_FIRST, PLACES_FIRST, bins};
    queue->memory = zeroed(co_matcher_bytes(&queue->config));
    if (queue->memory == NULL) {
        free(queue);
        return NULL;
    }
    queue->matcher = co_matcher_open(queue->memory, &queue->config);
    return queue;
}

int co_side_queue_make_room(struct co_side_queue *queue, uint32_t receives, uint32_t messages)
{
    struct co_matcher_config config = queue->config;
    while (config.receives < queue->posted + receives) {
        config.receives *= 2;
    }
    while (config.messages < queue->stored + messages) {
        config.messages *= 2;
    }
    if (config.receives == queue->config.receives && config.messages == queue->config.messages) {
        return 0;
    }
    void *memory = zeroed(co_matcher_bytes(&config));
    if (memory == NULL) {
        return -ENOMEM;
    }
    queue->matcher = co_matcher_move(queue->matcher, memory, &config);
    free(queue->memory);
    queue->memory = memory;
    queue->config = config;
    return 0;
}

struct co_side_node *co_side_node_at(struct co_side_nodes *nodes, uint32_t slot)
{
    uint32_t chunk = slot / CHUNK;
    if (chunk >= nodes->count) {
        struct co_side_node **larger = realloc(nodes->chunks, (chunk + 1) * sizeof(struct co_side_node *));
        if (larger == NULL) {
            return NULL;
        }
        nodes->chunks = larger;
        while (nodes->count <= chunk) {
            nodes->chunks[nodes->count] = calloc(CHUNK, sizeof **nodes->chunks);
            if (nodes->chunks[nodes->count] == NULL) {
                return NULL;
            }
            nodes->count++;
        }
    }
    struct co_side_node *node = &nodes->chunks[chunk][slot % CHUNK];
    node->slot = slot;
    return node;
}

static void free_nodes(struct co_side_nodes *nodes)
{
    for (uint32_t i = 0; i < nodes->count; i++) {
        free(nodes->chunks[i]);
    }
    free(nodes->chunks);
}

void co_side_queue_close(struct co_side_queue *queue)
{
    if (queue != NULL) {
        free_nodes(&queue->receives);
        free_nodes(&queue->messages);
        free(queue->memory);
    }
    free(queue);
}
