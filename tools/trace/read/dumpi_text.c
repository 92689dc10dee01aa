// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of dumpi2ascii to calls. A line that fits nowhere is noted; reading goes on with the next call that is entered.
#include "tools/trace/read/dumpi_text.h"

#include <stdlib.h>
#include <string.h>

#define ENTERS "entering at walltime "
#define RETURNS "returning at walltime "
enum { SNIFFED_BYTES_MAX = 256 };

static bool begins_with(const char *line, size_t length, const char *words)
{
    size_t wanted = strlen(words);
    return length >= wanted && memcmp(line, words, wanted) == 0;
}

// The function's name, where the line says that one is entered or returns; `words` says which. 0: neither.
static size_t name_of(const char *line, size_t length, const char *words)
{
    const char *blank = length > 4 && memcmp(line, "MPI", 3) == 0 ? memchr(line, ' ', length < 80 ? length : 80) : NULL;
    size_t name = blank == NULL ? 0 : (size_t)(blank - line);
    return name > 0 && begins_with(blank + 1, length - name - 1, words) ? name : 0;
}

bool co_dumpi_text_begins(const uint8_t *bytes, size_t size)
{
    size_t sniffed = size < SNIFFED_BYTES_MAX ? size : SNIFFED_BYTES_MAX;
    return name_of((const char *)bytes, sniffed, ENTERS) > 0;
}

void co_dumpi_text_open(struct co_dumpi_text *text, struct co_window window)
{
    *text = (struct co_dumpi_text){.window = window};
}

void co_dumpi_text_close(struct co_dumpi_text *text)
{
    free(text->lists.requests);
    free(text->lists.indices);
    free(text->lists.numbers);
    free(text->lists.statuses);
    co_window_close(&text->window);
}

// The next line without its end; `*line` holds until the next call. False: there is none.
static bool next_line(struct co_window *window, const char **line, size_t *length)
{
    size_t looked = 0;
    for (;;) {
        const uint8_t *from = window->bytes + window->at;
        size_t there = window->end - window->at;
        const uint8_t *end = there > looked ? memchr(from + looked, '\n', there - looked) : NULL;
        if (end == NULL && co_window_more(window, there + 1)) {
            looked = there;
            continue;
        }
        from = window->bytes + window->at;
        there = window->end - window->at;
        *line = (const char *)from;
        *length = end == NULL ? there : (size_t)(end - from);
        window->at += *length + (end != NULL);
        if (*length > 0 && from[*length - 1] == '\r') {
            --*length;
        }
        return end != NULL || there > 0;
    }
}

// Seconds with nine digits behind the point.
static uint64_t take_time(const char *digits, const char *end)
{
    uint64_t seconds = 0, part = 0, scale = UINT64_C(1000000000);
    while (digits < end && *digits >= '0' && *digits <= '9' && seconds < UINT64_C(1) << 33) {
        seconds = 10 * seconds + (uint64_t)(*digits++ - '0');
    }
    if (digits < end && *digits == '.') {
        digits++;
        while (digits < end && *digits >= '0' && *digits <= '9' && scale > 1) {
            scale /= 10;
            part += scale * (uint64_t)(*digits++ - '0');
        }
    }
    return seconds * UINT64_C(1000000000) + part;
}

static void enter(struct co_dumpi_text *text, struct co_traced_call *call, const char *line, size_t length, size_t name)
{
    unsigned id = co_call_find(line, name);
    co_call_clear(call, id < CO_CALL_COUNT ? id : 0);
    call->op = id < CO_CALL_COUNT ? call->op : CO_CALL_NOTHING;
    call->begin_ns = take_time(line + name + 1 + strlen(ENTERS), line + length);
    text->count = -1;
    text->type = UINT32_MAX;
    text->has_flag = false;
}

static void leave(struct co_dumpi_text *text, struct co_traced_call *call, const char *line, size_t length, size_t name)
{
    static const int32_t bytes[] = {0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1};
    call->end_ns = take_time(line + name + 1 + strlen(RETURNS), line + length);
    call->is_in_vain = (text->has_flag && text->flag == 0) || (call->op == CO_CALL_TESTSOME && call->index_count == 0);
    if (text->type < sizeof bytes / sizeof *bytes && text->count >= 0 && text->count <= INT32_MAX) {
        call->bytes = text->count * bytes[text->type];
    }
}

bool co_dumpi_text_next(struct co_dumpi_text *text, struct co_traced_call *call, struct co_note *note)
{
    const char *line;
    size_t length;
    bool is_inside = false;
    unsigned entered = CO_CALL_COUNT;
    uint64_t at = co_window_offset(&text->window);
    while (!text->is_over && next_line(&text->window, &line, &length)) {
        size_t name = name_of(line, length, ENTERS);
        if (name > 0) {
            if (is_inside) {
                co_note_add(note, at, "a call is entered before the one before it has returned");
            }
            enter(text, call, line, length, name);
            entered = co_call_find(line, name);
            is_inside = true;
        } else if ((name = name_of(line, length, RETURNS)) > 0) {
            if (is_inside && entered == co_call_find(line, name)) {
                leave(text, call, line, length, name);
                if (entered < CO_CALL_COUNT) {
                    return true;
                }
            } else {
                co_note_add(note, at, "%.*s returns, which was not entered", (int)(name < 60 ? name : 60), line);
            }
            is_inside = false;
        } else if (is_inside ? !co_dumpi_text_argument(text, call, line, length) : length > 0) {
            co_note_add(note, at, "this line is none of a call");
        }
        at = co_window_offset(&text->window);
    }
    if (is_inside && !text->is_over) {
        co_note_add(note, at, "it ends in the middle of a call");
    }
    text->is_over = true;
    return false;
}
