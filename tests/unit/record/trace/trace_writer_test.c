// SPDX-License-Identifier: BSD-3-Clause
//
// Traces written and read: over many blocks, by several threads, by threads that come and go, looks in vain, a process
// that is killed while it writes, a file that may not grow, and a file cut off anywhere.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/trace/trace_writer.h"
#include "trace_reading.h"

static char path[100];
static const struct co_trace_header header = {.rank = 3, .size = 8, .began_ns = 1000, .host = "here"};

static int choose_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/castoff-trace-test.%d", (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void put_send(struct co_trace_stream *stream, int64_t tag, int64_t thread, uint64_t now_ns)
{
    struct co_trace_record record = {
        .kind = CO_TRACE_Send, .begin_ns = now_ns, .end_ns = now_ns + 5, .value = {1, 1, thread, tag, 1}, .times = 1};
    co_trace_stream_put(stream, &record);
}

static void put_vain(struct co_trace_stream *stream, int64_t handle, uint64_t now_ns)
{
    struct co_trace_record record = {.kind = CO_TRACE_Test,
                                     .flags = CO_TRACE_IN_VAIN,
                                     .begin_ns = now_ns,
                                     .end_ns = now_ns + 2,
                                     .value = {handle},
                                     .times = 1};
    co_trace_stream_put(stream, &record);
}

static void many_blocks(void **state)
{
    (void)state;
    enum { CALLS = 50000 };
    struct co_trace_writer writer;
    assert_int_equal(co_trace_writer_open(&writer, path, &header), 0);
    struct co_trace_stream *stream = co_trace_stream_take(&writer, 1000);
    for (int i = 0; i < CALLS; i++) {
        put_send(stream, i, 0, 1000 + (uint64_t)i * 10);
    }
    co_trace_writer_close(&writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&writer);
    struct co_trace_file reading;
    trace_reading_open(&reading, path);
    assert_int_equal(reading.header.rank, 3);
    assert_int_equal(reading.header.end, CO_TRACE_CLOSED);
    assert_string_equal(reading.header.host, "here");
    assert_true(reading.place_count > 5);
    for (int i = 0; i < CALLS; i++) {
        const struct co_trace_record *record = co_trace_file_next(&reading);
        assert_non_null(record);
        assert_int_equal(record->value[3], i);
        assert_int_equal(record->begin_ns, 1000 + i * 10);
    }
    assert_null(co_trace_file_next(&reading));
    assert_int_equal(reading.damages, 0);
    assert_true(reading.source.size < CO_TRACE_HEADER_BYTES + CALLS * 12); // nothing but records, nearly
    co_trace_file_close(&reading);
}

enum { THREADS = 4, CALLS_EACH = 20000 };

static void *write_calls(void *argument)
{
    struct co_trace_writer *writer = argument;
    static _Atomic int64_t number;
    int64_t mine = co_add_relaxed(&number, 1) % THREADS; // relaxed: a number
    struct co_trace_stream *stream = co_trace_stream_take(writer, 1000);
    for (int64_t i = 0; i < CALLS_EACH; i++) {
        put_send(stream, i, mine, 1000 + (uint64_t)(i * THREADS + mine) * 10);
    }
    co_trace_stream_give(stream);
    return NULL;
}

static void threads_at_once(void **state)
{
    (void)state;
    struct co_trace_writer writer;
    pthread_t threads[THREADS];
    assert_int_equal(co_trace_writer_open(&writer, path, &header), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, write_calls, &writer);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    co_trace_writer_close(&writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&writer);
    struct co_trace_file reading;
    trace_reading_open(&reading, path);
    assert_true(reading.stream_count <= THREADS);
    const struct co_trace_record *record;
    int64_t next[THREADS] = {0};
    int seen = 0;
    while ((record = co_trace_file_next(&reading)) != NULL) {
        assert_int_equal(record->value[3], next[record->value[2]]++);
        seen++;
    }
    assert_int_equal(seen, THREADS * CALLS_EACH);
    assert_int_equal(reading.damages, 0);
    co_trace_file_close(&reading);
}

static void threads_come_and_go(void **state)
{
    (void)state;
    struct co_trace_writer writer;
    assert_int_equal(co_trace_writer_open(&writer, path, &header), 0);
    for (int i = 0; i < 1000; i++) {
        struct co_trace_stream *stream = co_trace_stream_take(&writer, 1000);
        put_send(stream, i, 0, 1000 + (uint64_t)i * 10);
        co_trace_stream_give(stream);
    }
    assert_int_equal(writer.stream_count, 1);
    assert_int_equal(co_load_relaxed(&writer.blocks), 1); // relaxed: one thread
    co_trace_writer_close(&writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&writer);
}

// Equal ones only count; the open end of them is there without having been written.
static void looks_in_vain(void **state)
{
    (void)state;
    struct co_trace_writer writer;
    assert_int_equal(co_trace_writer_open(&writer, path, &header), 0);
    struct co_trace_stream *stream = co_trace_stream_take(&writer, 1000);
    for (uint64_t i = 0; i < 1000; i++) {
        put_vain(stream, 64, 1000 + 10 * i);
    }
    put_send(stream, 1, 0, 20000);
    put_vain(stream, 64, 30000);
    put_vain(stream, 128, 31000);
    put_vain(stream, 128, 32000);
    struct co_trace_file reading;
    trace_reading_open(&reading, path); // as if the process had been killed
    const struct co_trace_record *record = co_trace_file_next(&reading);
    assert_int_equal(record->kind, CO_TRACE_Test);
    assert_int_equal(record->times, 1000);
    assert_int_equal(record->begin_ns, 1000);
    assert_int_equal(record->end_ns, 1000 + 9990 + 2);
    assert_int_equal(co_trace_file_next(&reading)->kind, CO_TRACE_Send);
    record = co_trace_file_next(&reading);
    assert_int_equal(record->value[0], 64);
    assert_int_equal(record->times, 1);
    record = co_trace_file_next(&reading);
    assert_int_equal(record->value[0], 128);
    assert_int_equal(record->times, 2);
    assert_int_equal(record->end_ns, 32002);
    assert_null(co_trace_file_next(&reading));
    co_trace_file_close(&reading);
    co_trace_writer_close(&writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&writer);
    trace_reading_open(&reading, path);
    int records = 0;
    while (co_trace_file_next(&reading) != NULL) {
        records++;
    }
    assert_int_equal(records, 4);
    co_trace_file_close(&reading);
}

// Writes until it is killed; says when it has written `calls`.
static void write_until_killed(int speak, int calls)
{
    struct co_trace_writer writer;
    if (co_trace_writer_open(&writer, path, &header) != 0) {
        _exit(1);
    }
    struct co_trace_stream *stream = co_trace_stream_take(&writer, 1000);
    for (int i = 0;; i++) {
        co_trace_stream_enter(stream, CO_TRACE_Send, 1000 + (uint64_t)i * 10);
        put_send(stream, i, 0, 1000 + (uint64_t)i * 10);
        co_trace_stream_leave(stream, CO_TRACE_NOTHING);
        if (i == calls && write(speak, "x", 1) != 1) {
            _exit(1);
        }
    }
}

static void killed_while_writing(void **state)
{
    (void)state;
    for (int calls = 1; calls < 100000; calls = calls * 3 + 1) {
        int ends[2];
        char byte;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            write_until_killed(ends[1], calls);
        }
        assert_int_equal(read(ends[0], &byte, 1), 1);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
        struct co_trace_file reading;
        trace_reading_open(&reading, path);
        const struct co_trace_record *record;
        int64_t seen = 0;
        while ((record = co_trace_file_next(&reading)) != NULL) {
            assert_int_equal(record->kind, CO_TRACE_Send);
            if (!record->is_unfinished) {
                assert_int_equal(record->value[3], seen);
                seen++;
            }
            assert_int_equal(record->begin_ns, 1000 + (seen - !record->is_unfinished) * 10);
        }
        assert_true(seen > calls);
        assert_int_equal(reading.damages, 0);
        assert_int_equal(reading.header.end, CO_TRACE_OPEN);
        co_trace_file_close(&reading);
    }
}

// The limit would raise SIGXFSZ where it is not asked about.
static void no_room(void **state)
{
    (void)state;
    struct rlimit limit, small;
    struct co_trace_writer writer;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = CO_TRACE_HEADER_BYTES + 2 * CO_TRACE_BLOCK_BYTES;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(co_trace_writer_open(&writer, path, &header), 0);
    struct co_trace_stream *stream = co_trace_stream_take(&writer, 1000);
    for (int i = 0; i < 50000; i++) {
        put_send(stream, i, 0, 1000 + (uint64_t)i * 10);
    }
    assert_false(co_trace_writer_is_open(&writer));
    assert_null(co_trace_stream_take(&writer, 1)); // a second thread gets none
    co_trace_writer_close(&writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct co_trace_file reading;
    trace_reading_open(&reading, path);
    assert_int_equal(reading.header.end, CO_TRACE_STOPPED);
    int64_t seen = 0;
    const struct co_trace_record *record;
    while ((record = co_trace_file_next(&reading)) != NULL) {
        assert_int_equal(record->value[3], seen++);
    }
    assert_true(seen > 1000 && seen < 50000);
    co_trace_file_close(&reading);
}

static void not_where_it_may_not(void **state)
{
    (void)state;
    struct co_trace_writer writer;
    assert_int_equal(co_trace_writer_open(&writer, "/nowhere/at/all.trace", &header), -ENOENT);
}

static void write_one(void)
{
    struct co_trace_writer writer;
    assert_int_equal(co_trace_writer_open(&writer, path, &header), 0);
    co_trace_writer_close(&writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&writer);
}

static off_t bytes_of(const char *name)
{
    struct stat state;
    return stat(name, &state) == 0 ? state.st_size : -1;
}

// Names in a folder are known before: others may have put there a symbolic link, a hard link or a pipe.
static void what_others_left_at_the_name_is_not_written(void **state)
{
    (void)state;
    char victim[sizeof path + 10];
    struct stat found;
    snprintf(victim, sizeof victim, "%s.victim", path);
    FILE *file = fopen(victim, "w");
    assert_non_null(file);
    fputs("the user's", file);
    fclose(file);
    for (int i = 0; i < 3; i++) {
        unlink(path);
        assert_int_equal(i == 0 ? symlink(victim, path) : i == 1 ? link(victim, path) : mkfifo(path, 0600), 0);
        write_one();
        assert_int_equal(bytes_of(victim), strlen("the user's"));
        assert_int_equal(lstat(path, &found), 0);
        assert_true(S_ISREG(found.st_mode) && found.st_size >= CO_TRACE_HEADER_BYTES);
    }
    unlink(victim);
}

// Whoever still writes or reads it has it mapped: cut off, it would end him.
static void an_earlier_trace_is_left_to_who_has_it(void **state)
{
    (void)state;
    struct co_trace_writer first;
    assert_int_equal(co_trace_writer_open(&first, path, &header), 0);
    write_one();
    struct co_trace_stream *stream = co_trace_stream_take(&first, 1000);
    assert_non_null(stream);
    put_send(stream, 1, 0, 1000);
    assert_int_equal(first.header->end, CO_TRACE_OPEN);
    co_trace_writer_close(&first, CO_TRACE_CLOSED);
    co_trace_writer_free(&first);
    struct co_trace_file reading;
    trace_reading_open(&reading, path);
    assert_null(co_trace_file_next(&reading)); // the second trace
    co_trace_file_close(&reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(threads_at_once),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(looks_in_vain),
        cmocka_unit_test(killed_while_writing),
        cmocka_unit_test(no_room),
        cmocka_unit_test(not_where_it_may_not),
        cmocka_unit_test(what_others_left_at_the_name_is_not_written),
        cmocka_unit_test(an_earlier_trace_is_left_to_who_has_it),
    };
    return cmocka_run_group_tests(tests, choose_path, remove_path);
}
