// SPDX-License-Identifier: BSD-3-Clause
//
// The arguments of a call in a DUMPI record, by the letters of call_table.h:
//   n N  count (of the receiving half)        t T  type, 16 bits           p P  peer          g G  tag
//   c e  communicator, one that is made, 16   j K J  groups, one that is made     r  request      R    array of them
//   k w  length of an array                   x X  index, array of them    f    flag          S    statuses
//   o m  root, own rank; ( ) only where they are equal   z y v  color, key, reordering     u    rank or size
//   i h b q  else, 32, 16, 8, 64 bits         L H B A D E C  arrays of 32, 16 and 8 bits, of arrays, of texts, of
//   arrays of texts, a text                             V    arguments of the program               1 2  arrays that
//   were one number by mistake before versions 0.6.9 and 0.6.8
// Any bytes may come. Hot.
#include <string.h>

#include "tools/trace/read/dumpi_reading.h"

static bool take_numbers(struct co_dumpi_reading *reading)
{
    struct co_dumpi *dumpi = reading->dumpi;
    struct co_traced_call *call = reading->call;
    if (!co_dumpi_take_numbers(reading, &dumpi->numbers, &dumpi->numbers_room, &call->number_count)) {
        return false;
    }
    call->numbers = dumpi->numbers;
    return true;
}

static bool read_array(struct co_dumpi_reading *reading, char letter)
{
    struct co_dumpi *dumpi = reading->dumpi;
    struct co_traced_call *call = reading->call;
    switch (letter) {
    case 'R':
        return co_dumpi_take_requests(reading);
    case 'S':
        return co_dumpi_take_statuses(reading);
    case 'X':
        if (!co_dumpi_take_numbers(reading, &dumpi->indices, &dumpi->indices_room, &call->index_count)) {
            return false;
        }
        call->indices = dumpi->indices;
        return true;
    case 'L':
        if (call->op == CO_CALL_NOTHING || call->op == CO_CALL_CART_GET || call->numbers != NULL) {
            return co_dumpi_skip_array(reading, 4);
        }
        return take_numbers(reading);
    case '1':
    case '2':
        if (!co_dumpi_has_version(dumpi, 0, 6, letter == '1' ? 9 : 8)) {
            return co_dumpi_skip(reading, 4);
        }
        return call->op == CO_CALL_CART_GET ? take_numbers(reading) : co_dumpi_skip_array(reading, 4);
    case 'V':
        return (co_dumpi_has_version(dumpi, 0, 6, 2) || co_dumpi_skip(reading, 4)) &&
               co_dumpi_skip_nested(reading, 1, 1);
    case 'A':
        return call->op == CO_CALL_NOTHING ? co_dumpi_skip_nested(reading, 1, 4) : co_dumpi_add_numbers(reading);
    case 'D':
        return co_dumpi_skip_nested(reading, 1, 1);
    case 'E':
        return co_dumpi_skip_nested(reading, 2, 1);
    default:
        return co_dumpi_skip_array(reading, letter == 'H' ? 2 : 1); // H, B, C
    }
}

// Where a number goes; NULL: nowhere.
static int32_t *place_of(struct co_dumpi_reading *reading, char letter)
{
    struct co_traced_call *call = reading->call;
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
    case 'v':
        return &call->reorder;
    case 'u':
        return &call->result;
    default:
        return NULL;
    }
}

static uint32_t *short_place_of(struct co_dumpi_reading *reading, char letter)
{
    struct co_traced_call *call = reading->call;
    switch (letter) {
    case 't':
        return &reading->type;
    case 'c':
        return &call->comm;
    case 'e':
        return &call->new_comm;
    case 'j':
        return &call->group;
    case 'K':
        return &call->other_group;
    case 'J':
        return &call->new_group;
    default:
        return NULL;
    }
}

static bool read_one(struct co_dumpi_reading *reading, char letter)
{
    struct co_window *window = &reading->dumpi->window;
    if (letter == 'q' || letter == 'b') {
        return co_dumpi_skip(reading, letter == 'q' ? 8 : 1);
    }
    if (strchr("tTcejJKh", letter) != NULL) {
        if (!co_dumpi_has(reading, 2)) {
            return false;
        }
        uint32_t *place = short_place_of(reading, letter), value = co_dumpi_take16(window);
        *(place != NULL ? place : &reading->unused) = value;
        return true;
    }
    if (strchr("RSXLHBADECV12", letter) != NULL) {
        return read_array(reading, letter);
    }
    if (!co_dumpi_has(reading, 4)) {
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

static bool read_all(struct co_dumpi_reading *reading)
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

bool co_dumpi_read_arguments(struct co_dumpi *dumpi, struct co_traced_call *call, uint8_t mask, struct co_note *note)
{
    struct co_dumpi_reading reading = {
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
