// SPDX-License-Identifier: BSD-3-Clause
//
// A table with a free list; a handle is the generation above the place plus one. Hot for rendezvous.
#include "p2p/handles.h"

#include <stdlib.h>

#define ROOM_FIRST 64

static int handles_grow(struct co_handles *handles)
{
    uint32_t room = handles->room == 0 ? ROOM_FIRST : 2 * handles->room;
    struct co_handle_cell *cells = realloc(handles->cells, room * sizeof(*cells));
    if (cells == NULL) {
        return -1;
    }
    for (uint32_t i = handles->room; i < room; i++) {
        cells[i] = (struct co_handle_cell){.generation = 1};
    }
    handles->cells = cells;
    handles->room = room;
    return 0;
}

uint64_t co_handles_add(struct co_handles *handles, void *object)
{
    uint32_t place = handles->free;
    if (place != 0) {
        handles->free = handles->cells[place - 1].next_free;
    } else {
        if (handles->used == handles->room && handles_grow(handles) != 0) {
            return 0;
        }
        place = ++handles->used;
    }
    handles->cells[place - 1].object = object;
    return (uint64_t)handles->cells[place - 1].generation << 32 | place;
}

static struct co_handle_cell *handles_cell(const struct co_handles *handles, uint64_t handle)
{
    uint32_t place = (uint32_t)handle;
    if (place == 0 || place > handles->used || handles->cells[place - 1].generation != (uint32_t)(handle >> 32)) {
        return NULL;
    }
    return &handles->cells[place - 1];
}

void *co_handles_find(const struct co_handles *handles, uint64_t handle)
{
    const struct co_handle_cell *cell = handles_cell(handles, handle);
    return cell == NULL ? NULL : cell->object;
}

void co_handles_remove(struct co_handles *handles, uint64_t handle)
{
    struct co_handle_cell *cell = handles_cell(handles, handle);
    if (cell != NULL) {
        cell->object = NULL;
        cell->generation++;
        cell->next_free = handles->free;
        handles->free = (uint32_t)handle;
    }
}

void *co_handles_next(const struct co_handles *handles, uint32_t *position)
{
    while (*position < handles->used) {
        void *object = handles->cells[(*position)++].object;
        if (object != NULL) {
            return object;
        }
    }
    return NULL;
}

void co_handles_close(struct co_handles *handles)
{
    free(handles->cells);
    *handles = (struct co_handles){.room = 0};
}
