// SPDX-License-Identifier: BSD-3-Clause
//
// Groups of a rank: which ranks of which communicators they hold. As long as they are of one communicator they are sets
// (rank_set.h); what is made of several is told step by step, for only the replay knows who is in which. A group of a
// window or a file, and one of very many ranks are not followed.
#include "tools/trace/events/tracker_parts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/trace/events/rank_set.h"

enum { ANY_COMM = 0 };                        // of the empty group
enum { MADE_MAX = 4 * CO_RANK_SET_MAX };      // numbers
enum { SET_NUMBERS = 7, CHOICE_NUMBERS = 2 }; // without the ranks

static void free_group(struct co_tracked_group *group)
{
    if (group != NULL) {
        free(group->ranks);
        free(group->made);
    }
    free(group);
}

void co_tracker_groups_close(struct co_hash_map *groups)
{
    size_t position = 0;
    struct co_tracked_group *group;
    while ((group = co_hash_map_next(groups, &position, NULL)) != NULL) {
        free_group(group);
    }
    co_hash_map_close(groups);
}

// `draft` has the ranks, or how they were made, which become the group's; with neither, it is not known.
static void keep(struct co_tracker *tracker, uint32_t number, const struct co_tracked_group *draft)
{
    free_group(co_hash_map_remove(&tracker->groups, number));
    if (draft->ranks == NULL && draft->made == NULL) {
        return;
    }
    struct co_tracked_group *group = malloc(sizeof *group);
    if (group != NULL) {
        *group = *draft;
    }
    if (group == NULL || co_hash_map_put(&tracker->groups, number, group) != 0) {
        free(draft->ranks);
        free(draft->made);
        free(group);
        tracker->is_out_of_memory = true;
    }
}

const struct co_tracked_group *co_tracker_group(struct co_tracker *tracker, uint32_t number)
{
    if (number == CO_GROUP_EMPTY && co_hash_map_get(&tracker->groups, number) == NULL) {
        keep(tracker, number, &(struct co_tracked_group){.comm = ANY_COMM, .ranks = co_rank_set_empty()});
    }
    return co_hash_map_get(&tracker->groups, number);
}

static bool names(const struct co_tracked_group *group, uint32_t comm)
{
    bool is_named = group->comm == comm;
    for (uint32_t i = 0; group->made != NULL && !is_named && i < group->made_count;) {
        const int32_t *at = group->made + i;
        bool is_choice = *at == CO_GROUP_INCLUDE || *at == CO_GROUP_EXCLUDE;
        is_named = *at == CO_GROUP_SET && (uint32_t)at[1] == comm;
        i += *at == CO_GROUP_SET ? SET_NUMBERS + (uint32_t)(at[4] + at[5] + at[6])
             : is_choice         ? CHOICE_NUMBERS + (uint32_t)at[1]
                                 : 1;
    }
    return is_named;
}

void co_tracker_forget_groups(struct co_tracker *tracker, uint32_t comm)
{
    size_t position = 0;
    uint64_t number;
    struct co_tracked_group *group;
    while ((group = co_hash_map_next(&tracker->groups, &position, &number)) != NULL) {
        if (names(group, comm)) {
            free_group(co_hash_map_remove(&tracker->groups, number));
            position = 0; // others may have moved
        }
    }
}

// With room for so many numbers more.
static int32_t *tell_how_made(const struct co_tracked_group *group, uint32_t more, uint32_t *count)
{
    const struct co_rank_set *set = group->ranks;
    uint32_t named = set == NULL ? 0 : set->head + set->tail;
    *count = set == NULL ? group->made_count : SET_NUMBERS + named + set->outs;
    int32_t *numbers = malloc(((size_t)*count + more) * sizeof *numbers);
    if (numbers == NULL) {
        return NULL;
    }
    if (set == NULL) {
        memcpy(numbers, group->made, *count * sizeof *numbers);
        return numbers;
    }
    const int32_t begin[SET_NUMBERS] = {CO_GROUP_SET,       (int32_t)group->comm, group->is_remote,  set->has_rest,
                                        (int32_t)set->head, (int32_t)set->tail,   (int32_t)set->outs};
    memcpy(numbers, begin, sizeof begin);
    memcpy(numbers + SET_NUMBERS, set->first, named * sizeof *numbers); // the tail stands behind
    memcpy(numbers + SET_NUMBERS + named, set->out, set->outs * sizeof *numbers);
    return numbers;
}

int32_t *co_tracked_group_made(const struct co_tracked_group *group, uint32_t *count)
{
    return tell_how_made(group, 0, count);
}

// Ranges of first, last and step, as the places that they name. NULL: more than a set can have, or nonsense.
static int32_t *expand(const struct co_traced_call *call, uint32_t *count)
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

static bool is_exclusion(const struct co_traced_call *call)
{
    return call->op == CO_CALL_GROUP_EXCL || call->op == CO_CALL_GROUP_RANGE_EXCL;
}

static void choose(const struct co_traced_call *call, const struct co_tracked_group *from, const int32_t *places,
                   uint32_t count, struct co_tracked_group *group)
{
    uint32_t before;
    if (from->ranks != NULL) {
        group->comm = from->comm;
        group->is_remote = from->is_remote;
        group->ranks = is_exclusion(call) ? co_rank_set_exclude(from->ranks, places, count)
                                          : co_rank_set_include(from->ranks, places, count);
    } else if (count < MADE_MAX && from->made_count < MADE_MAX - CHOICE_NUMBERS - count &&
               (group->made = tell_how_made(from, CHOICE_NUMBERS + count, &before)) != NULL) {
        group->made[before] = is_exclusion(call) ? CO_GROUP_EXCLUDE : CO_GROUP_INCLUDE;
        group->made[before + 1] = (int32_t)count;
        for (uint32_t i = 0; i < count; i++) {
            group->made[before + CHOICE_NUMBERS + i] = places[i];
        }
        group->made_count = before + CHOICE_NUMBERS + count;
    }
}

static void add_choice(struct co_tracker *tracker, const struct co_traced_call *call,
                       const struct co_tracked_group *from)
{
    struct co_tracked_group group = {.comm = ANY_COMM};
    uint32_t count = 0;
    bool is_range = call->op == CO_CALL_GROUP_RANGE_INCL || call->op == CO_CALL_GROUP_RANGE_EXCL;
    int32_t *expanded = is_range ? expand(call, &count) : NULL;
    if (!is_range || expanded != NULL) {
        choose(call, from, is_range ? expanded : call->numbers, is_range ? count : call->number_count, &group);
    }
    free(expanded);
    keep(tracker, call->new_group, &group);
}

static void combine_sets(unsigned op, const struct co_tracked_group *left, const struct co_tracked_group *right,
                         struct co_tracked_group *group)
{
    const struct co_tracked_group *of = left->comm != ANY_COMM ? left : right;
    group->comm = of->comm;
    group->is_remote = of->is_remote;
    group->ranks = op == CO_CALL_GROUP_UNION          ? co_rank_set_unite(left->ranks, right->ranks)
                   : op == CO_CALL_GROUP_INTERSECTION ? co_rank_set_intersect(left->ranks, right->ranks)
                                                      : co_rank_set_subtract(left->ranks, right->ranks);
}

// Of two communicators: how the left one was made, the right one, and what is done to them.
static void combine_made(unsigned op, const struct co_tracked_group *left, const struct co_tracked_group *right,
                         struct co_tracked_group *group)
{
    uint32_t left_count, right_count;
    int32_t *behind = tell_how_made(right, 0, &right_count);
    int32_t *made = behind == NULL ? NULL : tell_how_made(left, right_count + 1, &left_count);
    if (made != NULL && left_count + right_count < MADE_MAX) {
        memcpy(made + left_count, behind, right_count * sizeof *made);
        made[left_count + right_count] = op == CO_CALL_GROUP_UNION          ? CO_GROUP_UNITE
                                         : op == CO_CALL_GROUP_INTERSECTION ? CO_GROUP_INTERSECT
                                                                            : CO_GROUP_SUBTRACT;
        group->made_count = left_count + right_count + 1;
        group->made = made;
        made = NULL;
    }
    free(made);
    free(behind);
}

static void add_combination(struct co_tracker *tracker, const struct co_traced_call *call,
                            const struct co_tracked_group *left, const struct co_tracked_group *right)
{
    struct co_tracked_group group = {.comm = ANY_COMM};
    bool are_sets = left->ranks != NULL && right->ranks != NULL;
    if (are_sets && ((left->comm == right->comm && left->is_remote == right->is_remote) || left->comm == ANY_COMM ||
                     right->comm == ANY_COMM)) {
        combine_sets(call->op, left, right, &group);
    } else {
        combine_made(call->op, left, right, &group);
    }
    keep(tracker, call->new_group, &group);
}

void co_tracker_add_group(struct co_tracker *tracker, const struct co_traced_call *call)
{
    bool is_of_two = call->op >= CO_CALL_GROUP_UNION && call->op <= CO_CALL_GROUP_DIFFERENCE;
    bool is_remote = call->op == CO_CALL_COMM_REMOTE_GROUP;
    const struct co_tracked_group *left = co_tracker_group(tracker, call->group);
    const struct co_tracked_group *right = is_of_two ? co_tracker_group(tracker, call->other_group) : left;
    if (call->op == CO_CALL_COMM_GROUP || is_remote) {
        keep(tracker, call->new_group,
             &(struct co_tracked_group){.comm = call->comm, .is_remote = is_remote, .ranks = co_rank_set_whole()});
    } else if (call->op == CO_CALL_GROUP_UNKNOWN || left == NULL || right == NULL) {
        keep(tracker, call->new_group, &(struct co_tracked_group){.comm = ANY_COMM});
    } else if (is_of_two) {
        add_combination(tracker, call, left, right);
    } else {
        add_choice(tracker, call, left);
    }
}
