// SPDX-License-Identifier: BSD-3-Clause
//
// Traces of many threads: what memory they take, and files that were made to take more than any program's.
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

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    fclose(stream);
}

// A block and a record of so many rows for each of so many threads, `apart_ns` after one another.
static uint8_t *make_many(int streams, uint16_t rows, uint64_t apart_ns, size_t *size)
{
    static int64_t row[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX];
    const uint32_t each = (uint32_t)sizeof(struct co_trace_block) + 32 + 8 * rows;
    *size = CO_TRACE_HEADER_BYTES + (size_t)streams * each;
    uint8_t *bytes = calloc(1, *size);
    assert_non_null(bytes);
    struct co_trace_header header = {.byte_order = CO_TRACE_BYTE_ORDER,
                                     .version = CO_TRACE_VERSION,
                                     .header_bytes = CO_TRACE_HEADER_BYTES,
                                     .block_bytes = each};
    memcpy(header.magic, CO_TRACE_MAGIC, sizeof header.magic);
    memcpy(bytes, &header, sizeof header);
    for (int i = 0; i < streams; i++) {
        uint64_t base_ns = (uint64_t)(streams - i) * apart_ns; // the last one is the first in time
        struct co_trace_state state = {.time_ns = base_ns};
        struct co_trace_record record = {.kind = rows > 0 ? CO_TRACE_Waitall : CO_TRACE_Send,
                                         .begin_ns = base_ns,
                                         .end_ns = base_ns + 1,
                                         .times = 1,
                                         .value = {i},
                                         .rows = row,
                                         .row_count = rows,
                                         .text = ""};
        struct co_trace_block head = {.magic = CO_TRACE_BLOCK_MAGIC, .stream = (uint32_t)i, .base_ns = base_ns};
        uint8_t *block = bytes + CO_TRACE_HEADER_BYTES + (size_t)i * each;
        uint8_t encoded[16384];
        head.used = (uint32_t)co_trace_encode(&record, &state, encoded, sizeof encoded);
        assert_in_range(head.used, 1, each - sizeof head);
        memcpy(block + sizeof head, encoded, head.used);
        memcpy(block, &head, sizeof head);
    }
    return bytes;
}

// One after the other they take the memory of those that live at a time.
static void many_threads_in_turn(void **state)
{
    enum { STREAMS = 20000 };
    (void)state;
    static struct co_trace_file file;
    char why[CO_TRACE_WHY_MAX];
    size_t size, most = 0;
    uint8_t *bytes = make_many(STREAMS, 0, UINT64_C(2000000000), &size);
    assert_int_equal(co_trace_file_open_bytes(&file, bytes, size, why), 0);
    for (int64_t i = STREAMS - 1; i >= 0; i--) {
        const struct co_trace_record *record = co_trace_file_next(&file);
        assert_non_null(record);
        assert_int_equal(record->value[0], i);
        assert_int_equal(record->stream, i);
        most = file.live > most ? file.live : most;
    }
    assert_null(co_trace_file_next(&file));
    assert_int_equal(file.live, 0);
    assert_in_range(most, 1, 2);
    assert_int_equal(file.damages, 0);
    co_trace_file_close(&file);
    free(bytes);
}

// More at a time than any program has: a file that was made to take memory.
static void more_threads_than_live(void **state)
{
    enum { STREAMS = CO_TRACE_LIVE_MAX + 1000 };
    (void)state;
    static struct co_trace_file file;
    size_t size;
    uint8_t *bytes = make_many(STREAMS, 0, 1, &size);
    assert_int_equal(read_all(bytes, size, &file), CO_TRACE_LIVE_MAX);
    assert_int_equal(file.damages, 1000);
    assert_string_equal(file.damage, "more threads live at a time than a trace can have");
    free(bytes);
}

// Rows of 8 KiB for each record that waits for its turn, out of some hundred bytes.
static void more_rows_than_memory(void **state)
{
    enum { ROOM = CO_TRACE_LIVE_BYTES_MAX / (CO_TRACE_ROWS_MAX * CO_TRACE_COLUMNS_MAX * 8), STREAMS = ROOM + 1000 };
    (void)state;
    static struct co_trace_file file;
    size_t size;
    uint8_t *bytes = make_many(STREAMS, CO_TRACE_ROWS_MAX, 1, &size);
    assert_int_equal(read_all(bytes, size, &file), ROOM);
    assert_non_null(strstr(file.damage, "need more memory"));
    free(bytes);
}

// Blocks as large as a header may say, which are holes on the disk but not in memory.
static void blocks_larger_than_memory(void **state)
{
    enum { EACH = 1 << 26, STREAMS = 8, ROOM = CO_TRACE_LIVE_BYTES_MAX / EACH };
    (void)state;
    static struct co_trace_file file;
    char path[] = "/tmp/castoff-trace-large.XXXXXX", why[CO_TRACE_WHY_MAX];
    size_t size, records = 0;
    uint8_t *bytes = make_many(STREAMS, 0, 1, &size);
    size_t each = (size - CO_TRACE_HEADER_BYTES) / STREAMS;
    uint32_t whole = EACH;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    memcpy(bytes + offsetof(struct co_trace_header, block_bytes), &whole, sizeof whole);
    write_file(path, bytes, CO_TRACE_HEADER_BYTES);
    assert_int_equal(truncate(path, CO_TRACE_HEADER_BYTES + (off_t)STREAMS * EACH), 0);
    FILE *stream = fopen(path, "r+");
    assert_non_null(stream);
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(fseek(stream, CO_TRACE_HEADER_BYTES + (long)i * EACH, SEEK_SET), 0);
        assert_int_equal(fwrite(bytes + CO_TRACE_HEADER_BYTES + (size_t)i * each, 1, each, stream), each);
    }
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(co_trace_file_open(&file, path, why), 0);
    while (co_trace_file_next(&file) != NULL) {
        records++;
        assert_true(file.live_bytes <= CO_TRACE_LIVE_BYTES_MAX);
    }
    assert_int_equal(records, ROOM);
    assert_int_equal(file.damages, STREAMS - ROOM);
    assert_non_null(strstr(file.damage, "need more memory"));
    assert_int_equal(file.live_bytes, 0);
    co_trace_file_close(&file);
    unlink(path);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_in_turn),
        cmocka_unit_test(more_threads_than_live),
        cmocka_unit_test(more_rows_than_memory),
        cmocka_unit_test(blocks_larger_than_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
