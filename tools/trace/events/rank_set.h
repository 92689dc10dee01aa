// SPDX-License-Identifier: BSD-3-Clause
//
// An ordered set of ranks of a communicator whose size is not known: ranks that are named, then, perhaps, all others
// but some in ascending order, then ranks that are named again. That is what the operations on MPI groups make of each
// other. A set is made by one of these functions and freed with free. NULL: no memory, or what was asked for cannot be
// told, or is none. One thread. Cold.
#ifndef CASTOFF_TOOLS_TRACE_EVENTS_RANK_SET_H
#define CASTOFF_TOOLS_TRACE_EVENTS_RANK_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { CO_RANK_SET_MAX = 1 << 16 }; // ranks that are named, and that are left out

struct co_rank_set {
    bool has_rest;             // all ranks that are not in `out`; what is named is in `out`
    uint32_t head, tail, outs; // how many
    int32_t *first, *last;     // named, in order
    int32_t *named;            // both, ascending
    int32_t *out;              // ascending
    int32_t numbers[];
};

struct co_rank_set *co_rank_set_whole(void);
struct co_rank_set *co_rank_set_empty(void);
// Of the ranks at these places; and without them.
struct co_rank_set *co_rank_set_include(const struct co_rank_set *set, const int32_t *places, uint32_t count);
struct co_rank_set *co_rank_set_exclude(const struct co_rank_set *set, const int32_t *places, uint32_t count);
// As MPI orders them: what is in the first one, then what is in the second one alone.
struct co_rank_set *co_rank_set_unite(const struct co_rank_set *left, const struct co_rank_set *right);
struct co_rank_set *co_rank_set_intersect(const struct co_rank_set *left, const struct co_rank_set *right);
struct co_rank_set *co_rank_set_subtract(const struct co_rank_set *left, const struct co_rank_set *right);

#endif
