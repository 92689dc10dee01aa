// SPDX-License-Identifier: BSD-3-Clause
//
// The tune table as data: the rows built into this release, printing, and the hash by which ranks agree that
// they decide alike. Reading the text form is tune_parse.c. Set-up only; any thread.
#include "engine/tune_table.h"

#include <stdarg.h>
#include <stdio.h>

// Written by `castoff bench --tune`; in its text form, so that a new measurement is pasted and not translated.
static const char built_in_text[] =
#include "engine/tune_built_in.h"
    ;

static const char *const call_words[CO_CALL_COUNT] = {"bcast", "allgather", "iallgather"};
static const char *const where_words[] = {"node", "hosts", "mixed"};

struct sink {
    char *text;
    size_t room, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct sink *sink, const char *format, ...)
{
    if (sink->used >= sink->room) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    int wrote = vsnprintf(sink->text + sink->used, sink->room - sink->used, format, arguments);
    va_end(arguments);
    sink->used += wrote > 0 ? (size_t)wrote : 0;
}

static void put_ranks(struct sink *sink, const struct co_tune_row *row)
{
    put(sink, " ranks %d-", row->ranks_min);
    if (row->ranks_max != INT32_MAX) {
        put(sink, "%d", row->ranks_max);
    }
}

static void put_bytes(struct sink *sink, const struct co_tune_row *row)
{
    put(sink, " bytes %zu-", row->bytes_min);
    if (row->bytes_max != SIZE_MAX) {
        put(sink, "%zu", row->bytes_max);
    }
}

void co_tune_table_print(const struct co_tune_table *table, char *text, size_t room)
{
    struct sink sink = {text, room, 0};
    put(&sink, "%s", ""); // an empty table prints an empty string
    for (unsigned i = 0; i < table->count; i++) {
        const struct co_tune_row *row = &table->rows[i];
        put(&sink, "%s %s", call_words[row->call], where_words[row->where]);
        put_ranks(&sink, row);
        put_bytes(&sink, row);
        put(&sink, " %s\n", row->take ? "take" : "decline");
    }
}

// FNV-1a, byte by byte from the low end, so that hosts of either byte order agree.
static uint64_t mix(uint64_t hash, uint64_t value)
{
    for (int shift = 0; shift < 64; shift += 8) {
        hash = (hash ^ (value >> shift & 0xff)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t co_tune_table_hash(const struct co_tune_table *table)
{
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), table->count);
    for (unsigned i = 0; i < table->count; i++) {
        const struct co_tune_row *row = &table->rows[i];
        hash = mix(hash, (uint64_t)row->call << 8 | (uint64_t)row->where << 1 | row->take);
        hash = mix(hash, (uint64_t)row->ranks_min << 32 | (uint32_t)row->ranks_max);
        hash = mix(hash, row->bytes_min);
        hash = mix(hash, row->bytes_max);
    }
    return hash;
}

void co_tune_table_built_in(struct co_tune_table *table)
{
    char why[160];
    // A text that does not parse is our own bug and is caught by a unit test; an empty table takes everything.
    if (co_tune_table_parse(table, built_in_text, sizeof built_in_text - 1, why, sizeof why)) {
        table->count = 0;
    }
}
