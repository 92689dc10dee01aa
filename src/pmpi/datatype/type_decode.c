// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the shape of a type out of what native tells of it: how it was made (its combiner, MPI 3.1, section 4.1.13),
// down to the predefined types. Loops of runs that touch become one run, loops of one turn vanish.
#include <stdlib.h>

#include "pmpi/life/process.h"
#include "pmpi/datatype/type_map_state.h"

enum { BLOCKS_LEAST = 16, BLOCKS_MOST = 4096, BYTES_OF_BLOCK = 64, DEPTH_MOST = 32 };

// What native says of a derived type.
struct contents {
    int combiner, integer_count, address_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
};

static struct co_type_node *decode(struct co_type_shape *shape, MPI_Datatype type, int depth);

static struct co_type_node *make_node(struct co_type_shape *shape, size_t room)
{
    if (room > shape->blocks_most - shape->block_count) {
        return NULL;
    }
    struct co_type_node *node = malloc(sizeof *node + room * sizeof node->blocks[0]);
    if (node != NULL) {
        node->bytes = node->block_count = 0;
        node->next = shape->nodes;
        shape->nodes = node;
        shape->block_count += room;
    }
    return node;
}

// A run right behind the last one.
static bool grows_last(struct co_type_node *node, const struct co_type_block *block)
{
    struct co_type_block *last = node->block_count == 0 ? NULL : &node->blocks[node->block_count - 1];
    if (last == NULL || last->part != NULL || last->count != 1 || block->part != NULL || block->count != 1 ||
        last->place + (ptrdiff_t)last->bytes != block->place) {
        return false;
    }
    last->bytes += block->bytes;
    return true;
}

struct co_type_block co_type_loop(ptrdiff_t place, size_t count, ptrdiff_t stride, const struct co_type_node *part)
{
    struct co_type_block block = {place, stride, count, part->bytes, 0, part};
    if (part->block_count == 1 && (count == 1 || part->blocks[0].count == 1)) {
        const struct co_type_block *inner = &part->blocks[0];
        block.place += inner->place;
        block.stride = count == 1 ? inner->stride : stride;
        block.count = count * inner->count;
        block.bytes = inner->bytes;
        block.part = inner->part;
    }
    if (block.part == NULL && block.stride == (ptrdiff_t)block.bytes) {
        block.bytes *= block.count;
        block.count = 1;
    }
    return block;
}

// The node has room for them.
static void add(struct co_type_node *node, ptrdiff_t place, size_t count, ptrdiff_t stride,
                const struct co_type_node *part)
{
    if (count == 0 || part->bytes == 0) {
        return;
    }
    struct co_type_block block = co_type_loop(place, count, stride, part);
    block.start = node->bytes;
    node->bytes += block.count * block.bytes;
    if (!grows_last(node, &block)) {
        node->blocks[node->block_count++] = block;
    }
}

static struct co_type_node *make_loop(struct co_type_shape *shape, ptrdiff_t place, size_t count, ptrdiff_t stride,
                                      const struct co_type_node *part)
{
    struct co_type_node *node = part == NULL ? NULL : make_node(shape, 1);
    if (node != NULL) {
        add(node, place, count, stride, part);
    }
    return node;
}

static struct co_type_node *make_run(struct co_type_shape *shape, size_t bytes)
{
    struct co_type_node *node = make_node(shape, 1);
    if (node != NULL) {
        node->blocks[0] = (struct co_type_block){0, (ptrdiff_t)bytes, 1, bytes, 0, NULL};
        node->block_count = 1;
        node->bytes = bytes;
    }
    return node;
}

static bool read_extent(MPI_Datatype type, ptrdiff_t *extent)
{
    MPI_Count lower, whole;
    if (co_next.Type_get_extent_x(type, &lower, &whole) != MPI_SUCCESS) {
        return false;
    }
    *extent = (ptrdiff_t)whole;
    return true;
}

// Blocks of `lengths` elements (NULL: all of `length`), in elements or in bytes from the origin.
static struct co_type_node *decode_indexed(struct co_type_shape *shape, const struct co_type_node *inner,
                                           ptrdiff_t extent, int count, const int *lengths, int length,
                                           const int *places, const MPI_Aint *addresses)
{
    struct co_type_node *node = make_node(shape, (size_t)count);
    for (int i = 0; node != NULL && i < count; i++) {
        ptrdiff_t place = places != NULL ? places[i] * extent : (ptrdiff_t)addresses[i];
        add(node, place, (size_t)(lengths != NULL ? lengths[i] : length), extent, inner);
    }
    return node;
}

static struct co_type_node *decode_struct(struct co_type_shape *shape, const struct contents *contents, int depth)
{
    int count = contents->integers[0];
    struct co_type_node *node = make_node(shape, (size_t)count);
    for (int i = 0; node != NULL && i < count; i++) {
        struct co_type_node *part = decode(shape, contents->types[i], depth);
        ptrdiff_t extent;
        if (part == NULL || !read_extent(contents->types[i], &extent)) {
            return NULL;
        }
        add(node, (ptrdiff_t)contents->addresses[i], (size_t)contents->integers[1 + i], extent, part);
    }
    return node;
}

// Integers: dimensions, then all sizes, all parts' sizes, all starts, and the order.
static struct co_type_node *decode_subarray(struct co_type_shape *shape, const int *integers, ptrdiff_t extent,
                                            struct co_type_node *inner)
{
    int dimensions = integers[0];
    const int *sizes = integers + 1, *parts = sizes + dimensions, *starts = parts + dimensions;
    bool is_c = integers[1 + 3 * dimensions] == MPI_ORDER_C;
    ptrdiff_t stride = extent;
    struct co_type_node *node = inner;
    for (int i = 0; node != NULL && i < dimensions; i++) { // from the one whose elements are neighbours
        int d = is_c ? dimensions - 1 - i : i;
        node = make_loop(shape, starts[d] * stride, (size_t)parts[d], stride, node);
        stride *= sizes[d];
    }
    return node;
}

// All that have one inner type.
static struct co_type_node *decode_over(struct co_type_shape *shape, const struct contents *contents, int depth)
{
    const int *integers = contents->integers;
    ptrdiff_t extent;
    struct co_type_node *inner = decode(shape, contents->types[0], depth);
    if (inner == NULL || !read_extent(contents->types[0], &extent)) {
        return NULL;
    }
    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return inner;
    case MPI_COMBINER_CONTIGUOUS:
        return make_loop(shape, 0, (size_t)integers[0], extent, inner);
    case MPI_COMBINER_VECTOR:
        return make_loop(shape, 0, (size_t)integers[0], integers[2] * extent,
                         make_loop(shape, 0, (size_t)integers[1], extent, inner));
    case MPI_COMBINER_HVECTOR:
        return make_loop(shape, 0, (size_t)integers[0], (ptrdiff_t)contents->addresses[0],
                         make_loop(shape, 0, (size_t)integers[1], extent, inner));
    case MPI_COMBINER_INDEXED:
        return decode_indexed(shape, inner, extent, integers[0], integers + 1, 0, integers + 1 + integers[0], NULL);
    case MPI_COMBINER_HINDEXED:
        return decode_indexed(shape, inner, extent, integers[0], integers + 1, 0, NULL, contents->addresses);
    case MPI_COMBINER_INDEXED_BLOCK:
        return decode_indexed(shape, inner, extent, integers[0], NULL, integers[1], integers + 2, NULL);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return decode_indexed(shape, inner, extent, integers[0], NULL, integers[1], NULL, contents->addresses);
    case MPI_COMBINER_SUBARRAY:
        return decode_subarray(shape, integers, extent, inner);
    default:
        return NULL;
    }
}

static void give_types_back(const struct contents *contents)
{
    for (int i = 0; i < contents->type_count; i++) {
        co_datatype_give_back(contents->types[i]);
    }
}

static struct co_type_node *decode_derived(struct co_type_shape *shape, MPI_Datatype type, struct contents *contents,
                                           int depth)
{
    struct co_type_node *node = NULL;
    contents->integers = malloc(((size_t)contents->integer_count + 1) * sizeof *contents->integers);
    contents->addresses = malloc(((size_t)contents->address_count + 1) * sizeof *contents->addresses);
    contents->types = malloc(((size_t)contents->type_count + 1) * sizeof *contents->types);
    if (contents->integers != NULL && contents->addresses != NULL && contents->types != NULL &&
        co_next.Type_get_contents(type, contents->integer_count, contents->address_count, contents->type_count,
                                  contents->integers, contents->addresses, contents->types) == MPI_SUCCESS) {
        if (contents->combiner == MPI_COMBINER_STRUCT) {
            node = decode_struct(shape, contents, depth);
        } else if (contents->type_count == 1) {
            node = decode_over(shape, contents, depth);
        }
        give_types_back(contents);
    }
    free(contents->integers);
    free(contents->addresses);
    free(contents->types);
    return node;
}

static struct co_type_node *decode(struct co_type_shape *shape, MPI_Datatype type, int depth)
{
    struct contents contents;
    const struct co_datatype *predefined = co_datatype_predefined(type);
    if (predefined != NULL) {
        return predefined->is_contiguous ? make_run(shape, predefined->bytes) : NULL; // a pair with a hole
    }
    if (depth == DEPTH_MOST ||
        !co_datatype_envelope(type, &contents.integer_count, &contents.address_count, &contents.type_count,
                              &contents.combiner) ||
        contents.combiner == MPI_COMBINER_NAMED ||
        (size_t)contents.integer_count > 3 * (shape->blocks_most + BLOCKS_LEAST)) {
        return NULL;
    }
    return decode_derived(shape, type, &contents, depth + 1);
}

size_t co_type_shape_worth(size_t bytes)
{
    size_t most = BLOCKS_LEAST + bytes / BYTES_OF_BLOCK;
    return most < BLOCKS_MOST ? most : BLOCKS_MOST;
}

struct co_type_shape *co_type_shape_open(MPI_Datatype type, const struct co_datatype *facts, size_t blocks_most)
{
    struct co_type_shape *shape = calloc(1, sizeof *shape);
    if (shape == NULL) {
        return NULL;
    }
    shape->blocks_most = blocks_most;
    co_store_relaxed(&shape->holds, 1); // relaxed: nobody else knows it
    shape->element = decode(shape, type, 0);
    if (shape->element == NULL || shape->element->bytes != facts->bytes || shape->element->block_count == 0) {
        co_type_shape_drop(shape);
        return NULL;
    }
    return shape;
}

struct co_type_shape *co_type_shape_hold(struct co_type_shape *shape)
{
    co_add_relaxed(&shape->holds, 1); // relaxed: the caller knows that it is held
    return shape;
}

size_t co_type_shape_blocks(const struct co_type_shape *shape)
{
    return shape == NULL ? 0 : shape->block_count;
}

void co_type_shape_drop(struct co_type_shape *shape)
{
    // acq_rel D: the last one frees what the others have walked
    if (shape == NULL || atomic_fetch_sub_explicit(&shape->holds, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (struct co_type_node *node = shape->nodes; node != NULL;) {
        struct co_type_node *next = node->next;
        free(node);
        node = next;
    }
    free(shape);
}
