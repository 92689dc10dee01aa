// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators that a rank makes: events that say of which ranks. What is not followed (of spawned programs, of groups
// that are not followed) is a communicator of unknown members.
#include "tools/trace/events/tracker_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static void add_comm(struct co_tracker *tracker, const struct co_traced_call *call, enum co_event_comm way,
                     int32_t color, int32_t key)
{
    struct co_event event = co_tracker_event(tracker, call, CO_EVENT_COMM, call->end_ns);
    event.flags = (uint8_t)way;
    event.number = call->new_comm;
    event.peer = color;
    event.tag = key;
    co_event_writer_add(tracker->writer, &event);
}

// The group as the replay takes it apart (replay_sets.c), which knows how many ranks there are.
static void add_created(struct co_tracker *tracker, const struct co_traced_call *call)
{
    const struct co_tracked_group *group = co_tracker_group(tracker, call->group);
    uint32_t count = 0;
    if (group == NULL) {
        add_comm(tracker, call, CO_COMM_BY_UNKNOWN, 0, 0);
        return;
    }
    int32_t *numbers = co_tracked_group_made(group, &count);
    if (numbers == NULL) {
        tracker->is_out_of_memory = true;
        return;
    }
    add_comm(tracker, call, CO_COMM_BY_GROUP, 0, (int32_t)count);
    add_numbers(tracker, numbers, count);
    free(numbers);
}

static int32_t cells(const struct co_traced_call *call)
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
static void add_part_of_grid(struct co_tracker *tracker, const struct co_traced_call *call)
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

static void duplicate_grid(struct co_tracker *tracker, const struct co_traced_call *call)
{
    const struct grid *from = co_hash_map_get(&tracker->grids, call->comm);
    keep_grid(tracker, call->new_comm, from == NULL ? NULL : from->lengths, from == NULL ? 0 : from->count);
}

// Own rank in a grid that is laid out row by row, with one of its lengths moved by so much; -1: there is no such place.
static int64_t move(const struct grid *grid, int64_t rank, int32_t direction, int64_t distance)
{
    int64_t below = 1; // cells of what is behind the direction
    for (uint32_t i = (uint32_t)direction + 1; i < grid->count; i++) {
        below *= grid->lengths[i] > 0 ? grid->lengths[i] : 1;
        if (below > INT32_MAX) {
            return -1;
        }
    }
    int64_t length = grid->lengths[direction], at = length > 0 ? rank / below % length : 0;
    return length > 0 ? rank + ((at + distance % length + length) % length - at) * below : -1;
}

static int64_t find_own_place(const struct grid *grid, const struct co_traced_call *call)
{
    if (call->op == CO_CALL_CART_SHIFT) {
        bool is_sound = call->color >= 0 && (uint32_t)call->color < grid->count;
        return !is_sound           ? -1
               : call->peer >= 0   ? move(grid, call->peer, call->color, -(int64_t)call->key)
               : call->source >= 0 ? move(grid, call->source, call->color, call->key)
                                   : -1; // nobody to either side
    }
    int64_t rank = call->number_count == grid->count ? 0 : -1;
    for (uint32_t i = 0; rank >= 0 && rank <= INT32_MAX && i < grid->count; i++) {
        bool is_in = call->numbers[i] >= 0 && call->numbers[i] < grid->lengths[i];
        rank = is_in ? rank * grid->lengths[i] + call->numbers[i] : -1;
    }
    return rank;
}

void co_tracker_add_place(struct co_tracker *tracker, const struct co_traced_call *call)
{
    const struct grid *grid = co_hash_map_get(&tracker->grids, call->comm);
    int64_t rank = grid == NULL ? -1 : find_own_place(grid, call);
    if (rank >= 0 && rank <= INT32_MAX) {
        struct co_event event = co_tracker_event(tracker, call, CO_EVENT_RANK, call->end_ns);
        event.number = (uint32_t)rank;
        co_event_writer_add(tracker->writer, &event);
    }
}

static void note_made(struct co_tracker *tracker, const struct co_traced_call *call)
{
    int error = call->new_comm < CO_COMM_FIRST ? 0 : co_hash_map_put(&tracker->made, call->new_comm, tracker);
    if (error == -EEXIST) {
        co_tracker_forget_groups(tracker, call->new_comm);
    }
    tracker->is_out_of_memory = tracker->is_out_of_memory || error == -ENOMEM;
}

void co_tracker_add_communicator(struct co_tracker *tracker, const struct co_traced_call *call)
{
    note_made(tracker, call);
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
    case CO_CALL_INTERCOMM_MERGE:
        add_comm(tracker, call, CO_COMM_BY_MERGE, call->reorder != 0, 0);
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
