// SPDX-License-Identifier: BSD-3-Clause
// Message contents in layouts of bytes; where each byte lies is computed here by hand, never asked from MPI.
#include "oracle/parcel.h"

#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define MARK 0xEE

// An instance holds `unit` bytes, in blocks of `block` that begin `stride` apart; instances begin `extent` apart.
static const struct {
    size_t unit, block, stride, extent;
} layouts[CO_PARCEL_LAYOUTS] = {{1, 1, 1, 1}, {4, 4, 4, 12}, {64, 8, 12, 92}, {256, 1, 2, 520}};

static MPI_Datatype types[CO_PARCEL_LAYOUTS];

void co_parcel_types_make(void)
{
    for (int i = 0; i < CO_PARCEL_LAYOUTS; i++) {
        MPI_Datatype blocks;
        int count = (int)(layouts[i].unit / layouts[i].block);
        MPI_Type_vector(count, (int)layouts[i].block, (int)layouts[i].stride, MPI_BYTE, &blocks);
        MPI_Type_create_resized(blocks, 0, (MPI_Aint)layouts[i].extent, &types[i]);
        MPI_Type_commit(&types[i]);
        MPI_Type_free(&blocks);
    }
}

void co_parcel_types_free(void)
{
    for (int i = 0; i < CO_PARCEL_LAYOUTS; i++) {
        MPI_Type_free(&types[i]);
    }
}

int co_parcel_layout_for(size_t bytes, unsigned choice)
{
    int layout = (int)(choice % CO_PARCEL_LAYOUTS);
    return bytes % layouts[layout].unit == 0 ? layout : 0;
}

static size_t memory_of(const struct co_parcel *parcel)
{
    return (size_t)parcel->count * layouts[parcel->layout].extent;
}

static size_t place_of(int layout, size_t index)
{
    size_t instance = index / layouts[layout].unit, at = index % layouts[layout].unit;
    return instance * layouts[layout].extent + at / layouts[layout].block * layouts[layout].stride +
           at % layouts[layout].block;
}

void co_parcel_open(struct co_parcel *parcel, int layout, size_t bytes)
{
    parcel->layout = layout;
    parcel->bytes = bytes;
    parcel->count = (int)(bytes / layouts[layout].unit);
    parcel->type = layout == 0 ? MPI_BYTE : types[layout];
    parcel->memory = malloc(memory_of(parcel) + 1);
    if (parcel->memory == NULL) {
        abort();
    }
    memset(parcel->memory, MARK, memory_of(parcel));
}

void co_parcel_close(struct co_parcel *parcel)
{
    free(parcel->memory);
    parcel->memory = NULL;
}

void co_parcel_fill(struct co_parcel *parcel, uint64_t seed)
{
    unsigned char *memory = parcel->memory;
    if (parcel->layout == 0) {
        co_test_pattern_fill(memory, parcel->bytes, seed);
        return;
    }
    unsigned char *packed = malloc(parcel->bytes + 1);
    co_test_pattern_fill(packed, parcel->bytes, seed);
    for (size_t i = 0; i < parcel->bytes; i++) {
        memory[place_of(parcel->layout, i)] = packed[i];
    }
    free(packed);
}

bool co_parcel_holds(const struct co_parcel *parcel, size_t bytes, uint64_t seed)
{
    size_t all = memory_of(parcel);
    unsigned char *expected = malloc(all + 1);
    memset(expected, MARK, all);
    struct co_parcel whole = *parcel;
    whole.memory = expected;
    whole.bytes = bytes;
    co_parcel_fill(&whole, seed);
    bool holds = memcmp(expected, parcel->memory, all) == 0;
    free(expected);
    return holds;
}

unsigned co_parcel_random(uint64_t *state, unsigned limit)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u; // splitmix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (unsigned)((x ^ (x >> 31)) >> 32) % limit;
}
