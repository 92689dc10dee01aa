// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that wait: a table, four indexes by what a receive may name, each message in all of them, and a list in
// order of arrival for what exceeds the table. A receive looks into its own class's index alone. Private to
// src/matching; hot where programs send before they receive.
#ifndef CASTOFF_MATCHING_UNEXPECTED_H
#define CASTOFF_MATCHING_UNEXPECTED_H

#include <stddef.h>

#include "matching/match_list.h"
#include "matching/posted.h"

struct co_unexpected_message {
    uint64_t label;
    struct co_match_node *node;
    int32_t source, tag;
    uint32_t free_next;
    struct {
        uint32_t next, previous; // places plus one
        uint32_t bin;
    } in[CO_MATCH_CLASSES];
    uint32_t unused[13]; // to the end of its second line
};

_Static_assert(sizeof(struct co_unexpected_message) == 128, "two lines for each message");

struct co_unexpected {
    struct co_unexpected_message *table;
    struct co_match_bin *bins; // as in struct co_posted
    uint32_t places, fresh, freed;
    uint32_t bin_mask;
    uint32_t count; // in the table
    struct co_match_list rest;
    uint64_t next_label;
};

size_t co_unexpected_bytes(uint32_t places, uint32_t bins);
void co_unexpected_open(struct co_unexpected *store, void *memory, uint32_t places, uint32_t bins);
void co_unexpected_move(struct co_unexpected *store, void *memory, uint32_t places, uint32_t bins); // co_matcher_move

// The latest to arrive.
void co_unexpected_append(struct co_unexpected *store, struct co_match_node *message,
                          const struct co_match_hashes *hashes);
// One that was removed, where it stood.
void co_unexpected_put_back(struct co_unexpected *store, struct co_match_node *message);
void co_unexpected_remove(struct co_unexpected *store, struct co_match_node *message);

// The eldest that such a receive takes, or NULL.
struct co_match_node *co_unexpected_find(const struct co_unexpected *store, int32_t source, int32_t tag);

#endif
