// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators that a rank makes, and the groups that it makes them of: ranks of the communicator that the group comes
// from. What is not followed (unions, differences, ranges, spawned programs) is a communicator of unknown members.
#include "trace/analyze/tracker_parts.h"

#include <stdlib.h>
#include <string.h>

struct group {
    uint32_t comm;
    bool is_whole; // all of it
    uint32_t count;
    int32_t ranks[];
};

void co_tracker_groups_close(struct co_hash_map *groups)
{
    size_t position = 0;
    void *entry;
    while ((entry = co_hash_map_next(groups, &position, NULL)) != NULL) {
        free(entry);
    }
    co_hash_map_close(groups);
}

static struct group *make_group(uint32_t comm, bool is_whole, uint32_t count)
{
    struct group *group = calloc(1, sizeof *group + count * sizeof *group->ranks);
    if (group != NULL) {
        group->comm = comm;
        group->is_whole = is_whole;
        group->count = count;
    }
    return group;
}

// Of ranks of another one. NULL: not known.
static struct group *include(const struct group *from, const struct co_call *call)
{
    struct group *group = from == NULL ? NULL : make_group(from->comm, false, call->number_count);
    for (uint32_t i = 0; group != NULL && i < call->number_count; i++) {
        int32_t rank = call->numbers[i];
        if (rank < 0 || (!from->is_whole && (uint32_t)rank >= from->count)) {
            free(group);
            return NULL;
        }
        group->ranks[i] = from->is_whole ? rank : from->ranks[rank];
    }
    return group;
}

static void keep_group(struct co_tracker *tracker, uint32_t number, struct group *group)
{
    free(co_hash_map_remove(&tracker->groups, number));
    if (group != NULL && co_hash_map_put(&tracker->groups, number, group) != 0) {
        free(group);
        tracker->is_out_of_memory = true;
    }
}

static void add_numbers(struct co_tracker *tracker, const int32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += CO_EVENT_NUMBERS_MAX) {
        struct co_event event = {.op = CO_EVENT_NUMBERS};
        uint32_t some = count - i < CO_EVENT_NUMBERS_MAX ? count - i : CO_EVENT_NUMBERS_MAX;
        memcpy((char *)&event + offsetof(struct co_event, comm), numbers + i, some * sizeof *numbers);
        co_event_writer_add(tracker->writer, &event);
    }
}

static void add_comm(struct co_tracker *tracker, const struct co_call *call, enum co_event_comm way, int32_t color,
                     int32_t key)
{
    struct co_event event = co_tracker_event(tracker, call, CO_EVENT_COMM, call->end_ns);
    event.flags = (uint8_t)way;
    event.number = call->new_comm;
    event.peer = color;
    event.tag = key;
    co_event_writer_add(tracker->writer, &event);
}

static void add_created(struct co_tracker *tracker, const struct co_call *call)
{
    const struct group *group = co_hash_map_get(&tracker->groups, call->group);
    if (group != NULL && group->is_whole && group->comm == call->comm) {
        add_comm(tracker, call, CO_COMM_BY_DUP, 0, 0);
    } else if (group != NULL && !group->is_whole && group->comm == call->comm) {
        add_comm(tracker, call, CO_COMM_BY_CREATE, 0, (int32_t)group->count);
        add_numbers(tracker, group->ranks, group->count);
    } else {
        add_comm(tracker, call, CO_COMM_BY_UNKNOWN, 0, 0);
    }
}

static int32_t cells(const struct co_call *call)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < call->number_count && product < INT32_MAX; i++) {
        product *= call->numbers[i] > 0 ? call->numbers[i] : 1;
    }
    return product < INT32_MAX ? (int32_t)product : INT32_MAX;
}

void co_tracker_add_communicator(struct co_tracker *tracker, const struct co_call *call)
{
    switch (call->op) {
    case CO_CALL_COMM_GROUP:
        keep_group(tracker, call->new_group, make_group(call->comm, true, 0));
        break;
    case CO_CALL_GROUP_INCL:
        keep_group(tracker, call->new_group, include(co_hash_map_get(&tracker->groups, call->group), call));
        break;
    case CO_CALL_GROUP_UNKNOWN:
        keep_group(tracker, call->new_group, NULL);
        break;
    case CO_CALL_COMM_DUP:
        add_comm(tracker, call, CO_COMM_BY_DUP, 0, 0);
        break;
    case CO_CALL_COMM_SPLIT:
        add_comm(tracker, call, CO_COMM_BY_SPLIT, call->color, call->key);
        break;
    case CO_CALL_COMM_CREATE:
        add_created(tracker, call);
        break;
    case CO_CALL_CART_CREATE:
        add_comm(tracker, call, CO_COMM_BY_GRID, 0, cells(call));
        break;
    case CO_CALL_COMM_MEMBERS:
        add_comm(tracker, call, CO_COMM_BY_MEMBERS, call->color, (int32_t)call->number_count);
        add_numbers(tracker, call->numbers, call->number_count);
        break;
    default:
        add_comm(tracker, call, CO_COMM_BY_UNKNOWN, 0, 0);
        break;
    }
}
