// SPDX-License-Identifier: BSD-3-Clause
// Datatype layouts with an oracle of their own: the offsets are written down here by hand, never
// asked from MPI. Called by the datatype tests; not hot.
#include "oracle/layout.h"

#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define MARK 0xEE
#define MARGIN 512
#define INT_BYTES ((ptrdiff_t)sizeof(int))

static const char *const names[CO_LAYOUT_KINDS] = {
    "contiguous", "plain", "vector", "negative", "reversed", "resized", "struct", "interleaved", "absolute",
};

const char *co_layout_name(enum co_layout_kind kind)
{
    return names[kind];
}

// 4 blocks of 3 ints, 5 ints apart: the extent ends with the last block.
static void make_vector(struct co_layout *layout)
{
    MPI_Type_vector(4, 3, 5, MPI_INT, &layout->type);
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        layout->offsets[i] = (i / 3 * 5 + i % 3) * INT_BYTES;
    }
    layout->extent = 18 * INT_BYTES;
}

// Two blocks of 6 ints, the first one 9 ints before the buffer's address.
static void make_negative(struct co_layout *layout)
{
    int lengths[2] = {6, 6};
    int displacements[2] = {-9, 2};
    MPI_Type_indexed(2, lengths, displacements, MPI_INT, &layout->type);
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        layout->offsets[i] = (displacements[i / 6] + i % 6) * INT_BYTES;
    }
    layout->extent = 17 * INT_BYTES;
}

// Single ints whose place in memory is the reverse of their place in the message.
static void make_reversed(struct co_layout *layout)
{
    int displacements[CO_LAYOUT_ITEMS];
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        displacements[i] = 2 * (CO_LAYOUT_ITEMS - 1 - i);
        layout->offsets[i] = displacements[i] * INT_BYTES;
    }
    MPI_Type_create_indexed_block(CO_LAYOUT_ITEMS, 1, displacements, MPI_INT, &layout->type);
    layout->extent = (2 * CO_LAYOUT_ITEMS - 1) * INT_BYTES;
}

// Contiguous ints with a lower bound before and an extent beyond them.
static void make_resized(struct co_layout *layout)
{
    MPI_Datatype inner;
    MPI_Type_contiguous(CO_LAYOUT_ITEMS, MPI_INT, &inner);
    MPI_Type_create_resized(inner, -2 * INT_BYTES, 19 * INT_BYTES, &layout->type);
    MPI_Type_free(&inner);
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        layout->offsets[i] = i * INT_BYTES;
    }
    layout->extent = 19 * INT_BYTES;
}

// A run of 5 ints, then a vector of 7 single ints, 3 ints apart, that starts 8 ints in.
static void make_struct(struct co_layout *layout)
{
    MPI_Datatype vector;
    MPI_Type_vector(7, 1, 3, MPI_INT, &vector);
    int lengths[2] = {5, 1};
    MPI_Aint displacements[2] = {0, 8 * INT_BYTES};
    MPI_Datatype types[2] = {MPI_INT, vector};
    MPI_Type_create_struct(2, lengths, displacements, types, &layout->type);
    MPI_Type_free(&vector);
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        layout->offsets[i] = (i < 5 ? i : 8 + (i - 5) * 3) * INT_BYTES;
    }
    layout->extent = 27 * INT_BYTES;
}

// Instance j owns every n-th int, starting at j: instances overlap in extent, not in data.
static void make_interleaved(struct co_layout *layout)
{
    MPI_Datatype vector;
    MPI_Type_vector(CO_LAYOUT_ITEMS, 1, layout->instances, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, INT_BYTES, &layout->type);
    MPI_Type_free(&vector);
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        layout->offsets[i] = i * layout->instances * INT_BYTES;
    }
    layout->extent = INT_BYTES;
}

// The offsets of one absolute instance are a vector's; the type holds full addresses.
static void make_absolute(struct co_layout *layout)
{
    int lengths[4];
    MPI_Aint addresses[4];
    for (int block = 0; block < 4; block++) {
        lengths[block] = 3;
        MPI_Get_address(layout->origin + block * 7 * INT_BYTES, &addresses[block]);
    }
    MPI_Type_create_hindexed(4, lengths, addresses, MPI_INT, &layout->type);
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        layout->offsets[i] = (i / 3 * 7 + i % 3) * INT_BYTES;
    }
    layout->extent = 24 * INT_BYTES;
    layout->address = MPI_BOTTOM;
}

static void make_type(struct co_layout *layout)
{
    switch (layout->kind) {
    case CO_LAYOUT_VECTOR:
        make_vector(layout);
        return;
    case CO_LAYOUT_NEGATIVE:
        make_negative(layout);
        return;
    case CO_LAYOUT_REVERSED:
        make_reversed(layout);
        return;
    case CO_LAYOUT_RESIZED:
        make_resized(layout);
        return;
    case CO_LAYOUT_STRUCT:
        make_struct(layout);
        return;
    case CO_LAYOUT_INTERLEAVED:
        make_interleaved(layout);
        return;
    case CO_LAYOUT_ABSOLUTE:
        make_absolute(layout);
        return;
    default:
        break;
    }
    int items = layout->kind == CO_LAYOUT_PLAIN ? 1 : CO_LAYOUT_ITEMS;
    MPI_Type_contiguous(items, MPI_INT, &layout->type);
    for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
        layout->offsets[i] = i * INT_BYTES;
    }
    layout->extent = CO_LAYOUT_ITEMS * INT_BYTES;
}

void co_layout_create(struct co_layout *layout, enum co_layout_kind kind, int instances)
{
    memset(layout, 0, sizeof *layout);
    layout->kind = kind;
    layout->instances = instances;
    layout->count = kind == CO_LAYOUT_PLAIN ? instances * CO_LAYOUT_ITEMS : instances;
    // 27 ints is the largest extent of any kind; an interleaved one needs less than that in all.
    layout->storage_bytes = (size_t)instances * 27 * sizeof(int) + 2 * MARGIN;
    layout->storage = malloc(layout->storage_bytes);
    memset(layout->storage, MARK, layout->storage_bytes);
    layout->origin = layout->storage + MARGIN;
    layout->address = layout->origin;
    make_type(layout);
    MPI_Type_commit(&layout->type);
}

int *co_layout_item(const struct co_layout *layout, int instance, int item)
{
    return (int *)(void *)(layout->origin + instance * layout->extent + layout->offsets[item]);
}

void co_layout_write(struct co_layout *layout, int first, int instances, uint64_t seed)
{
    for (int j = 0; j < instances; j++) {
        for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
            size_t index = (size_t)j * CO_LAYOUT_ITEMS + (size_t)i;
            *co_layout_item(layout, first + j, i) = co_test_pattern_int(seed, index);
        }
    }
}

void co_layout_check(const struct co_layout *layout, int first, int instances, uint64_t seed, const char *what)
{
    size_t wrong = 0;
    size_t first_wrong = 0;
    for (int j = 0; j < instances; j++) {
        for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
            size_t index = (size_t)j * CO_LAYOUT_ITEMS + (size_t)i;
            int value = *co_layout_item(layout, first + j, i);
            co_test_absorb(&value, sizeof value);
            if (value != co_test_pattern_int(seed, index) && wrong++ == 0) {
                first_wrong = index;
            }
        }
    }
    co_test_expect(wrong == 0, "%s: %zu ints wrong in %s layout, the first is number %zu", what, wrong,
                   names[layout->kind], first_wrong);
}

void co_layout_check_gaps(const struct co_layout *layout, const char *what)
{
    unsigned char *data = calloc(1, layout->storage_bytes);
    for (int j = 0; j < layout->instances; j++) {
        for (int i = 0; i < CO_LAYOUT_ITEMS; i++) {
            size_t at = (size_t)((unsigned char *)co_layout_item(layout, j, i) - layout->storage);
            memset(data + at, 1, sizeof(int));
        }
    }
    size_t written = 0;
    for (size_t at = 0; at < layout->storage_bytes; at++) {
        written += data[at] == 0 && layout->storage[at] != MARK;
    }
    co_test_expect(written == 0, "%s: %zu bytes written in the gaps of %s layout", what, written, names[layout->kind]);
    free(data);
}

void co_layout_destroy(struct co_layout *layout)
{
    MPI_Type_free(&layout->type);
    free(layout->storage);
}
