// SPDX-License-Identifier: BSD-3-Clause
//
// Sets are made in a draft of three lists, and sorted when they are finished.
#include "tools/trace/events/rank_set.h"

#include <stdlib.h>
#include <string.h>

struct list {
    int32_t *at;
    uint32_t count, room;
};

struct draft {
    struct list first, last, out;
    bool has_rest, has_failed;
};

static void add(struct draft *draft, struct list *list, int32_t rank)
{
    if (list->count == list->room) {
        uint32_t room = list->room == 0 ? 16 : 2 * list->room;
        int32_t *larger = room > CO_RANK_SET_MAX ? NULL : realloc(list->at, room * sizeof *larger);
        if (larger == NULL) {
            draft->has_failed = true;
            return;
        }
        list->at = larger;
        list->room = room;
    }
    list->at[list->count++] = rank;
}

static void add_all(struct draft *draft, struct list *list, const int32_t *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add(draft, list, ranks[i]);
    }
}

static int compare(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

// Ascending; how many different ones.
static uint32_t sort(int32_t *ranks, uint32_t count)
{
    uint32_t kept = 0;
    qsort(ranks, count, sizeof *ranks, compare);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || ranks[kept - 1] != ranks[i]) {
            ranks[kept++] = ranks[i];
        }
    }
    return kept;
}

static void copy(int32_t *to, const int32_t *from, uint32_t count)
{
    if (count > 0) {
        memcpy(to, from, count * sizeof *to);
    }
}

static struct co_rank_set *finish(struct draft *draft)
{
    uint32_t head = draft->first.count, tail = draft->last.count, named = head + tail;
    uint32_t outs = draft->has_rest ? draft->out.count + named : 0;
    struct co_rank_set *set =
        draft->has_failed ? NULL : malloc(sizeof *set + ((size_t)2 * named + outs) * sizeof set->numbers[0]);
    if (set != NULL) {
        *set = (struct co_rank_set){.has_rest = draft->has_rest, .head = head, .tail = tail};
        set->first = set->numbers;
        set->last = set->first + head;
        set->named = set->last + tail;
        set->out = set->named + named;
        copy(set->first, draft->first.at, head);
        copy(set->last, draft->last.at, tail);
        copy(set->named, set->first, named);
        copy(set->out, draft->out.at, outs - (outs > 0 ? named : 0));
        copy(set->out + outs - (outs > 0 ? named : 0), set->first, outs > 0 ? named : 0);
        set->outs = sort(set->out, outs);
        bool is_twice = sort(set->named, named) != named; // no group has a rank twice
        if (is_twice) {
            free(set);
            set = NULL;
        }
    }
    free(draft->first.at);
    free(draft->last.at);
    free(draft->out.at);
    return set;
}

static bool holds(const int32_t *ranks, uint32_t count, int32_t rank)
{
    return count > 0 && bsearch(&rank, ranks, count, sizeof rank, compare) != NULL;
}

static bool is_named(const struct co_rank_set *set, int32_t rank)
{
    return holds(set->named, set->head + set->tail, rank);
}

static bool is_in(const struct co_rank_set *set, int32_t rank)
{
    return is_named(set, rank) || (set->has_rest && !holds(set->out, set->outs, rank));
}

// -1: nobody knows, or there is none.
static int32_t rank_at(const struct co_rank_set *set, int32_t place)
{
    if (place < 0 || (!set->has_rest && (uint32_t)place >= set->head)) {
        return -1;
    }
    if ((uint32_t)place < set->head) {
        return set->first[place];
    }
    uint32_t wanted = (uint32_t)place - set->head, low = 0, high = set->outs;
    while (low < high) { // how many of those left out stand before it
        uint32_t middle = (low + high) / 2;
        bool is_before = (uint32_t)set->out[middle] - middle <= wanted;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return wanted > (uint32_t)INT32_MAX - low ? -1 : (int32_t)(wanted + low);
}

struct co_rank_set *co_rank_set_whole(void)
{
    struct draft draft = {.has_rest = true};
    return finish(&draft);
}

struct co_rank_set *co_rank_set_empty(void)
{
    struct draft draft = {.has_rest = false};
    return finish(&draft);
}

struct co_rank_set *co_rank_set_include(const struct co_rank_set *set, const int32_t *places, uint32_t count)
{
    struct draft draft = {.has_rest = false};
    for (uint32_t i = 0; i < count && !draft.has_failed; i++) {
        int32_t rank = rank_at(set, places[i]);
        draft.has_failed = rank < 0;
        add(&draft, &draft.first, rank);
    }
    return finish(&draft);
}

struct co_rank_set *co_rank_set_exclude(const struct co_rank_set *set, const int32_t *places, uint32_t count)
{
    struct co_rank_set *without = co_rank_set_include(set, places, count);
    struct co_rank_set *result = without == NULL ? NULL : co_rank_set_subtract(set, without);
    free(without);
    return result;
}

// Those of a list that are in the other set, or that are not.
static void add_where(struct draft *draft, struct list *list, const int32_t *ranks, uint32_t count,
                      const struct co_rank_set *other, bool is_wanted)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_in(other, ranks[i]) == is_wanted) {
            add(draft, list, ranks[i]);
        }
    }
}

// Ranks that a set with a rest does not hold.
static void add_lacking(struct draft *draft, struct list *list, const struct co_rank_set *set)
{
    for (uint32_t i = 0; i < set->outs; i++) {
        if (!is_named(set, set->out[i])) {
            add(draft, list, set->out[i]);
        }
    }
}

// Of an ascending list those that are in the set's rest.
static void add_of_rest(struct draft *draft, const int32_t *ranks, uint32_t count, const struct co_rank_set *set)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!holds(set->out, set->outs, ranks[i])) {
            add(draft, &draft->first, ranks[i]);
        }
    }
}

struct co_rank_set *co_rank_set_unite(const struct co_rank_set *left, const struct co_rank_set *right)
{
    struct draft draft = {.has_rest = left->has_rest || right->has_rest};
    add_all(&draft, &draft.first, left->first, left->head);
    if (left->has_rest) {
        struct draft lacking = {.has_rest = false};
        add_all(&draft, &draft.out, left->out, left->outs);
        add_all(&draft, &draft.last, left->last, left->tail);
        add_where(&draft, &draft.last, right->first, right->head, left, false);
        add_lacking(&lacking, &lacking.first, left);
        for (uint32_t i = 0; right->has_rest && i < lacking.first.count; i++) {
            if (!holds(right->out, right->outs, lacking.first.at[i])) {
                add(&draft, &draft.last, lacking.first.at[i]);
            }
        }
        draft.has_failed = draft.has_failed || lacking.has_failed;
        free(lacking.first.at);
    } else {
        add_where(&draft, &draft.first, right->first, right->head, left, false);
        add_all(&draft, &draft.out, right->out, right->outs);
    }
    add_where(&draft, &draft.last, right->last, right->tail, left, false);
    return finish(&draft);
}

struct co_rank_set *co_rank_set_intersect(const struct co_rank_set *left, const struct co_rank_set *right)
{
    struct draft draft = {.has_rest = left->has_rest && right->has_rest};
    add_where(&draft, &draft.first, left->first, left->head, right, true);
    if (draft.has_rest) {
        add_all(&draft, &draft.out, left->out, left->outs);
        add_lacking(&draft, &draft.out, right);
        // What the right one names, and the left one has in its rest, stays where it is.
    } else if (left->has_rest) {
        add_of_rest(&draft, right->named, right->head + right->tail, left);
    }
    add_where(&draft, draft.has_rest ? &draft.last : &draft.first, left->last, left->tail, right, true);
    return finish(&draft);
}

struct co_rank_set *co_rank_set_subtract(const struct co_rank_set *left, const struct co_rank_set *right)
{
    struct draft draft = {.has_rest = left->has_rest && !right->has_rest}, lacking = {.has_rest = false};
    add_where(&draft, &draft.first, left->first, left->head, right, false);
    if (draft.has_rest) {
        add_all(&draft, &draft.out, left->out, left->outs);
        add_all(&draft, &draft.out, right->named, right->head + right->tail);
    } else if (left->has_rest) {
        add_lacking(&lacking, &lacking.first, right);
        add_of_rest(&draft, lacking.first.at, lacking.first.count, left);
    }
    add_where(&draft, draft.has_rest ? &draft.last : &draft.first, left->last, left->tail, right, false);
    draft.has_failed = draft.has_failed || lacking.has_failed;
    free(lacking.first.at);
    return finish(&draft);
}
