// SPDX-License-Identifier: BSD-3-Clause
//
// Receives that wait: a table of descriptors, four indexes by wildcard class, each receive in one of them, and a list
// in posting order for what exceeds the table. Links are places in the table plus one, so that zeroed memory is an
// empty index. Private to src/matching; hot.
#ifndef CASTOFF_MATCHING_POSTED_H
#define CASTOFF_MATCHING_POSTED_H

#include <stdatomic.h>
#include <stddef.h>

#include "matching/match_list.h"

// A bit for each lane of a batch.
#if defined(CO_MATCH_LANES_MAX) && CO_MATCH_LANES_MAX > 32
typedef uint64_t co_match_booking;
#else
typedef uint32_t co_match_booking;
#endif

struct co_posted_receive {
    uint64_t label;
    struct co_match_node *node;
    uint64_t sequence; // label of the first of a run of compatible receives, posted one after the other
    int32_t source, tag;
    uint32_t next, previous;         // in its bin
    _Atomic co_match_booking booked; // lanes of the running batch that want it
    _Atomic uint32_t taken; // by a lane of the running batch; it leaves its bin, and may be used anew, after that one
    uint32_t bin;
    uint32_t unused[4 - sizeof(co_match_booking) / 4]; // to the end of the line
};

_Static_assert(sizeof(struct co_posted_receive) == 64, "one line for each receive");

struct co_match_bin {
    uint32_t first, last;
};

struct co_posted {
    struct co_posted_receive *table;
    struct co_match_bin *bins; // of the three classes that hash, one after the other, then one for both wildcards
    uint32_t places, fresh;    // fresh: never used so far from there on
    uint32_t freed;            // first of those that are free again
    uint32_t bin_mask;
    uint32_t count[CO_MATCH_CLASSES]; // in the table
    struct co_match_list rest;        // beyond it
    uint64_t next_label;
    uint64_t open_sequence; // that the next compatible receive joins, 0: none
    int32_t open_source, open_tag;
};

size_t co_posted_bytes(uint32_t places, uint32_t bins);
void co_posted_open(struct co_posted *posted, void *memory, uint32_t places, uint32_t bins);
void co_posted_move(struct co_posted *posted, void *memory, uint32_t places, uint32_t bins); // co_matcher_move

void co_posted_append(struct co_posted *posted, struct co_match_node *receive);
void co_posted_remove(struct co_posted *posted, struct co_match_node *receive);

// The one that a message takes, removed, or NULL. Without `hashes` those of classes that have members are computed.
struct co_match_node *co_posted_take(struct co_posted *posted, int32_t source, int32_t tag,
                                     const struct co_match_hashes *hashes);

void co_posted_visit(const struct co_posted *posted, void (*visit)(struct co_match_node *receive, void *arg),
                     void *arg);

static inline struct co_match_bin *co_posted_bin(const struct co_posted *posted, enum co_match_class class,
                                                 uint32_t hash)
{
    size_t bins = (size_t)posted->bin_mask + 1;
    return class == CO_MATCH_ANY_BOTH ? &posted->bins[CO_MATCH_HASHED * bins]
                                      : &posted->bins[class * bins + (hash & posted->bin_mask)];
}

// `link` is not 0.
static inline struct co_posted_receive *co_posted_at(const struct co_posted *posted, uint32_t link)
{
    return &posted->table[link - 1];
}

#endif
