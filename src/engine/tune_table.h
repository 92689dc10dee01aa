// SPDX-License-Identifier: BSD-3-Clause
//
// The data behind the decision: rows of {call, where, ranks, bytes} ranges in which stock is faster and castoff
// declines under the policy "never slower than stock". `where` stands for the transports and for ranks per node, one or
// several. Built in, or read from CASTOFF_TUNE as written by `castoff bench --tune`. Parsing is strict (the file is
// foreign bytes); look-up is pure. Set-up and hot read.
#ifndef CASTOFF_ENGINE_TUNE_TABLE_H
#define CASTOFF_ENGINE_TUNE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/decide.h"

#define CO_TUNE_ROWS_MAX 512

enum co_tune_where {
    CO_TUNE_NODE,
    CO_TUNE_HOSTS,
    CO_TUNE_MIXED
}; // one node; one rank a node; several ranks on several nodes

struct co_tune_row {
    enum co_call call;
    enum co_tune_where where;
    int ranks_min, ranks_max;    // inclusive
    size_t bytes_min, bytes_max; // inclusive
    bool take;
};

struct co_tune_table {
    unsigned count;
    struct co_tune_row rows[CO_TUNE_ROWS_MAX]; // the first that fits decides; none fits: take
};

// The table measured for this release.
void co_tune_table_built_in(struct co_tune_table *table);

// Text form, one row a line: "bcast hosts ranks 2-16 bytes 1-4096 decline" (decline or take), # starts a comment, a
// last range may be open ("65536-"). 0 or -EINVAL with line and cause in why.
int co_tune_table_parse(struct co_tune_table *table, const char *text, size_t bytes, char *why, size_t why_room);
int co_tune_table_load(struct co_tune_table *table, const char *path, char *why, size_t why_room);
void co_tune_table_print(const struct co_tune_table *table, char *text, size_t room);

// Hash of the contents, for the agreement at start.
uint64_t co_tune_table_hash(const struct co_tune_table *table);

#endif
