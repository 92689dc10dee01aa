// SPDX-License-Identifier: BSD-3-Clause
//
// The tune table as data: the rows built into this release, printing, and the hash by which ranks agree that
// they decide alike. tune_parse.c and tune_load.c read the text form. Set-up only; any thread.
#include "engine/decide/tune_table.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/fnv.h"

// Written by `castoff bench --tune`; in its text form, so that a new measurement is pasted and not translated.
static const char built_in_text[] =
#include "engine/decide/tune_built_in.h"
    ;

static const char *const where_words[] = {"node", "hosts"};

const char co_tune_table_head[] =
    "# CALL WHERE ranks A-B ranks_per_node C-D transport NAME bytes E-F decline|take\n"
    "# The first row that fits a call decides; what none fits is taken. CALL: bcast, ibcast, allgather,\n"
    "# iallgather, allgatherv or iallgatherv (of unequal blocks, by their mean), ialltoall, ialltoallv (bytes: 1).\n"
    "# WHERE: node (all ranks on one) or hosts (on several). ranks: of the communicator; ranks_per_node: on that of its nodes\n"
    "# that has most. transport: shm on one node; between hosts udp; proxy of what proxies carry (ialltoall,\n"
    "# ialltoallv; ibcast, iallgather, iallgatherv where there are any and a row says so).\n"
    "# bytes: the message of a broadcast, one rank's block of an allgather, of an ialltoall to each. ranks_per_node and transport may be left out: any. A range may be open: 65536-\n";

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

static void put_per_node(struct sink *sink, const struct co_tune_row *row)
{
    if (row->per_node_max != INT32_MAX) {
        put(sink, " ranks_per_node %d-%d", row->per_node_min, row->per_node_max);
    } else if (row->per_node_min > 1) {
        put(sink, " ranks_per_node %d-", row->per_node_min);
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
        put(&sink, "%s %s", co_call_word(row->call), where_words[row->where]);
        put_ranks(&sink, row);
        put_per_node(&sink, row);
        if (row->transport != CO_TRANSPORT_ANY) {
            put(&sink, " transport %s", co_transport_kind_text(row->transport));
        }
        put_bytes(&sink, row);
        put(&sink, " %s\n", row->take ? "take" : "decline");
    }
}

// From the low end, so that hosts of either byte order agree.
static uint64_t mix(uint64_t hash, uint64_t value)
{
    uint64_t little = htole64(value);
    return co_fnv_64(hash, &little, sizeof little);
}

uint64_t co_tune_table_hash(const struct co_tune_table *table)
{
    uint64_t hash = mix(CO_FNV_64, table->count);
    for (unsigned i = 0; i < table->count; i++) {
        const struct co_tune_row *row = &table->rows[i];
        hash = mix(hash,
                   (uint64_t)row->call << 24 | (uint64_t)row->transport << 8 | (uint64_t)row->where << 1 | row->take);
        hash = mix(hash, (uint64_t)row->ranks_min << 32 | (uint32_t)row->ranks_max);
        hash = mix(hash, (uint64_t)row->per_node_min << 32 | (uint32_t)row->per_node_max);
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
