// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators that a rank makes: events that say of which ranks. What is not followed (between groups, of spawned
// programs, of groups that are not followed) is a communicator of unknown members.
#include "trace/analyze/tracker_parts.h"

#include <stdlib.h>
#include <string.h>

#include "trace/analyze/rank_set.h"

struct grid {
    uint32_t count;
    int32_t lengths[];
};

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

// Ranks as the replay takes them apart, which knows how many there are (replay_groups.c).
static void add_created(struct co_tracker *tracker, const struct co_call *call)
{
    const struct co_tracked_group *group = co_tracker_group(tracker, call->group);
    bool is_of_it = group != NULL && (group->comm == call->comm || group->comm == 0);
    const struct co_rank_set *ranks = is_of_it ? group->ranks : NULL;
    if (ranks == NULL) {
        add_comm(tracker, call, CO_COMM_BY_UNKNOWN, 0, 0);
        return;
    }
    uint32_t head = ranks->head, tail = ranks->tail, outs = ranks->outs, all = 4 + head + tail + outs;
    int32_t *numbers = malloc(all * sizeof *numbers);
    if (numbers == NULL) {
        tracker->is_out_of_memory = true;
        return;
    }
    const int32_t sizes[] = {ranks->has_rest, (int32_t)head, (int32_t)tail, (int32_t)outs};
    memcpy(numbers, sizes, sizeof sizes);
    memcpy(numbers + 4, ranks->first, (head + tail) * sizeof *numbers); // the tail stands behind
    memcpy(numbers + 4 + head + tail, ranks->out, outs * sizeof *numbers);
    add_comm(tracker, call, CO_COMM_BY_GROUP, 0, (int32_t)all);
    add_numbers(tracker, numbers, all);
    free(numbers);
}

static int32_t cells(const struct co_call *call)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < call->number_count && product < INT32_MAX; i++) {
        product *= call->numbers[i] > 0 ? call->numbers[i] : 1;
    }
    return product < INT32_MAX ? (int32_t)product : INT32_MAX;
}

// The lengths of a grid, for those that are cut out of it. None: it is not a grid.
static void keep_grid(struct co_tracker *tracker, uint32_t comm, const int32_t *lengths, uint32_t count)
{
    struct grid *grid = count == 0 || comm < CO_COMM_FIRST ? NULL : malloc(sizeof *grid + count * sizeof *lengths);
    free(co_hash_map_remove(&tracker->grids, comm));
    if (grid == NULL) {
        return;
    }
    grid->count = count;
    memcpy(grid->lengths, lengths, count * sizeof *lengths);
    if (co_hash_map_put(&tracker->grids, comm, grid) != 0) {
        free(grid);
        tracker->is_out_of_memory = true;
    }
}

// A grid's lengths, then which of them the new ones keep.
static void add_part_of_grid(struct co_tracker *tracker, const struct co_call *call)
{
    const struct grid *from = co_hash_map_get(&tracker->grids, call->comm);
    int32_t *numbers = NULL, *kept = NULL;
    uint32_t count = from == NULL || from->count != call->number_count ? 0 : from->count, kept_count = 0;
    if (count > 0) {
        numbers = malloc(2 * (size_t)count * sizeof *numbers);
        kept = malloc(count * sizeof *kept);
    }
    if (numbers == NULL || kept == NULL) {
        tracker->is_out_of_memory = tracker->is_out_of_memory || count > 0;
        add_comm(tracker, call, CO_COMM_BY_UNKNOWN, 0, 0);
        count = 0;
    } else {
        memcpy(numbers, from->lengths, count * sizeof *numbers);
        memcpy(numbers + count, call->numbers, count * sizeof *numbers);
        add_comm(tracker, call, CO_COMM_BY_PART, 0, (int32_t)(2 * count));
        add_numbers(tracker, numbers, 2 * count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (call->numbers[i] != 0) {
            kept[kept_count++] = from->lengths[i];
        }
    }
    keep_grid(tracker, call->new_comm, kept, kept_count);
    free(numbers);
    free(kept);
}

static void duplicate_grid(struct co_tracker *tracker, const struct co_call *call)
{
    const struct grid *from = co_hash_map_get(&tracker->grids, call->comm);
    keep_grid(tracker, call->new_comm, from == NULL ? NULL : from->lengths, from == NULL ? 0 : from->count);
}

void co_tracker_add_communicator(struct co_tracker *tracker, const struct co_call *call)
{
    if (call->op != CO_CALL_COMM_DUP && call->op != CO_CALL_CART_SUB) {
        keep_grid(tracker, call->new_comm, call->numbers, call->op == CO_CALL_CART_CREATE ? call->number_count : 0);
    }
    switch (call->op) {
    case CO_CALL_COMM_DUP:
        duplicate_grid(tracker, call);
        add_comm(tracker, call, CO_COMM_BY_DUP, 0, 0);
        break;
    case CO_CALL_COMM_SPLIT:
        add_comm(tracker, call, CO_COMM_BY_SPLIT, call->color, call->key);
        break;
    case CO_CALL_COMM_CREATE:
        add_created(tracker, call);
        break;
    case CO_CALL_CART_CREATE:
        add_comm(tracker, call, CO_COMM_BY_GRID, call->reorder, cells(call));
        break;
    case CO_CALL_GRAPH_CREATE:
        add_comm(tracker, call, CO_COMM_BY_GRID, call->reorder, (int32_t)call->number_count);
        break;
    case CO_CALL_CART_SUB:
        add_part_of_grid(tracker, call);
        break;
    case CO_CALL_INTERCOMM_CREATE:
        add_comm(tracker, call, CO_COMM_BY_LEADERS, 0, 4);
        add_numbers(tracker, (const int32_t[]){call->root, (int32_t)call->other_group, call->peer, call->tag}, 4);
        break;
    case CO_CALL_COMM_MEMBERS:
    case CO_CALL_COMM_BETWEEN:
        add_comm(tracker, call, call->op == CO_CALL_COMM_MEMBERS ? CO_COMM_BY_MEMBERS : CO_COMM_BETWEEN, call->color,
                 (int32_t)call->number_count);
        add_numbers(tracker, call->numbers, call->number_count);
        break;
    default:
        add_comm(tracker, call, CO_COMM_BY_UNKNOWN, 0, 0);
        break;
    }
}
