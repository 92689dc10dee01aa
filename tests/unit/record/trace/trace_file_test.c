// SPDX-License-Identifier: BSD-3-Clause
//
// Files that are no trace, or not whole: cut off at every byte, with blocks that lie, from another machine. What is
// whole is given, in the order in which streams belong together.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/trace/trace_file.h"

enum { RECORDS = 20, BLOCK = 1024, BLOCKS = 4, SIZE = CO_TRACE_HEADER_BYTES + BLOCKS * BLOCK };

struct trace {
    struct co_trace_header header;
    uint8_t rest[CO_TRACE_HEADER_BYTES - sizeof(struct co_trace_header)];
    struct {
        struct co_trace_block head;
        uint8_t records[BLOCK - sizeof(struct co_trace_block)];
    } block[BLOCKS];
};

_Static_assert(sizeof(struct trace) == SIZE, "no hole");

static void begin(struct trace *trace)
{
    memset(trace, 0, sizeof *trace);
    memcpy(trace->header.magic, CO_TRACE_MAGIC, sizeof trace->header.magic);
    trace->header.byte_order = CO_TRACE_BYTE_ORDER;
    trace->header.version = CO_TRACE_VERSION;
    trace->header.header_bytes = CO_TRACE_HEADER_BYTES;
    trace->header.block_bytes = BLOCK;
}

static void begin_block(struct trace *trace, int index, uint32_t stream, uint64_t sequence, uint64_t base_ns)
{
    struct co_trace_block *head = &trace->block[index].head;
    head->magic = CO_TRACE_BLOCK_MAGIC;
    head->stream = stream;
    head->sequence = sequence;
    head->base_ns = base_ns;
}

static void add(struct trace *trace, int index, struct co_trace_state *state, unsigned kind, uint64_t begin_ns,
                uint64_t end_ns, int64_t value)
{
    struct co_trace_block *head = &trace->block[index].head;
    int64_t rows[1][CO_TRACE_COLUMNS_MAX] = {{0}};
    struct co_trace_record record = {.kind = (uint16_t)kind,
                                     .begin_ns = begin_ns,
                                     .end_ns = end_ns,
                                     .value = {value},
                                     .times = 1,
                                     .rows = rows,
                                     .text = ""};
    head->used += (uint32_t)co_trace_encode(&record, state, trace->block[index].records + head->used,
                                            sizeof trace->block[index].records - head->used);
}

// Two streams: one of two blocks that stand in the file the other way round, with a free block between.
static void make(struct trace *trace)
{
    struct co_trace_state state;
    begin(trace);
    begin_block(trace, 3, 0, 0, 100);
    state = (struct co_trace_state){.time_ns = 100};
    for (int64_t i = 0; i < RECORDS / 2; i++) {
        add(trace, 3, &state, CO_TRACE_Send, 100 + 20 * (uint64_t)i, 105 + 20 * (uint64_t)i, 2 * i);
    }
    begin_block(trace, 0, 0, 1, 400);
    state = (struct co_trace_state){.time_ns = 400};
    add(trace, 0, &state, CO_TRACE_Send, 400, 405, RECORDS);
    begin_block(trace, 1, 1, 0, 100);
    state = (struct co_trace_state){.time_ns = 100};
    for (int64_t i = 0; i < RECORDS / 2; i++) {
        add(trace, 1, &state, CO_TRACE_Send, 110 + 20 * (uint64_t)i, 115 + 20 * (uint64_t)i, 2 * i + 1);
    }
}

static int read_all(const void *bytes, size_t size, struct co_trace_file *file)
{
    char why[CO_TRACE_WHY_MAX] = "";
    const struct co_trace_record *record;
    int records = 0;
    int result = co_trace_file_open_bytes(file, bytes, size, why);
    if (result != 0) {
        assert_string_not_equal(why, "");
        return result;
    }
    while ((record = co_trace_file_next(file)) != NULL) {
        records++;
    }
    co_trace_file_close(file);
    return records;
}

static void merged_in_time(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    char why[CO_TRACE_WHY_MAX];
    make(&trace);
    assert_int_equal(co_trace_file_open_bytes(&file, (uint8_t *)&trace, sizeof trace, why), 0);
    for (int64_t i = 0; i <= RECORDS; i++) {
        const struct co_trace_record *record = co_trace_file_next(&file);
        assert_non_null(record);
        assert_int_equal(record->value[0], i);
        assert_int_equal(record->stream, i == RECORDS ? 0 : i % 2);
    }
    assert_null(co_trace_file_next(&file));
    assert_int_equal(file.damages, 0);
    co_trace_file_close(&file);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    fclose(stream);
}

// Block by block; while somebody cuts it off, what was still to be read is said to be missing.
static void read_from_a_file(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    char why[CO_TRACE_WHY_MAX], path[] = "/tmp/castoff-trace-file-XXXXXX";
    int made = mkstemp(path), records = 0;
    assert_true(made >= 0);
    close(made);
    make(&trace);
    write_file(path, &trace, sizeof trace);
    assert_int_equal(co_trace_file_open(&file, path, why), 0);
    for (int64_t i = 0; i <= RECORDS; i++) {
        assert_int_equal(co_trace_file_next(&file)->value[0], i);
    }
    assert_null(co_trace_file_next(&file));
    assert_int_equal(file.damages, 0);
    co_trace_file_close(&file);
    assert_int_equal(co_trace_file_open(&file, path, why), 0);
    assert_non_null(co_trace_file_next(&file)); // both streams have begun
    assert_int_equal(truncate(path, CO_TRACE_HEADER_BYTES), 0);
    records = 1;
    while (co_trace_file_next(&file) != NULL) {
        records++;
    }
    assert_int_equal(records, RECORDS); // the first block of each stream was in memory
    assert_int_equal(file.damages, 1);
    assert_int_equal(file.damage_offset, CO_TRACE_HEADER_BYTES);
    assert_string_equal(file.damage, "a block cannot be read");
    co_trace_file_close(&file);
    unlink(path);
    assert_int_equal(co_trace_file_open(&file, path, why), -ENOENT);
    assert_string_equal(why, "No such file or directory");
    assert_int_equal(co_trace_file_open(&file, "/tmp", why), -EISDIR);
    assert_int_equal(co_trace_file_open(&file, "/dev/null", why), -EINVAL);
    assert_string_equal(why, "it is no file");
}

// A request that one thread waits for while another gets its handle again.
static void completions_by_their_beginning(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    char why[CO_TRACE_WHY_MAX];
    struct co_trace_state states[2] = {{.time_ns = 0}, {.time_ns = 0}};
    begin(&trace);
    begin_block(&trace, 0, 0, 0, 0);
    begin_block(&trace, 1, 1, 0, 0);
    add(&trace, 0, &states[0], CO_TRACE_Isend, 10, 20, 1);
    add(&trace, 0, &states[0], CO_TRACE_Wait, 30, 100, 64);
    add(&trace, 1, &states[1], CO_TRACE_Isend, 80, 90, 2);
    assert_int_equal(co_trace_file_open_bytes(&file, (uint8_t *)&trace, sizeof trace, why), 0);
    assert_int_equal(co_trace_file_next(&file)->value[0], 1);
    assert_int_equal(co_trace_file_next(&file)->kind, CO_TRACE_Wait);
    assert_int_equal(co_trace_file_next(&file)->value[0], 2);
    co_trace_file_close(&file);
}

static void cut_off_at_every_byte(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    int most = 0;
    make(&trace);
    for (size_t size = 0; size < sizeof trace; size++) {
        uint8_t *copy = malloc(size + 1);
        memcpy(copy, &trace, size);
        int records = read_all(copy, size, &file);
        free(copy);
        assert_true(size < sizeof trace.header ? records == -EINVAL : records >= 0);
        assert_true(records <= RECORDS + 1);
        most = records > most ? records : most;
    }
    assert_int_equal(most, RECORDS + 1);
}

static void a_record_that_is_none(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    make(&trace);
    memset(trace.block[3].records, 0, 3);
    assert_int_equal(read_all(&trace, sizeof trace, &file), RECORDS / 2 + 1); // the other blocks
    assert_int_equal(file.damages, 1);
    assert_int_equal(file.damage_offset, CO_TRACE_HEADER_BYTES + 3 * BLOCK + sizeof(struct co_trace_block));
    assert_non_null(file.damage);
}

static void blocks_that_lie(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    make(&trace);
    trace.block[0].head.used = UINT32_MAX;
    assert_true(read_all(&trace, sizeof trace, &file) >= RECORDS + 1);
    assert_true(file.damages >= 1);
    make(&trace);
    trace.block[1].head.magic = 77;
    assert_int_equal(read_all(&trace, sizeof trace, &file), RECORDS / 2 + 1);
    assert_int_equal(file.damages, 1);
    make(&trace);
    trace.block[3].head.inside = CO_TRACE_KIND_COUNT;
    trace.block[1].head.inside = UINT32_MAX;
    trace.block[1].head.repeats_at = trace.block[1].head.used + 1; // of nothing
    trace.block[1].head.repeats = 5;
    assert_int_equal(read_all(&trace, sizeof trace, &file), RECORDS + 1);
}

static void calls_under_way(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    char why[CO_TRACE_WHY_MAX];
    const struct co_trace_record *record, *last = NULL;
    static struct co_trace_record kept;
    make(&trace);
    trace.block[0].head.inside = CO_TRACE_Recv;
    trace.block[0].head.inside_since_ns = 500;
    trace.block[3].head.inside = CO_TRACE_Send; // not the stream's last block
    trace.block[1].head.inside = CO_TRACE_Send; // was just over: its record is there
    trace.block[1].head.inside_since_ns = 110 + 20 * (RECORDS / 2 - 1);
    assert_int_equal(co_trace_file_open_bytes(&file, (uint8_t *)&trace, sizeof trace, why), 0);
    int records = 0;
    while ((record = co_trace_file_next(&file)) != NULL) {
        kept = *record;
        last = &kept;
        records++;
    }
    assert_int_equal(records, RECORDS + 2);
    assert_int_equal(last->kind, CO_TRACE_Recv);
    assert_true(last->is_unfinished);
    assert_int_equal(last->begin_ns, 500);
    co_trace_file_close(&file);
    trace.header.end = CO_TRACE_CLOSED;
    assert_int_equal(read_all(&trace, sizeof trace, &file), RECORDS + 1);
}

static void what_is_no_trace(void **state)
{
    (void)state;
    static struct trace trace;
    struct co_trace_file file;
    make(&trace);
    assert_int_equal(read_all("", 0, &file), -EINVAL);
    trace.header.version++;
    assert_int_equal(read_all(&trace, sizeof trace, &file), -EINVAL);
    make(&trace);
    trace.header.byte_order = __builtin_bswap32(CO_TRACE_BYTE_ORDER);
    assert_int_equal(read_all(&trace, sizeof trace, &file), -EINVAL);
    make(&trace);
    trace.header.block_bytes = 0;
    assert_int_equal(read_all(&trace, sizeof trace, &file), -EINVAL);
    make(&trace);
    trace.header.header_bytes = 1;
    assert_int_equal(read_all(&trace, sizeof trace, &file), -EINVAL);
    make(&trace);
    trace.header.magic[3] = 'X';
    assert_int_equal(read_all(&trace, sizeof trace, &file), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_in_time),
        cmocka_unit_test(read_from_a_file),
        cmocka_unit_test(completions_by_their_beginning),
        cmocka_unit_test(cut_off_at_every_byte),
        cmocka_unit_test(a_record_that_is_none),
        cmocka_unit_test(blocks_that_lie),
        cmocka_unit_test(calls_under_way),
        cmocka_unit_test(what_is_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
