// SPDX-License-Identifier: BSD-3-Clause
//
// The arguments of a call in a DUMPI record, by the letters of call_table.h:
//   n N  count (of the receiving half)        t T  type, 16 bits           p P  peer          g G  tag
//   c e  communicator, one that is made, 16   j J  group, one that is made r    request       R    array of them
//   k w  length of an array                   x X  index, array of them    f    flag          S    statuses
//   o m  root, own rank; ( ) only where they are equal                     z y  color, key    u    rank or size
//   i h b q  else, 32, 16, 8, 64 bits         L H B A D E C  arrays of 32, 16 and 8 bits, of arrays, of texts, of
//   arrays of texts, a text                             V    arguments of the program               1 2  arrays that
//   were one number by mistake before versions 0.6.9 and 0.6.8
// Any bytes may come. Hot.
#include "trace/analyze/dumpi_file.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct co_dumpi *dumpi;
    struct co_call *call;
    bool has_statuses;
    int32_t own_rank, count, flag;
    uint32_t type, unused;
    const char *why;
};

static bool has(struct reading *reading, uint64_t bytes)
{
    if (bytes <= CO_WINDOW_BYTES_MAX && co_window_has(&reading->dumpi->window, (size_t)bytes)) {
        return true;
    }
    reading->why = "it ends in the middle of a call";
    return false;
}

// Over what nobody wants to see, however long it is.
static bool skip(struct reading *reading, uint64_t bytes)
{
    struct co_window *window = &reading->dumpi->window;
    if (bytes > window->size - co_window_offset(window)) {
        reading->why = "a list is longer than the file";
        return false;
    }
    return co_window_seek(window, co_window_offset(window) + bytes);
}

static bool take_count(struct reading *reading, uint32_t *count)
{
    if (!has(reading, 4)) {
        return false;
    }
    *count = co_dumpi_take32(&reading->dumpi->window);
    return true;
}

static bool skip_array(struct reading *reading, unsigned element_bytes)
{
    uint32_t count;
    return take_count(reading, &count) && skip(reading, (uint64_t)count * element_bytes);
}

// Arrays of `depth` more levels of arrays; the innermost elements have so many bytes.
static bool skip_nested(struct reading *reading, int depth, unsigned element_bytes)
{
    uint32_t count;
    if (depth == 0) {
        return skip_array(reading, element_bytes);
    }
    if (!take_count(reading, &count)) {
        return false;
    }
    if (count > CO_DUMPI_NESTED_MAX) {
        reading->why = "a list is longer than the file";
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!skip_nested(reading, depth - 1, element_bytes)) {
            return false;
        }
    }
    return true;
}

// Room for `count` elements that `bytes` of the file hold.
static bool take_array(struct reading *reading, uint32_t *count, size_t bytes, void **memory, uint32_t *room,
                       size_t element)
{
    if (!take_count(reading, count)) {
        return false;
    }
    if (*count > CO_CALL_NUMBERS_MAX || !has(reading, (uint64_t)*count * bytes)) {
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

static bool take_numbers(struct reading *reading, int32_t **numbers, uint32_t *room, uint32_t *count)
{
    void *memory = *numbers;
    bool is_there = take_array(reading, count, 4, &memory, room, sizeof **numbers);
    *numbers = memory;
    for (uint32_t i = 0; is_there && i < *count; i++) {
        (*numbers)[i] = (int32_t)co_dumpi_take32(&reading->dumpi->window);
    }
    return is_there;
}

static bool take_requests(struct reading *reading)
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

static bool take_statuses(struct reading *reading)
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

static bool read_array(struct reading *reading, char letter)
{
    struct co_dumpi *dumpi = reading->dumpi;
    struct co_call *call = reading->call;
    switch (letter) {
    case 'R':
        return take_requests(reading);
    case 'S':
        return take_statuses(reading);
    case 'X':
        if (!take_numbers(reading, &dumpi->indices, &dumpi->indices_room, &call->index_count)) {
            return false;
        }
        call->indices = dumpi->indices;
        return true;
    case 'L':
        if (call->op == CO_CALL_NOTHING || call->numbers != NULL) {
            return skip_array(reading, 4);
        }
        if (!take_numbers(reading, &dumpi->numbers, &dumpi->numbers_room, &call->number_count)) {
            return false;
        }
        call->numbers = dumpi->numbers;
        return true;
    case '1':
    case '2':
        return co_dumpi_has_version(dumpi, 0, 6, letter == '1' ? 9 : 8) ? skip_array(reading, 4) : skip(reading, 4);
    case 'V':
        return (co_dumpi_has_version(dumpi, 0, 6, 2) || skip(reading, 4)) && skip_nested(reading, 1, 1);
    case 'A':
        return skip_nested(reading, 1, 4);
    case 'D':
        return skip_nested(reading, 1, 1);
    case 'E':
        return skip_nested(reading, 2, 1);
    default:
        return skip_array(reading, letter == 'H' ? 2 : 1); // H, B, C
    }
}

// Where a number goes; NULL: nowhere.
static int32_t *place_of(struct reading *reading, char letter)
{
    struct co_call *call = reading->call;
    switch (letter) {
    case 'n':
        return &reading->count;
    case 'f':
        return &reading->flag;
    case 'm':
        return &reading->own_rank;
    case 'p':
        return &call->peer;
    case 'g':
        return &call->tag;
    case 'P':
        return &call->source;
    case 'G':
        return &call->receive_tag;
    case 'x':
        return &call->index;
    case 'o':
        return &call->root;
    case 'z':
        return &call->color;
    case 'y':
        return &call->key;
    case 'u':
        return &call->result;
    default:
        return NULL;
    }
}

static uint32_t *short_place_of(struct reading *reading, char letter)
{
    struct co_call *call = reading->call;
    switch (letter) {
    case 't':
        return &reading->type;
    case 'c':
        return &call->comm;
    case 'e':
        return &call->new_comm;
    case 'j':
        return &call->group;
    case 'J':
        return &call->new_group;
    default:
        return NULL;
    }
}

static bool read_one(struct reading *reading, char letter)
{
    struct co_window *window = &reading->dumpi->window;
    if (letter == 'q' || letter == 'b') {
        return skip(reading, letter == 'q' ? 8 : 1);
    }
    if (strchr("tTcejJh", letter) != NULL) {
        if (!has(reading, 2)) {
            return false;
        }
        uint32_t *place = short_place_of(reading, letter), value = co_dumpi_take16(window);
        *(place != NULL ? place : &reading->unused) = value;
        return true;
    }
    if (strchr("RSXLHBADECV12", letter) != NULL) {
        return read_array(reading, letter);
    }
    if (!has(reading, 4)) {
        return false;
    }
    uint32_t value = co_dumpi_take32(window);
    if (letter == 'r') {
        reading->call->request = value;
        return true;
    }
    int32_t *place = place_of(reading, letter);
    if (place != NULL) {
        *place = (int32_t)value;
    }
    return true;
}

static bool read_all(struct reading *reading)
{
    for (const char *letter = co_call_rows[reading->call->id].arguments; *letter != '\0'; letter++) {
        if (*letter == '(') {
            if (reading->own_rank != reading->call->root) {
                while (*++letter != ')') {
                }
            }
        } else if (*letter != ')' && !read_one(reading, *letter)) {
            return false;
        }
    }
    return true;
}

static bool is_test(unsigned op)
{
    return op == CO_CALL_TEST || op == CO_CALL_TESTANY || op == CO_CALL_TESTALL || op == CO_CALL_IPROBE;
}

bool co_dumpi_read_arguments(struct co_dumpi *dumpi, struct co_call *call, uint8_t mask, struct co_note *note)
{
    struct reading reading = {
        .dumpi = dumpi, .call = call, .has_statuses = mask != 0, .own_rank = -1, .type = UINT32_MAX};
    if (!read_all(&reading)) {
        co_note_add(note, dumpi->record_at, "%s, of %s", reading.why, co_call_rows[call->id].name);
        return false;
    }
    call->is_in_vain =
        (is_test(call->op) && reading.flag == 0) || (call->op == CO_CALL_TESTSOME && call->index_count == 0);
    if (reading.type < dumpi->type_count && reading.count >= 0) {
        call->bytes = (int64_t)reading.count * dumpi->type_bytes[reading.type];
    }
    return true;
}
