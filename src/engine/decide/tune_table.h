// SPDX-License-Identifier: BSD-3-Clause
//
// The data behind the decision: rows of a call, where, and ranges of ranks, ranks per node and bytes over a transport,
// in which stock is faster and castoff declines under the policy "never slower than stock". Built in, or read from
// CASTOFF_TUNE as written by `castoff bench --tune`. Parsing is strict (the file is foreign bytes); look-up is pure.
// Set-up and hot read.
#ifndef CASTOFF_ENGINE_DECIDE_TUNE_TABLE_H
#define CASTOFF_ENGINE_DECIDE_TUNE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/decide/decide.h"

#define CO_TUNE_ROWS_MAX 512
#define CO_TUNE_ROW_TEXT_MAX 192 // bytes of a printed row, its end of line included

enum co_tune_where { CO_TUNE_NODE, CO_TUNE_HOSTS, CO_TUNE_WHERES }; // all ranks on one node; on several; how many

// All ranges include their ends.
struct co_tune_row {
    enum co_call call;
    enum co_tune_where where;
    int ranks_min, ranks_max;
    int per_node_min, per_node_max;   // ranks on the node of the communicator that has most of them
    enum co_transport_kind transport; // CO_TRANSPORT_ANY: whatever carries the bytes
    size_t bytes_min, bytes_max;      // Bcast the message, Allgather one rank's block
    bool take;
    uint16_t next; // that is of the same call and place; the table's count: none
};

struct co_tune_table {
    unsigned count;
    uint16_t first[CO_CALL_COUNT][CO_TUNE_WHERES]; // rows of each call and place, for the look-up; count: none
    struct co_tune_row rows[CO_TUNE_ROWS_MAX];     // the first that fits decides; none fits: take
};

// The table measured for this release.
void co_tune_table_built_in(struct co_tune_table *table);

// What a row means, in comment lines of the text form: for those who read or write one.
extern const char co_tune_table_head[];

// Text form, one row a line: "bcast hosts ranks 2-16 ranks_per_node 1 transport udp bytes 1-4096 decline" (or take).
// Without ranks_per_node or transport a row fits any; # starts a comment, a range may be open ("65536-"). 0 or -EINVAL
// with line and cause in why.
int co_tune_table_parse(struct co_tune_table *table, const char *text, size_t bytes, char *why, size_t why_room);
int co_tune_table_load(struct co_tune_table *table, const char *path, char *why, size_t why_room);
void co_tune_table_print(const struct co_tune_table *table, char *text, size_t room);

// Puts rows in front of those that stand in the file, where none are about the same; makes it where there is none. 0 or
// -errno, with path and cause in why: it is no plain file of ours, or no table; then it is left as it is.
int co_tune_table_learn(const char *path, const struct co_tune_row *rows, unsigned count, char *why, size_t why_room);

// Hash of the contents, for the agreement at start.
uint64_t co_tune_table_hash(const struct co_tune_table *table);

#endif
