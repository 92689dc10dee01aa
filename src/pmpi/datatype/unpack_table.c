// SPDX-License-Identifier: BSD-3-Clause
//
// Native packs an element in which every byte holds one digit, base 256, of its own place: what comes out, digit by
// digit, are the places in the order of packing. Runs of neighbours are kept as one. Rare.
#include "pmpi/datatype/unpack_table.h"

#include "base/memory/memory_copy.h"
#include "pmpi/datatype/packing.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS 3
#define SPAN_MOST ((MPI_Count)1 << (8 * DIGITS))

struct run {
    uint32_t place, bytes;
};

struct co_unpack_table {
    ptrdiff_t lower, extent;
    size_t run_count;
    struct run runs[];
};

static int read_places(uint32_t *places, unsigned char *element, unsigned char *packed, MPI_Count lower, MPI_Count span,
                       MPI_Datatype type, const struct co_datatype *facts)
{
    // Where the element would begin if its first byte lay at `element`: nothing is read there.
    const void *origin = (const void *)((uintptr_t)element - (uintptr_t)lower);
    memset(places, 0, facts->bytes * sizeof(*places));
    for (int digit = 0; digit < DIGITS; digit++) {
        for (MPI_Count place = 0; place < span; place++) {
            element[place] = (unsigned char)(place >> (8 * digit));
        }
        int error = co_pack(packed, origin, 1, type, facts);
        if (error != 0) {
            return error;
        }
        for (size_t i = 0; i < facts->bytes; i++) {
            places[i] |= (uint32_t)packed[i] << (8 * digit);
        }
    }
    return 0;
}

static struct co_unpack_table *join(const uint32_t *places, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += i == 0 || places[i] != places[i - 1] + 1;
    }
    struct co_unpack_table *table = malloc(sizeof *table + count * sizeof table->runs[0]);
    if (table == NULL) {
        return NULL;
    }
    table->run_count = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (i == 0 || places[i] != places[i - 1] + 1) {
            table->runs[table->run_count++] = (struct run){places[i], 0};
        }
        table->runs[table->run_count - 1].bytes++;
    }
    return table;
}

struct co_unpack_table *co_unpack_table_open(MPI_Datatype type, const struct co_datatype *facts)
{
    MPI_Count lower, span;
    struct co_unpack_table *table = NULL;
    if (co_next.Type_get_true_extent_x(type, &lower, &span) != MPI_SUCCESS || span > SPAN_MOST) {
        return NULL;
    }
    uint32_t *places = malloc(facts->bytes * sizeof(*places));
    unsigned char *element = malloc((size_t)span), *packed = malloc(facts->bytes);
    if (places != NULL && element != NULL && packed != NULL &&
        read_places(places, element, packed, lower, span, type, facts) == 0) {
        table = join(places, facts->bytes);
    }
    if (table != NULL) {
        table->lower = (ptrdiff_t)lower;
        table->extent = facts->extent;
    }
    free(places);
    free(element);
    free(packed);
    return table;
}

void co_unpack_table_apply(const struct co_unpack_table *table, void *buffer, const void *packed, size_t bytes)
{
    const unsigned char *from = packed;
    for (ptrdiff_t element = 0; bytes > 0; element++) {
        uintptr_t origin = (uintptr_t)buffer + (uintptr_t)(element * table->extent + table->lower);
        for (size_t i = 0; bytes > 0 && i < table->run_count; i++) {
            const struct run *run = &table->runs[i];
            size_t piece = run->bytes < bytes ? run->bytes : bytes;
            co_memory_copy((void *)(origin + run->place), from, piece);
            from += piece;
            bytes -= piece;
        }
    }
}

void co_unpack_table_close(struct co_unpack_table *table)
{
    free(table);
}
