// SPDX-License-Identifier: BSD-3-Clause
//
// Groups of a rank: which ranks of which communicator they hold (rank_set.h). A group of two communicators, of another
// group's, of a window or a file, and one of very many ranks are not followed.
#include "trace/analyze/tracker_parts.h"

#include <stdlib.h>

#include "trace/analyze/rank_set.h"

enum { ANY_COMM = 0 }; // of the empty group

void co_tracker_groups_close(struct co_hash_map *groups)
{
    size_t position = 0;
    struct co_tracked_group *group;
    while ((group = co_hash_map_next(groups, &position, NULL)) != NULL) {
        free(group->ranks);
        free(group);
    }
    co_hash_map_close(groups);
}

// The group has the ranks, or, with none, is not known.
static void keep(struct co_tracker *tracker, uint32_t number, uint32_t comm, struct co_rank_set *ranks)
{
    struct co_tracked_group *old = co_hash_map_remove(&tracker->groups, number);
    struct co_tracked_group *group = ranks == NULL ? NULL : malloc(sizeof *group);
    if (old != NULL) {
        free(old->ranks);
        free(old);
    }
    if (group == NULL) {
        free(ranks);
        return;
    }
    *group = (struct co_tracked_group){.comm = comm, .ranks = ranks};
    if (co_hash_map_put(&tracker->groups, number, group) != 0) {
        free(ranks);
        free(group);
        tracker->is_out_of_memory = true;
    }
}

const struct co_tracked_group *co_tracker_group(struct co_tracker *tracker, uint32_t number)
{
    if (number == CO_GROUP_EMPTY && co_hash_map_get(&tracker->groups, number) == NULL) {
        keep(tracker, number, ANY_COMM, co_rank_set_empty());
    }
    return co_hash_map_get(&tracker->groups, number);
}

// Ranges of first, last and step, as the places that they name. NULL: more than a set can have, or nonsense.
static int32_t *expand(const struct co_call *call, uint32_t *count)
{
    int32_t *places = malloc(CO_RANK_SET_MAX * sizeof *places);
    bool is_sound = places != NULL && call->number_count % 3 == 0;
    *count = 0;
    for (uint32_t i = 0; is_sound && i + 2 < call->number_count; i += 3) {
        int64_t last = call->numbers[i + 1], step = call->numbers[i + 2];
        is_sound = step != 0;
        for (int64_t place = call->numbers[i]; is_sound && (step > 0 ? place <= last : place >= last); place += step) {
            is_sound = *count < CO_RANK_SET_MAX && place >= 0;
            if (is_sound) {
                places[(*count)++] = (int32_t)place;
            }
        }
    }
    if (!is_sound) {
        free(places);
        return NULL;
    }
    return places;
}

static struct co_rank_set *choose(const struct co_call *call, const struct co_rank_set *from)
{
    uint32_t count = 0;
    bool is_range = call->op == CO_CALL_GROUP_RANGE_INCL || call->op == CO_CALL_GROUP_RANGE_EXCL;
    bool is_exclusion = call->op == CO_CALL_GROUP_EXCL || call->op == CO_CALL_GROUP_RANGE_EXCL;
    int32_t *expanded = is_range ? expand(call, &count) : NULL;
    const int32_t *places = is_range ? expanded : call->numbers;
    count = is_range ? count : call->number_count;
    struct co_rank_set *ranks = is_range && expanded == NULL ? NULL
                                : is_exclusion               ? co_rank_set_exclude(from, places, count)
                                                             : co_rank_set_include(from, places, count);
    free(expanded);
    return ranks;
}

static struct co_rank_set *combine(unsigned op, const struct co_rank_set *left, const struct co_rank_set *right)
{
    return op == CO_CALL_GROUP_UNION          ? co_rank_set_unite(left, right)
           : op == CO_CALL_GROUP_INTERSECTION ? co_rank_set_intersect(left, right)
                                              : co_rank_set_subtract(left, right);
}

void co_tracker_add_group(struct co_tracker *tracker, const struct co_call *call)
{
    bool is_of_two = call->op >= CO_CALL_GROUP_UNION && call->op <= CO_CALL_GROUP_DIFFERENCE;
    const struct co_tracked_group *left = co_tracker_group(tracker, call->group);
    const struct co_tracked_group *right = is_of_two ? co_tracker_group(tracker, call->other_group) : left;
    if (call->op == CO_CALL_COMM_GROUP) {
        keep(tracker, call->new_group, call->comm, co_rank_set_whole());
    } else if (call->op == CO_CALL_GROUP_UNKNOWN || left == NULL || right == NULL) {
        keep(tracker, call->new_group, ANY_COMM, NULL);
    } else if (!is_of_two) {
        keep(tracker, call->new_group, left->comm, choose(call, left->ranks));
    } else {
        bool is_of_one = left->comm == right->comm || left->comm == ANY_COMM || right->comm == ANY_COMM;
        keep(tracker, call->new_group, left->comm != ANY_COMM ? left->comm : right->comm,
             is_of_one ? combine(call->op, left->ranks, right->ranks) : NULL);
    }
}
