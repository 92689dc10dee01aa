// SPDX-License-Identifier: BSD-3-Clause
//
// Records of traces: every kind there and back with any values and flags, the bytes as docs/trace-format.md has them,
// cut off at every byte, and bytes that are no record.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/trace/trace_record.h"

enum { ROOM = 32768 };

static int64_t rows[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX], rows_back[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX];
static uint8_t bytes[ROOM];

// As long as numbers can be, and as short.
static int64_t any_number(void)
{
    uint64_t number = (uint64_t)rand() << 62 ^ (uint64_t)rand() << 31 ^ (uint64_t)rand();
    return (int64_t)(number >> rand() % 64) * (rand() % 2 ? 1 : -1);
}

static void fill(struct co_trace_record *record, unsigned kind, char text[CO_TRACE_TEXT_MAX])
{
    const struct co_trace_row *row = co_trace_row(kind);
    *record = (struct co_trace_record){.kind = (uint16_t)kind, .rows = rows, .text = text, .times = 1};
    record->flags = (uint8_t)(rand() % 3 == 0 ? rand() % (CO_TRACE_FLAGS_ALL + 1) : 0);
    record->begin_ns = (uint64_t)any_number();
    record->end_ns = record->begin_ns + (uint64_t)any_number();
    record->error = (record->flags & CO_TRACE_FAILED) != 0 ? (uint32_t)rand() : 0;
    record->times = (record->flags & CO_TRACE_IN_VAIN) != 0 ? (uint64_t)any_number() : 1;
    for (int i = 0; i < CO_TRACE_VALUES_MAX; i++) {
        record->value[i] = any_number();
    }
    record->row_count = (uint16_t)(row->has_list ? rand() % (CO_TRACE_ROWS_MAX + 1) : 0);
    for (int i = 0; i < record->row_count; i++) {
        for (int column = 0; column < CO_TRACE_COLUMNS_MAX; column++) {
            rows[i][column] = any_number();
        }
    }
    record->text_bytes = (uint16_t)(row->has_text ? rand() % (CO_TRACE_TEXT_MAX + 1) : 0);
    memset(text, 'a' + rand() % 26, CO_TRACE_TEXT_MAX);
}

static void assert_same(const struct co_trace_record *a, const struct co_trace_record *b)
{
    const struct co_trace_row *row = co_trace_row(a->kind);
    bool is_vain = (a->flags & CO_TRACE_IN_VAIN) != 0, is_continued = (a->flags & CO_TRACE_CONTINUED) != 0;
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->error, b->error);
    assert_true(a->begin_ns == b->begin_ns && a->end_ns == b->end_ns && a->times == b->times);
    size_t values = is_continued ? 0 : row->asked_count + (is_vain ? 0u : row->told_count);
    assert_memory_equal(a->value, b->value, values * sizeof a->value[0]);
    if (is_vain) {
        return;
    }
    assert_int_equal(a->text_bytes, b->text_bytes);
    assert_memory_equal(a->text, b->text, a->text_bytes);
    assert_int_equal(a->row_count, b->row_count);
    for (int i = 0; i < a->row_count; i++) {
        assert_memory_equal(a->rows[i], b->rows[i], row->column_count * sizeof a->rows[i][0]);
    }
}

static void every_kind_there_and_back(void **state)
{
    (void)state;
    static struct co_trace_state out, in;
    srand(11);
    for (int round = 0; round < 200; round++) {
        for (unsigned kind = 1; kind < CO_TRACE_KIND_COUNT; kind++) {
            struct co_trace_record record, back;
            char text[CO_TRACE_TEXT_MAX];
            fill(&record, kind, text);
            size_t length = co_trace_encode(&record, &out, bytes, sizeof bytes);
            assert_true(length > 0);
            assert_int_equal(co_trace_decode(&back, &in, rows_back, bytes, length), length);
            assert_same(&record, &back);
            assert_memory_equal(&out, &in, sizeof out);
        }
    }
}

static void not_beyond_its_room(void **state)
{
    (void)state;
    srand(12);
    for (int round = 0; round < 2000; round++) {
        static struct co_trace_state out, before;
        before = out;
        struct co_trace_record record;
        char text[CO_TRACE_TEXT_MAX];
        fill(&record, 1 + (unsigned)rand() % (CO_TRACE_KIND_COUNT - 1), text);
        size_t room = (size_t)rand() % 400;
        memset(bytes, 0xee, sizeof bytes);
        size_t length = co_trace_encode(&record, &out, bytes, room);
        assert_true(length <= room);
        assert_int_equal(bytes[room], 0xee);
        if (length == 0) {
            assert_memory_equal(&out, &before, sizeof out);
        }
    }
}

// No part of a record passes for a whole one.
static void cut_off_at_every_byte(void **state)
{
    (void)state;
    srand(13);
    for (unsigned kind = 1; kind < CO_TRACE_KIND_COUNT; kind++) {
        struct co_trace_state out = {.time_ns = 5, .handle = 7}, in;
        struct co_trace_record record, back;
        char text[CO_TRACE_TEXT_MAX];
        fill(&record, kind, text);
        record.row_count = record.row_count < 3 ? record.row_count : 3;
        size_t length = co_trace_encode(&record, &out, bytes, sizeof bytes);
        for (size_t cut = 0; cut < length; cut++) {
            uint8_t *copy = malloc(cut + 1); // so that a sanitizer sees a byte too many
            memcpy(copy, bytes, cut);
            in = (struct co_trace_state){.time_ns = 5, .handle = 7};
            assert_int_equal(co_trace_decode(&back, &in, rows_back, copy, cut), -EBADMSG);
            free(copy);
        }
    }
}

// The example of docs/trace-format.md.
static void bytes_of_an_isend(void **state)
{
    (void)state;
    static const uint8_t golden[] = {0x08, 0xd0, 0x0f, 0xac, 0x02, 0x06, 0x02, 0x02, 0x0e, 0x02, 0x00, 0x80, 0x04};
    struct co_trace_state out = {.time_ns = 1000000}, in = out;
    struct co_trace_record record = {
        .kind = CO_TRACE_Isend, .begin_ns = 1001000, .end_ns = 1001300, .value = {3, 1, 1, 7, 1, 0x800}, .times = 1};
    struct co_trace_record back;
    assert_int_equal(co_trace_encode(&record, &out, bytes, sizeof bytes), sizeof golden);
    assert_memory_equal(bytes, golden, sizeof golden);
    assert_int_equal(co_trace_decode(&back, &in, rows_back, golden, sizeof golden), sizeof golden);
    assert_int_equal(back.begin_ns, 1001000);
    assert_int_equal(back.end_ns, 1001300);
    assert_int_equal(back.value[5], 0x800);
}

// A handle that comes again is one byte.
static void handles_that_come_again(void **state)
{
    (void)state;
    static struct co_trace_state out, in;
    enum { HANDLES = 20 };
    int short_ones = 0;
    for (int i = 0; i < 10 * HANDLES; i++) {
        struct co_trace_record back, record = {.kind = CO_TRACE_Start, .times = 1};
        record.value[0] = 0x7f0012345680 + i % HANDLES * 0x340;
        size_t length = co_trace_encode(&record, &out, bytes, sizeof bytes);
        assert_int_equal(co_trace_decode(&back, &in, rows_back, bytes, length), length);
        assert_int_equal(back.value[0], record.value[0]);
        short_ones += length == 4;
    }
    assert_true(short_ones > 5 * HANDLES);
}

static void refused(const uint8_t *wrong, size_t length)
{
    struct co_trace_state in = {.time_ns = 0};
    struct co_trace_record back;
    assert_int_equal(co_trace_decode(&back, &in, rows_back, wrong, length), -EBADMSG);
}

static void what_is_no_record(void **state)
{
    (void)state;
    refused((const uint8_t[]){0x00, 0, 0, 0, 0, 0, 0, 0}, 8);           // kind 0
    refused((const uint8_t[]){0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0}, 9);     // a kind that there is not
    refused((const uint8_t[]){0x09, 0x10, 0, 0, 0, 0, 0, 0, 0, 0}, 10); // a flag that there is not
    refused((const uint8_t[]){0x09, 0x00, 0, 0, 0, 0, 0, 0, 0, 0}, 10); // flags, but none is set
    refused((const uint8_t[]){0x2e, 0, 0, 0x80, 1}, 5);                 // Start of a handle in slot 127
    refused((const uint8_t[]){0x14, 0, 0, 2, 0x81, 1}, 6);              // Waitall with 129 rows
    refused((const uint8_t[]){0x02, 0, 0, 2, 2, 0x81, 1, 'a', 'b', 'c', 'd', 'e', 'f'}, 13); // a text of 129 bytes
    refused((const uint8_t[]){0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0},
            19); // a number of more than 64 bits
}

// The rows of the table fit the room that records have for them.
static void rows_of_the_table(void **state)
{
    (void)state;
    for (unsigned kind = 1; kind < CO_TRACE_KIND_COUNT; kind++) {
        const struct co_trace_row *row = co_trace_row(kind);
        assert_true(row->asked_count + row->told_count <= CO_TRACE_VALUES_MAX);
        assert_true(row->column_count <= CO_TRACE_COLUMNS_MAX);
        char all[3 * CO_TRACE_VALUES_MAX] = "";
        snprintf(all, sizeof all, "%s%s%s", row->asked, row->told, row->columns);
        for (const char *letter = all; *letter != '\0'; letter++) {
            assert_string_not_equal(co_trace_field_name(*letter), "?");
        }
    }
    assert_int_equal(CO_TRACE_Isend, 4);     // numbers of the format never change
    assert_int_equal(CO_TRACE_Waitall, 9);   //
    assert_int_equal(CO_TRACE_Finalize, 77); //
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_there_and_back), cmocka_unit_test(not_beyond_its_room),
        cmocka_unit_test(cut_off_at_every_byte),     cmocka_unit_test(bytes_of_an_isend),
        cmocka_unit_test(handles_that_come_again),   cmocka_unit_test(what_is_no_record),
        cmocka_unit_test(rows_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
