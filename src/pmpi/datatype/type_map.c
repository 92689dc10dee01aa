// SPDX-License-Identifier: BSD-3-Clause
//
// Walks a type map. Every block knows how many packed bytes come before it and how many each of its parts has, so any
// byte is found by dividing, and a walk can begin and end anywhere. Hot.
#include "pmpi/datatype/type_map.h"

#include <string.h>

#include "base/memory/memory_copy.h"
#include "pmpi/datatype/type_map_state.h"

// Between the program's memory and the packed bytes.
struct walk {
    unsigned char *packed; // its byte 0
    bool packs;
};

static inline void copy(bool packs, uintptr_t place, unsigned char *packed, size_t bytes)
{
    if (packs) {
        co_memory_copy(packed, (const void *)place, bytes);
    } else {
        co_memory_copy((void *)place, packed, bytes);
    }
}

static inline void copy_run(bool packs, uintptr_t place, unsigned char *packed, size_t bytes)
{
    if (bytes == 8) {
        copy(packs, place, packed, 8);
    } else if (bytes == 4) {
        copy(packs, place, packed, 4);
    } else {
        copy(packs, place, packed, bytes);
    }
}

// Inlined for each of the usual lengths, so that no call is made for a few bytes.
static inline __attribute__((always_inline)) void copy_each(bool packs, uintptr_t place, ptrdiff_t stride,
                                                            unsigned char *packed, size_t bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        copy(packs, place + i * (uintptr_t)stride, packed + i * bytes, bytes);
    }
}

static void copy_runs(bool packs, uintptr_t place, ptrdiff_t stride, unsigned char *packed, size_t bytes, size_t count)
{
    switch (bytes) {
    case 4:
        copy_each(packs, place, stride, packed, 4, count);
        break;
    case 8:
        copy_each(packs, place, stride, packed, 8, count);
        break;
    case 16:
        copy_each(packs, place, stride, packed, 16, count);
        break;
    case 24:
        copy_each(packs, place, stride, packed, 24, count);
        break;
    default:
        copy_each(packs, place, stride, packed, bytes, count);
    }
}

static void walk_node(const struct walk *walk, const struct co_type_node *node, uintptr_t origin, size_t at,
                      size_t from, size_t to);

// Bytes [from, to) of one part, whose byte 0 is the message's byte `at`.
static void walk_part(const struct walk *walk, const struct co_type_block *block, uintptr_t origin, size_t at,
                      size_t from, size_t to)
{
    if (block->part != NULL) {
        walk_node(walk, block->part, origin, at, from, to);
    } else {
        copy(walk->packs, origin + from, walk->packed + at + from, to - from);
    }
}

// Bytes [from, to) of a block, whose byte 0 is the message's byte `at`: the end of a part, whole ones, a beginning.
static void walk_block(const struct walk *walk, const struct co_type_block *block, uintptr_t origin, size_t at,
                       size_t from, size_t to)
{
    size_t first = from / block->bytes, last = to / block->bytes, bytes = block->bytes;
    uintptr_t place = origin + (uintptr_t)block->place; // MPI_BOTTOM is 0
    if (first == last) {
        walk_part(walk, block, place + first * (uintptr_t)block->stride, at + first * bytes, from - first * bytes,
                  to - first * bytes);
        return;
    }
    if (from > first * bytes) {
        walk_part(walk, block, place + first * (uintptr_t)block->stride, at + first * bytes, from - first * bytes,
                  bytes);
        first++;
    }
    if (block->part == NULL) {
        copy_runs(walk->packs, place + first * (uintptr_t)block->stride, block->stride,
                  walk->packed + at + first * bytes, bytes, last - first);
    } else {
        for (size_t i = first; i < last; i++) {
            walk_node(walk, block->part, place + i * (uintptr_t)block->stride, at + i * bytes, 0, bytes);
        }
    }
    if (to > last * bytes) {
        walk_part(walk, block, place + last * (uintptr_t)block->stride, at + last * bytes, 0, to - last * bytes);
    }
}

// The block that holds this byte.
static size_t find(const struct co_type_node *node, size_t byte)
{
    size_t low = 0, high = node->block_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (node->blocks[middle].start <= byte) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Whole single runs, of which irregular types consist: the first block that is none, or does not end before `to`.
static size_t walk_runs(const struct walk *walk, const struct co_type_node *node, size_t i, uintptr_t origin, size_t at,
                        size_t to)
{
    for (; i < node->block_count; i++) {
        const struct co_type_block *run = &node->blocks[i];
        if (run->part != NULL || run->count > 1 || run->start + run->bytes > to) {
            break;
        }
        copy_run(walk->packs, origin + (uintptr_t)run->place, walk->packed + at + run->start, run->bytes);
    }
    return i;
}

static void walk_node(const struct walk *walk, const struct co_type_node *node, uintptr_t origin, size_t at,
                      size_t from, size_t to)
{
    for (size_t i = find(node, from); from < to; i++) {
        if (from == node->blocks[i].start) {
            i = walk_runs(walk, node, i, origin, at, to);
            from = i < node->block_count ? node->blocks[i].start : to;
            if (from >= to) {
                return;
            }
        }
        const struct co_type_block *block = &node->blocks[i];
        size_t end = block->start + block->count * block->bytes, stop = to < end ? to : end;
        walk_block(walk, block, origin, at + block->start, from - block->start, stop - block->start);
        from = stop;
    }
}

void co_type_map_begin(struct co_type_map *map, struct co_type_shape *shape, size_t count, ptrdiff_t extent)
{
    *map = (struct co_type_map){shape, co_type_loop(0, count, extent, shape->element)};
}

void co_type_map_end(struct co_type_map *map)
{
    co_type_shape_drop(map->shape);
}

void co_type_map_pack(const struct co_type_map *map, void *packed, const void *buffer, size_t from, size_t to)
{
    struct walk walk = {packed, true};
    walk_block(&walk, &map->elements, (uintptr_t)buffer, 0, from, to);
}

void co_type_map_unpack(const struct co_type_map *map, void *buffer, const void *packed, size_t from, size_t to)
{
    struct walk walk = {(unsigned char *)(uintptr_t)packed, false};
    walk_block(&walk, &map->elements, (uintptr_t)buffer, 0, from, to);
}
