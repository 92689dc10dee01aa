// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays in a DUMPI record: their length, and as many elements. Any length may stand there; none is believed before the
// file holds as much. Hot.
#include <stdlib.h>

#include "tools/trace/read/dumpi_reading.h"

bool co_dumpi_has(struct co_dumpi_reading *reading, uint64_t bytes)
{
    if (bytes <= CO_WINDOW_BYTES_MAX && co_window_has(&reading->dumpi->window, (size_t)bytes)) {
        return true;
    }
    reading->why = "it ends in the middle of a call";
    return false;
}

// However long it is.
bool co_dumpi_skip(struct co_dumpi_reading *reading, uint64_t bytes)
{
    struct co_window *window = &reading->dumpi->window;
    if (bytes > window->size - co_window_offset(window)) {
        reading->why = "a list is longer than the file";
        return false;
    }
    return co_window_seek(window, co_window_offset(window) + bytes);
}

static bool take_count(struct co_dumpi_reading *reading, uint32_t *count)
{
    if (!co_dumpi_has(reading, 4)) {
        return false;
    }
    *count = co_dumpi_take32(&reading->dumpi->window);
    return true;
}

bool co_dumpi_skip_array(struct co_dumpi_reading *reading, unsigned element_bytes)
{
    uint32_t count;
    return take_count(reading, &count) && co_dumpi_skip(reading, (uint64_t)count * element_bytes);
}

// Arrays of `depth` more levels of arrays; the innermost elements have so many bytes.
bool co_dumpi_skip_nested(struct co_dumpi_reading *reading, int depth, unsigned element_bytes)
{
    uint32_t count;
    if (depth == 0) {
        return co_dumpi_skip_array(reading, element_bytes);
    }
    if (!take_count(reading, &count)) {
        return false;
    }
    if (count > CO_DUMPI_NESTED_MAX) {
        reading->why = "a list is longer than the file";
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!co_dumpi_skip_nested(reading, depth - 1, element_bytes)) {
            return false;
        }
    }
    return true;
}

// Room for `count` elements that `bytes` of the file hold.
static bool take_array(struct co_dumpi_reading *reading, uint32_t *count, size_t bytes, void **memory, uint32_t *room,
                       size_t element)
{
    if (!take_count(reading, count)) {
        return false;
    }
    if (*count > CO_CALL_NUMBERS_MAX || !co_dumpi_has(reading, (uint64_t)*count * bytes)) {
        reading->why = "a list is longer than the file";
        return false;
    }
    if (*count > *room) {
        void *larger = realloc(*memory, (size_t)*count * element);
        if (larger == NULL) {
            reading->why = "there is no memory for a list";
            return false;
        }
        *memory = larger;
        *room = *count;
    }
    return true;
}

bool co_dumpi_take_numbers(struct co_dumpi_reading *reading, int32_t **numbers, uint32_t *room, uint32_t *count)
{
    void *memory = *numbers;
    bool is_there = take_array(reading, count, 4, &memory, room, sizeof **numbers);
    *numbers = memory;
    for (uint32_t i = 0; is_there && i < *count; i++) {
        (*numbers)[i] = (int32_t)co_dumpi_take32(&reading->dumpi->window);
    }
    return is_there;
}

bool co_dumpi_add_numbers(struct co_dumpi_reading *reading)
{
    struct co_dumpi *dumpi = reading->dumpi;
    uint32_t rows, count, *all = &reading->call->number_count;
    bool is_there = take_count(reading, &rows) && rows <= CO_DUMPI_NESTED_MAX;
    for (uint32_t i = 0; is_there && i < rows; i++) {
        is_there = take_count(reading, &count) && count <= CO_CALL_NUMBERS_MAX - *all &&
                   co_dumpi_has(reading, 4 * (uint64_t)count);
        if (is_there && *all + count > dumpi->numbers_room) {
            uint32_t room = 2 * (*all + count);
            void *larger = realloc(dumpi->numbers, room * sizeof *dumpi->numbers);
            is_there = larger != NULL;
            dumpi->numbers = is_there ? larger : dumpi->numbers;
            dumpi->numbers_room = is_there ? room : dumpi->numbers_room;
        }
        for (uint32_t j = 0; is_there && j < count; j++) {
            dumpi->numbers[(*all)++] = (int32_t)co_dumpi_take32(&dumpi->window);
        }
    }
    reading->call->numbers = dumpi->numbers;
    reading->why = is_there || reading->why != NULL ? reading->why : "a list is longer than the file";
    return is_there;
}

bool co_dumpi_take_requests(struct co_dumpi_reading *reading)
{
    struct co_dumpi *dumpi = reading->dumpi;
    void *memory = dumpi->requests;
    bool is_there =
        take_array(reading, &reading->call->request_count, 4, &memory, &dumpi->requests_room, sizeof *dumpi->requests);
    dumpi->requests = memory;
    reading->call->requests = memory;
    for (uint32_t i = 0; is_there && i < reading->call->request_count; i++) {
        dumpi->requests[i] = co_dumpi_take32(&dumpi->window);
    }
    return is_there;
}

bool co_dumpi_take_statuses(struct co_dumpi_reading *reading)
{
    struct co_dumpi *dumpi = reading->dumpi;
    bool has_tag = co_dumpi_has_version(dumpi, 0, 6, 3);
    void *memory = dumpi->statuses;
    if (!reading->has_statuses) {
        return true;
    }
    bool is_there = take_array(reading, &reading->call->status_count, has_tag ? 14 : 10, &memory, &dumpi->statuses_room,
                               sizeof *dumpi->statuses);
    dumpi->statuses = memory;
    reading->call->statuses = memory;
    for (uint32_t i = 0; is_there && i < reading->call->status_count; i++) {
        struct co_call_status *status = &dumpi->statuses[i];
        status->bytes = (int32_t)co_dumpi_take32(&dumpi->window);
        status->source = (int32_t)co_dumpi_take32(&dumpi->window);
        status->is_cancelled = dumpi->window.bytes[dumpi->window.at] != 0;
        dumpi->window.at += 2; // the error, too
        status->tag = has_tag ? (int32_t)co_dumpi_take32(&dumpi->window) : CO_CALL_NOT_KNOWN;
    }
    return is_there;
}
