// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers are written in groups of seven bits, the lowest first; signed ones with the sign in the lowest bit; times and
// handles as the distance to the one before. Encoding is hot.
#include "record/trace/trace_record.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { NUMBER_MAX = 10 }; // bytes of 64 bits

static uint8_t *put_long(uint8_t *out, uint64_t number)
{
    while (number > 127) {
        *out++ = (uint8_t)(number | 128);
        number >>= 7;
    }
    *out++ = (uint8_t)number;
    return out;
}

// Most are short.
static inline uint8_t *put(uint8_t *out, uint64_t number)
{
    if (__builtin_expect(number > 127, 0)) {
        return put_long(out, number);
    }
    *out = (uint8_t)number;
    return out + 1;
}

static inline uint8_t *put_signed(uint8_t *out, int64_t number)
{
    return put(out, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

// The low bits of a handle are mostly zero: they go to the top, where a difference has none.
static uint64_t turn(uint64_t handle)
{
    return handle >> 3 | handle << 61;
}

static uint64_t turn_back(uint64_t turned)
{
    return turned << 3 | turned >> 61;
}

static size_t slot_of(uint64_t turned)
{
    return (turned * UINT64_C(0x9e3779b97f4a7c15) >> 32) * CO_TRACE_SLOTS >> 32;
}

static uint8_t *put_handle(uint8_t *out, uint64_t handle, struct co_trace_state *state)
{
    uint64_t turned = turn(handle);
    size_t slot = slot_of(turned);
    if (state->recent[slot] == turned) {
        return put(out, slot + 1);
    }
    *out = 0;
    out = put_signed(out + 1, (int64_t)(turned - state->handle));
    state->handle = state->recent[slot] = turned;
    return out;
}

static inline uint8_t *put_values(uint8_t *out, const int64_t *values, unsigned count, uint32_t handles,
                                  struct co_trace_state *state)
{
    for (unsigned i = 0; i < count; i++) {
        out = __builtin_expect(handles >> i & 1, 0) ? put_handle(out, (uint64_t)values[i], state)
                                                    : put_signed(out, values[i]);
    }
    return out;
}

static size_t most_bytes(const struct co_trace_record *record, const struct co_trace_row *row)
{
    size_t numbers = 8 + (size_t)row->asked_count + row->told_count + (size_t)record->row_count * row->column_count;
    // A handle has a byte before its number.
    return numbers * (NUMBER_MAX + 1) + (row->has_text ? record->text_bytes : 0);
}

static uint8_t *put_head(uint8_t *out, const struct co_trace_record *record, struct co_trace_state *state)
{
    out = put(out, (uint64_t)record->kind << 1 | (record->flags != 0));
    if (record->flags != 0) {
        *out++ = record->flags;
    }
    out = put_signed(out, (int64_t)(record->begin_ns - state->time_ns));
    out = put(out, record->end_ns - record->begin_ns);
    state->time_ns = record->end_ns;
    if ((record->flags & CO_TRACE_FAILED) != 0) {
        out = put(out, record->error);
    }
    if ((record->flags & CO_TRACE_IN_VAIN) != 0) {
        out = put(out, record->times);
    }
    return out;
}

size_t co_trace_encode(const struct co_trace_record *record, struct co_trace_state *state, uint8_t *out, size_t room)
{
    const struct co_trace_row *row = co_trace_row(record->kind);
    if (room < most_bytes(record, row)) {
        return 0;
    }
    uint8_t *end = put_head(out, record, state);
    bool is_vain = (record->flags & CO_TRACE_IN_VAIN) != 0;
    if ((record->flags & CO_TRACE_CONTINUED) == 0) {
        end = put_values(end, record->value, row->asked_count, row->asked_handles, state);
        if (!is_vain) {
            end = put_values(end, record->value + row->asked_count, row->told_count, row->told_handles, state);
        }
    }
    if (is_vain) {
        return (size_t)(end - out);
    }
    if (row->has_text) {
        end = put(end, record->text_bytes);
        memcpy(end, record->text, record->text_bytes);
        end += record->text_bytes;
    }
    if (row->has_list) {
        end = put(end, record->row_count);
        for (unsigned i = 0; i < record->row_count; i++) {
            end = put_values(end, record->rows[i], row->column_count, row->column_handles, state);
        }
    }
    return (size_t)(end - out);
}

struct source {
    const uint8_t *at, *end;
    bool is_bad; // from then on every number is 0
};

static uint64_t get(struct source *source)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 70 && source->at < source->end; shift += 7) {
        uint8_t byte = *source->at++;
        if (shift == 63 && byte > 1) {
            break; // more than 64 bits
        }
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return number;
        }
    }
    source->is_bad = true;
    source->at = source->end;
    return 0;
}

static int64_t get_signed(struct source *source)
{
    uint64_t number = get(source);
    return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

static uint64_t get_handle(struct source *source, struct co_trace_state *state)
{
    uint64_t slot = get(source);
    if (slot > CO_TRACE_SLOTS) {
        source->is_bad = true;
        return 0;
    }
    if (slot > 0) {
        return turn_back(state->recent[slot - 1]);
    }
    state->handle += (uint64_t)get_signed(source);
    state->recent[slot_of(state->handle)] = state->handle;
    return turn_back(state->handle);
}

static void get_values(struct source *source, int64_t *values, unsigned count, uint32_t handles,
                       struct co_trace_state *state)
{
    for (unsigned i = 0; i < count; i++) {
        values[i] = (handles >> i & 1) != 0 ? (int64_t)get_handle(source, state) : get_signed(source);
    }
}

static void get_head(struct source *source, struct co_trace_record *record, struct co_trace_state *state)
{
    record->flags = 0;
    record->error = 0;
    record->times = 1;
    uint64_t kind = get(source);
    if (kind >> 1 == CO_TRACE_NOTHING || kind >> 1 >= CO_TRACE_KIND_COUNT) {
        source->is_bad = true;
        record->kind = CO_TRACE_NOTHING;
        return;
    }
    record->kind = (uint16_t)(kind >> 1);
    if ((kind & 1) != 0) {
        uint64_t flags = get(source);
        source->is_bad = source->is_bad || flags == 0 || flags > CO_TRACE_FLAGS_ALL;
        record->flags = (uint8_t)flags;
    }
    record->begin_ns = state->time_ns + (uint64_t)get_signed(source);
    record->end_ns = record->begin_ns + get(source);
    state->time_ns = record->end_ns;
    if ((record->flags & CO_TRACE_FAILED) != 0) {
        record->error = (uint32_t)get(source);
    }
    if ((record->flags & CO_TRACE_IN_VAIN) != 0) {
        record->times = get(source);
    }
}

static void get_text(struct source *source, struct co_trace_record *record)
{
    uint64_t bytes = get(source);
    if (bytes > CO_TRACE_TEXT_MAX || bytes > (size_t)(source->end - source->at)) {
        source->is_bad = true;
        return;
    }
    record->text = (const char *)source->at;
    record->text_bytes = (uint16_t)bytes;
    source->at += bytes;
}

static void get_rows(struct source *source, struct co_trace_record *record, const struct co_trace_row *row,
                     struct co_trace_state *state)
{
    uint64_t count = get(source);
    if (count > CO_TRACE_ROWS_MAX) {
        source->is_bad = true;
        return;
    }
    for (unsigned i = 0; i < count && !source->is_bad; i++) {
        get_values(source, record->rows[i], row->column_count, row->column_handles, state);
    }
    record->row_count = (uint16_t)count;
}

long co_trace_decode(struct co_trace_record *record, struct co_trace_state *state,
                     int64_t rows[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX], const uint8_t *bytes, size_t size)
{
    struct source source = {bytes, bytes + size, false};
    record->rows = rows;
    record->row_count = record->text_bytes = 0;
    record->text = "";
    get_head(&source, record, state);
    const struct co_trace_row *row = co_trace_row(record->kind);
    if ((record->flags & CO_TRACE_CONTINUED) == 0) {
        get_values(&source, record->value, row->asked_count, row->asked_handles, state);
        if ((record->flags & CO_TRACE_IN_VAIN) == 0) {
            get_values(&source, record->value + row->asked_count, row->told_count, row->told_handles, state);
        }
    }
    if ((record->flags & CO_TRACE_IN_VAIN) == 0) {
        if (row->has_text) {
            get_text(&source, record);
        }
        if (row->has_list) {
            get_rows(&source, record, row, state);
        }
    }
    return source.is_bad ? -EBADMSG : source.at - bytes;
}
