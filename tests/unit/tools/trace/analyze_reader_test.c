// SPDX-License-Identifier: BSD-3-Clause
//
// Readers of foreign bytes: a DUMPI file made here, its text, and what is wrong with either.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/read/reader.h"

struct bytes {
    uint8_t at[8192];
    size_t size;
};

static void put(struct bytes *bytes, uint64_t number, int size)
{
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
        bytes->at[bytes->size++] = (uint8_t)(number >> shift);
    }
}

static void put_head(struct bytes *bytes, unsigned label)
{
    put(bytes, label, 2);
    put(bytes, 0x4f, 1); // thread, both times, statuses
    put(bytes, 0, 2);
    for (int i = 0; i < 4; i++) {
        put(bytes, 1, 2);
        put(bytes, (uint64_t)(1000 * i), 4);
    }
}

static void put_list(struct bytes *bytes, const int32_t *numbers, uint32_t count)
{
    put(bytes, count, 4);
    for (uint32_t i = 0; i < count; i++) {
        put(bytes, (uint32_t)numbers[i], 4);
    }
}

enum { RECEIVES = 2 };

// Two MPI_Irecv, an MPI_Waitsome that completes the second, MPI_Finalize; then header, footer, sizes of types, index.
static void make_file(struct bytes *file, unsigned told_receives)
{
    *file = (struct bytes){.size = 0};
    put(file, CO_DUMPI_MAGIC, 8);
    put(file, 0, 4);
    put(file, 100, 4);
    for (int i = 0; i < RECEIVES; i++) {
        put_head(file, CO_CALL_ID_Irecv);
        put(file, 3, 4);
        put(file, 9, 2);
        put(file, 5, 4);
        put(file, (uint32_t)-1, 4);
        put(file, 2, 2);
        put(file, (uint64_t)(7 + i), 4);
    }
    put_head(file, CO_CALL_ID_Waitsome);
    put(file, 2, 4);
    put_list(file, (const int32_t[]){7, 8}, 2);
    put(file, 1, 4);
    put_list(file, (const int32_t[]){1}, 1);
    put(file, 1, 4);
    put(file, 12, 4);
    put(file, 5, 4);
    put(file, 0, 2);
    put(file, 99, 4);
    put_head(file, CO_CALL_ID_Finalize);
    put(file, CO_CALL_DUMPI_COUNT + 3, 2);
    uint64_t header = file->size;
    put(file, 0x010100, 3);
    put(file, 0, 8 + 2 + 2 + 4);
    uint64_t footer = file->size;
    put(file, 0xf007fee7, 8);
    for (unsigned half = 0; half < 2; half++) {
        for (unsigned id = 0; id <= CO_CALL_DUMPI_COUNT; id++) {
            unsigned told =
                id == CO_CALL_ID_Irecv ? told_receives : id == CO_CALL_ID_Waitsome || id == CO_CALL_ID_Finalize;
            put(file, half == 0 ? told : 0, 4);
        }
    }
    uint64_t sizes = file->size;
    put(file, 10, 4);
    for (int i = 0; i < 10; i++) {
        put(file, (uint64_t)i, 4);
    }
    const uint64_t index[] = {CO_DUMPI_MAGIC, sizes, 0, 0, header, 8, footer, 0};
    for (int i = 0; i < 8; i++) {
        put(file, index[i], 8);
    }
}

// All of a file; the note says what was wrong.
static unsigned read_all(const uint8_t *bytes, size_t size, struct co_note *note)
{
    struct co_reader reader;
    struct co_traced_call call;
    unsigned calls = 0;
    uint8_t *copy = malloc(size > 0 ? size : 1); // exactly as long, so that reading on is seen
    memcpy(copy, bytes, size);
    if (co_reader_open_bytes(&reader, copy, size) == 0) {
        while (co_reader_next(&reader, &call)) {
            calls++;
        }
    }
    *note = reader.note;
    co_reader_close(&reader);
    free(copy);
    return calls;
}

static void a_file_is_read(void **state)
{
    (void)state;
    struct bytes file;
    struct co_reader reader;
    struct co_traced_call call;
    make_file(&file, RECEIVES);
    assert_int_equal(co_reader_open_bytes(&reader, file.at, file.size), 0);
    assert_true(co_reader_next(&reader, &call));
    assert_int_equal(call.op, CO_CALL_IRECEIVE);
    assert_int_equal(call.peer, 5);
    assert_int_equal(call.tag, CO_CALL_ANY);
    assert_int_equal(call.comm, CO_COMM_WORLD);
    assert_int_equal(call.request, 7);
    assert_int_equal(call.bytes, 3 * 9);
    assert_true(call.begin_ns == UINT64_C(101000002000));
    assert_true(call.end_ns == UINT64_C(101000003000));
    assert_true(co_reader_next(&reader, &call));
    assert_true(co_reader_next(&reader, &call));
    assert_int_equal(call.op, CO_CALL_WAITSOME);
    assert_int_equal(call.request_count, 2);
    assert_int_equal(call.index_count, 1);
    assert_int_equal(call.indices[0], 1);
    assert_int_equal(call.statuses[0].source, 5);
    assert_int_equal(call.statuses[0].tag, 99);
    assert_int_equal(call.statuses[0].bytes, 12);
    assert_true(co_reader_next(&reader, &call));
    assert_false(co_reader_next(&reader, &call));
    assert_int_equal(reader.note.count, 0);
    co_reader_close(&reader);
}

static void every_truncation_is_said(void **state)
{
    (void)state;
    struct bytes file;
    struct co_note note;
    unsigned most = 0;
    make_file(&file, RECEIVES);
    for (size_t size = 0; size < file.size; size++) {
        unsigned calls = read_all(file.at, size, &note);
        assert_true(note.count > 0 && note.why[0] != '\0' && note.offset <= size);
        if (calls < most) {
            fail_msg("%u calls of %u at %zu bytes of %zu: %s", calls, most, size, file.size, note.why);
        }
        most = calls > most ? calls : most;
    }
    assert_int_equal(most, 4);
}

static void every_wrong_byte_is_survived(void **state)
{
    (void)state;
    struct bytes file;
    struct co_note note;
    make_file(&file, RECEIVES);
    for (size_t at = 0; at < file.size; at++) {
        uint8_t was = file.at[at];
        for (unsigned value = 0; value < 256; value += 51) {
            file.at[at] = (uint8_t)value;
            assert_true(read_all(file.at, file.size, &note) <= file.size);
        }
        file.at[at] = was;
    }
}

static void wrong_files_are_told_apart(void **state)
{
    (void)state;
    struct bytes file;
    struct co_note note;
    make_file(&file, RECEIVES + 1);
    assert_int_equal(read_all(file.at, file.size, &note), 4);
    assert_string_equal(note.why, "its footer counts 3 calls of MPI_Irecv, and there are 2");
    for (int i = 0; i < 4; i++) {
        uint8_t other = file.at[i];
        file.at[i] = file.at[7 - i];
        file.at[7 - i] = other;
    }
    assert_int_equal(read_all(file.at, file.size, &note), 0);
    assert_non_null(strstr(note.why, "other order"));
    assert_int_equal(read_all(file.at, 0, &note), 0);
    assert_string_equal(note.why, "it is empty");
    assert_int_equal(read_all((const uint8_t *)"#!/bin/sh\nrm -rf nothing\n", 25, &note), 0);
    assert_non_null(strstr(note.why, "does not begin like a trace"));
    make_file(&file, RECEIVES);
    size_t header = file.size - 64 - 44 - (8 + 8 * (CO_CALL_DUMPI_COUNT + 1)) - 19;
    file.at[header] = 9;
    (void)read_all(file.at, file.size, &note);
    assert_non_null(strstr(note.why, "version 9.1.0"));
}

// Behind the first record's head: how many numbers follow is said to be enormous.
static void a_list_longer_than_the_file(void **state)
{
    (void)state;
    struct bytes file = {.size = 0};
    struct co_note note;
    put(&file, CO_DUMPI_MAGIC, 8);
    put(&file, 0, 8);
    put_head(&file, CO_CALL_ID_Waitall);
    put(&file, 2, 4);
    put(&file, UINT32_MAX, 4);
    put(&file, 0, 8);
    assert_int_equal(read_all(file.at, file.size, &note), 0);
    file.size = 0;
    put(&file, CO_DUMPI_MAGIC, 8);
    put(&file, 0, 8);
    put_head(&file, CO_CALL_ID_Comm_spawn_multiple);
    put(&file, 0, 12);
    put(&file, 0, 4);
    put(&file, 0, 4);
    for (int i = 0; i < 8; i++) {
        put(&file, UINT32_MAX, 4);
    }
    assert_int_equal(read_all(file.at, file.size, &note), 0);
}

#define IN "MPI_Irecv entering at walltime 5.000000001, cputime 0.1 seconds in thread 0.\n"
#define OUT "MPI_Irecv returning at walltime 5.000000009, cputime 0.1 seconds in thread 0.\n"
#define ARGUMENTS                                                                                                      \
    "int count=4\nMPI_Datatype datatype=9 (MPI_INT)\nint source=-1 (MPI_ANY_SOURCE)\nint tag=3\n"                      \
    "MPI_Comm comm=2 (MPI_COMM_WORLD)\nMPI_Request request=[2]\n"

static unsigned read_text(const char *text, struct co_note *note)
{
    return read_all((const uint8_t *)text, strlen(text), note);
}

static void text_is_read(void **state)
{
    (void)state;
    struct co_reader reader;
    struct co_traced_call call;
    static const char text[] = IN ARGUMENTS OUT;
    assert_int_equal(co_reader_open_bytes(&reader, (const uint8_t *)text, sizeof text - 1), 0);
    assert_int_equal(reader.format, CO_FORMAT_DUMPI_TEXT);
    assert_true(co_reader_next(&reader, &call));
    assert_int_equal(call.op, CO_CALL_IRECEIVE);
    assert_int_equal(call.peer, CO_CALL_ANY);
    assert_int_equal(call.tag, 3);
    assert_int_equal(call.request, 2);
    assert_int_equal(call.bytes, 16);
    assert_true(call.begin_ns == UINT64_C(5000000001) && call.end_ns == UINT64_C(5000000009));
    assert_false(co_reader_next(&reader, &call));
    co_reader_close(&reader);
}

static void assert_ranges(const uint8_t *bytes, size_t size)
{
    static const int32_t ranges[] = {0, 4, 2, 5, 7, 1};
    struct co_reader reader;
    struct co_traced_call call;
    assert_int_equal(co_reader_open_bytes(&reader, bytes, size), 0);
    assert_true(co_reader_next(&reader, &call));
    assert_int_equal(call.op, CO_CALL_GROUP_RANGE_INCL);
    assert_int_equal(call.group, 3);
    assert_int_equal(call.new_group, 4);
    assert_int_equal(call.number_count, 6);
    assert_memory_equal(call.numbers, ranges, sizeof ranges);
    co_reader_close(&reader);
}

// dumpi2ascii begins a line with each of them.
static void ranges_are_read(void **state)
{
    (void)state;
    static const char text[] =
        "MPI_Group_range_incl entering at walltime 5.000000001, cputime 0.1 seconds in thread 0.\n"
        "MPI_Group group=3 (user-defined-group)\nint count=2\nint ranges[2][3]=[[0, 4, 2]\n, [5, 7, 1]\n"
        "]MPI_Group newgroup=4 (user-defined-group)\n"
        "MPI_Group_range_incl returning at walltime 5.000000009, cputime 0.1 seconds in thread 0.\n";
    struct bytes file = {.size = 0};
    struct co_note note;
    assert_ranges((const uint8_t *)text, sizeof text - 1);
    put(&file, CO_DUMPI_MAGIC, 8);
    put(&file, 0, 8);
    put_head(&file, CO_CALL_ID_Group_range_incl);
    put(&file, 3, 2);
    put(&file, 2, 4);
    put(&file, 2, 4);
    size_t first = file.size;
    put_list(&file, (const int32_t[]){0, 4, 2}, 3);
    put_list(&file, (const int32_t[]){5, 7, 1}, 3);
    put(&file, 4, 2);
    assert_ranges(file.at, file.size);
    file.at[first] = 0x7f;
    assert_int_equal(read_all(file.at, file.size, &note), 0);
    file.at[first - 4] = 0x7f;
    assert_int_equal(read_all(file.at, file.size, &note), 0);
}

// A reader at the first call of a file that holds only it.
static void open_call(struct co_reader *reader, struct bytes *file, struct co_traced_call *call)
{
    assert_int_equal(co_reader_open_bytes(reader, file->at, file->size), 0);
    assert_true(co_reader_next(reader, call));
}

// What tells a rank its place in a grid, and how groups are merged.
static void grids_and_merges_are_read(void **state)
{
    (void)state;
    struct bytes file = {.size = 0};
    struct co_reader reader;
    struct co_traced_call call;
    put(&file, CO_DUMPI_MAGIC, 8);
    put(&file, 0, 8);
    put_head(&file, CO_CALL_ID_Cart_get);
    put(&file, 2, 4);
    put(&file, 5, 2);
    put(&file, 2, 4);
    put_list(&file, (const int32_t[]){4, 6}, 2);
    put_list(&file, (const int32_t[]){0, 1}, 2);
    put_list(&file, (const int32_t[]){3, 2}, 2);
    open_call(&reader, &file, &call);
    assert_int_equal(call.op, CO_CALL_CART_GET);
    assert_int_equal(call.comm, 5);
    assert_int_equal(call.number_count, 2);
    assert_true(call.numbers[0] == 3 && call.numbers[1] == 2);
    co_reader_close(&reader);
    file.size = 16;
    put_head(&file, CO_CALL_ID_Cart_shift);
    put(&file, 5, 2);
    put(&file, 1, 4);
    put(&file, (uint32_t)-3, 4);
    put(&file, 8, 4);
    put(&file, (uint32_t)-2, 4);
    open_call(&reader, &file, &call);
    assert_int_equal(call.op, CO_CALL_CART_SHIFT);
    assert_int_equal(call.comm, 5);
    assert_true(call.color == 1 && call.key == -3);
    assert_true(call.source == 8 && call.peer == -2);
    co_reader_close(&reader);
    file.size = 16;
    put_head(&file, CO_CALL_ID_Intercomm_merge);
    put(&file, 5, 2);
    put(&file, 1, 4);
    put(&file, 6, 2);
    open_call(&reader, &file, &call);
    assert_int_equal(call.op, CO_CALL_INTERCOMM_MERGE);
    assert_int_equal(call.comm, 5);
    assert_int_equal(call.reorder, 1);
    assert_int_equal(call.new_comm, 6);
    co_reader_close(&reader);
}

static void damaged_text_is_said(void **state)
{
    (void)state;
    struct co_note note;
    assert_int_equal(read_text(IN ARGUMENTS, &note), 0);
    assert_string_equal(note.why, "it ends in the middle of a call");
    assert_int_equal(read_text(IN OUT OUT IN OUT, &note), 2);
    assert_string_equal(note.why, "MPI_Irecv returns, which was not entered");
    assert_int_equal(note.offset, strlen(IN OUT));
    assert_int_equal(read_text(IN IN OUT, &note), 1);
    assert_string_equal(note.why, "a call is entered before the one before it has returned");
    assert_int_equal(read_text(IN "what is this\n" OUT, &note), 1);
    assert_string_equal(note.why, "this line is none of a call");
    assert_int_equal(note.offset, strlen(IN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(every_truncation_is_said),
        cmocka_unit_test(every_wrong_byte_is_survived),
        cmocka_unit_test(wrong_files_are_told_apart),
        cmocka_unit_test(a_list_longer_than_the_file),
        cmocka_unit_test(text_is_read),
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(grids_and_merges_are_read),
        cmocka_unit_test(damaged_text_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
