// SPDX-License-Identifier: BSD-3-Clause
//
// The frame of a DUMPI file: index, header, footer, and the head of each record. Whatever is missing is noted, and read
// without.
#include "tools/trace/read/dumpi_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_BYTES = 64, FIRST_BODY = 8, END_LABEL = CO_CALL_DUMPI_COUNT + 3 };
enum { LABEL_ENTER = CO_CALL_DUMPI_COUNT + 1, LABEL_EXIT };
enum { HAS_STATUSES = 3, HAS_CPU_TIME = 4, HAS_WALL_TIME = 8, HAS_THREAD = 64, HAS_COUNTERS = 128, MASK_ALL = 207 };
#define FOOTER_MAGIC UINT64_C(0xf007fee7)

// Bytes of DUMPI's first types, where a trace does not tell them.
static const int32_t usual_bytes[] = {0, 0,  1, 1, 1, 1, 4, 2, 2, 4,  4,  8, 8, 4,
                                      8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20};

bool co_dumpi_begins(const uint8_t *bytes, size_t size)
{
    struct co_window window;
    co_window_open_bytes(&window, bytes, size);
    return size >= 8 && co_dumpi_take64(&window) == CO_DUMPI_MAGIC;
}

bool co_dumpi_has_version(const struct co_dumpi *dumpi, int major, int minor, int patch)
{
    const uint8_t *own = dumpi->version;
    return own[0] != major ? own[0] > major : own[1] != minor ? own[1] > minor : own[2] >= patch;
}

// Older files have a shorter index: it begins with the magic, and its last four places are always the same.
static bool read_index(struct co_dumpi *dumpi, uint64_t places[8])
{
    struct co_window *window = &dumpi->window;
    if (window->size < FIRST_BODY + INDEX_BYTES || !co_window_seek(window, window->size - INDEX_BYTES) ||
        !co_window_has(window, INDEX_BYTES)) {
        return false;
    }
    for (int i = 0; i < 8; i++) {
        places[i] = co_dumpi_take64(window);
    }
    int begin = 0;
    while (begin < 4 && places[begin] != CO_DUMPI_MAGIC) {
        places[begin++] = 0;
    }
    return begin < 4;
}

static void read_type_bytes(struct co_dumpi *dumpi, uint64_t at)
{
    struct co_window *window = &dumpi->window;
    if (at == 0 || !co_window_seek(window, at) || !co_window_has(window, 4)) {
        return;
    }
    uint32_t count = co_dumpi_take32(window);
    if (count > CO_DUMPI_TYPES_MAX || !co_window_has(window, 4 * (size_t)count)) {
        return;
    }
    dumpi->type_bytes = calloc((size_t)count + 1, sizeof *dumpi->type_bytes);
    for (uint32_t i = 0; dumpi->type_bytes != NULL && i < count; i++) {
        dumpi->type_bytes[i] = (int32_t)co_dumpi_take32(window);
        dumpi->type_count = i + 1;
    }
}

// The label in front of the header ends the body; it was another one before functions were added.
static bool read_header(struct co_dumpi *dumpi, uint64_t at, struct co_note *note)
{
    struct co_window *window = &dumpi->window;
    if (at < FIRST_BODY + 2 || !co_window_seek(window, at - 2) || !co_window_has(window, 5)) {
        return false;
    }
    dumpi->end_label = co_dumpi_take16(window);
    for (int i = 0; i < 3; i++) {
        dumpi->version[i] = window->bytes[window->at++];
    }
    if (dumpi->version[0] > 1) {
        co_note_add(note, at, "its version %d.%d.%d of DUMPI is not known", dumpi->version[0], dumpi->version[1],
                    dumpi->version[2]);
    }
    return true;
}

static void read_frame(struct co_dumpi *dumpi, struct co_note *note)
{
    uint64_t places[8];
    struct co_window *window = &dumpi->window;
    dumpi->body = FIRST_BODY;
    dumpi->end_label = END_LABEL;
    memcpy(dumpi->version, ((uint8_t[]){1, 1, 0}), 3);
    if (!read_index(dumpi, places)) {
        co_note_add(note, window->size, "it ends without an index: cut off, or its program did not end well");
        return;
    }
    // Cut off by a few numbers it looks like an older one, and means nothing.
    if (places[5] < FIRST_BODY || places[5] >= places[4] || !read_header(dumpi, places[4], note)) {
        co_note_add(note, window->size - INDEX_BYTES,
                    "its index names a body at byte %" PRIu64 " and a header at byte %" PRIu64 " of %" PRIu64,
                    places[5], places[4], window->size);
        return;
    }
    dumpi->body = places[5];
    dumpi->footer = places[6];
    for (int i = 1; i < 4; i++) {
        if (places[i] > dumpi->footer && (dumpi->footer_end == 0 || places[i] < dumpi->footer_end)) {
            dumpi->footer_end = places[i];
        }
    }
    read_type_bytes(dumpi, places[1]);
}

void co_dumpi_open(struct co_dumpi *dumpi, struct co_window window, struct co_note *note)
{
    *dumpi = (struct co_dumpi){.window = window};
    read_frame(dumpi, note);
    if (dumpi->type_bytes == NULL) {
        dumpi->type_count = sizeof usual_bytes / sizeof *usual_bytes;
        dumpi->type_bytes = malloc(sizeof usual_bytes);
        if (dumpi->type_bytes != NULL) {
            memcpy(dumpi->type_bytes, usual_bytes, sizeof usual_bytes);
        } else {
            dumpi->type_count = 0;
        }
    }
    dumpi->is_over = !co_window_seek(&dumpi->window, dumpi->body) || !co_window_has(&dumpi->window, 8);
    if (dumpi->is_over) {
        co_note_add(note, dumpi->window.size, "it ends before its first call");
        return;
    }
    dumpi->cpu_seconds = co_dumpi_take32(&dumpi->window);
    dumpi->wall_seconds = co_dumpi_take32(&dumpi->window);
}

void co_dumpi_close(struct co_dumpi *dumpi)
{
    free(dumpi->type_bytes);
    free(dumpi->requests);
    free(dumpi->indices);
    free(dumpi->numbers);
    free(dumpi->statuses);
    co_window_close(&dumpi->window);
}

// What the file says itself of how many there are: of each function first how many were called, then how many of these
// were left out (a program may switch the recording off).
static void check_footer(struct co_dumpi *dumpi, struct co_note *note)
{
    struct co_window *window = &dumpi->window;
    size_t bytes = dumpi->footer_end > dumpi->footer + 8 ? (size_t)(dumpi->footer_end - dumpi->footer - 8) : 0;
    size_t all = bytes / 8, count = all < CO_CALL_DUMPI_COUNT ? all : CO_CALL_DUMPI_COUNT;
    if (dumpi->footer == 0 || all > (size_t)2 * CO_CALL_DUMPI_COUNT || !co_window_seek(window, dumpi->footer) ||
        !co_window_has(window, 8 + 8 * all) || co_dumpi_take64(window) != FOOTER_MAGIC) {
        return;
    }
    struct co_window left_out = *window;
    left_out.at += 4 * all;
    for (unsigned id = 0; id < count; id++) {
        uint32_t told = co_dumpi_take32(window) - co_dumpi_take32(&left_out);
        if (told != (uint32_t)dumpi->counts[id]) {
            co_note_add(note, dumpi->footer + 8 + 4 * (uint64_t)id,
                        "its footer counts %" PRIu32 " calls of %s, and there are %" PRIu64, told,
                        co_call_rows[id].name, dumpi->counts[id]);
            return;
        }
    }
}

static uint64_t take_time(struct co_window *window, uint32_t seconds)
{
    uint64_t whole = (uint64_t)seconds + co_dumpi_take16(window);
    return whole * UINT64_C(1000000000) + co_dumpi_take32(window);
}

static bool stop(struct co_dumpi *dumpi, struct co_note *note, const char *why)
{
    co_note_add(note, dumpi->record_at, "%s", why);
    dumpi->is_over = true;
    return false;
}

static bool read_head(struct co_dumpi *dumpi, struct co_traced_call *call, uint8_t mask, struct co_note *note)
{
    struct co_window *window = &dumpi->window;
    size_t bytes = (mask & HAS_THREAD ? 2 : 0) + (mask & HAS_CPU_TIME ? 12 : 0) + (mask & HAS_WALL_TIME ? 12 : 0);
    if ((mask & ~MASK_ALL) != 0) {
        return stop(dumpi, note, "what stands here is no record of a call");
    }
    if (!co_window_has(window, bytes + 1)) {
        return stop(dumpi, note, "it ends in the middle of a call");
    }
    window->at += (mask & HAS_THREAD ? 2 : 0) + (mask & HAS_CPU_TIME ? 12 : 0);
    if (mask & HAS_WALL_TIME) {
        call->begin_ns = take_time(window, dumpi->wall_seconds);
        call->end_ns = take_time(window, dumpi->wall_seconds);
    }
    if (mask & HAS_COUNTERS) {
        size_t counters = 16 * (size_t)window->bytes[window->at++];
        if (!co_window_has(window, counters)) {
            return stop(dumpi, note, "it ends in the middle of a call");
        }
        window->at += counters;
    }
    return true;
}

bool co_dumpi_next(struct co_dumpi *dumpi, struct co_traced_call *call, struct co_note *note)
{
    struct co_window *window = &dumpi->window;
    while (!dumpi->is_over) {
        dumpi->record_at = co_window_offset(window);
        if (!co_window_has(window, 3)) {
            return stop(dumpi, note, "it ends without saying so");
        }
        unsigned label = co_dumpi_take16(window);
        if (label == dumpi->end_label) {
            dumpi->is_over = true;
            check_footer(dumpi, note);
            return false;
        }
        uint8_t mask = window->bytes[window->at++];
        bool is_call = label < CO_CALL_DUMPI_COUNT;
        if (!is_call && label != LABEL_ENTER && label != LABEL_EXIT) {
            return stop(dumpi, note, "what stands here is no record of a call");
        }
        co_call_clear(call, is_call ? label : 0);
        if (!read_head(dumpi, call, mask, note)) {
            return false;
        }
        if (is_call) {
            dumpi->counts[label]++;
            dumpi->is_over = !co_dumpi_read_arguments(dumpi, call, mask & HAS_STATUSES, note);
            return !dumpi->is_over;
        }
        if (!co_window_has(window, 8)) {
            return stop(dumpi, note, "it ends in the middle of a call");
        }
        window->at += 8; // a function of the program that was entered or left
    }
    return false;
}
