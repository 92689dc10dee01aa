// SPDX-License-Identifier: BSD-3-Clause
//
// Which calls gained the time: sums over the traces of ranks, what is left out of them, the order of the table, its
// rows, and the same as JSON.
#define _GNU_SOURCE // open_memstream
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/trace/trace_writer.h"
#include "tools/ab/ab_calls.h"

static char folder[64], path[128];
static struct co_trace_writer writer;
static struct co_trace_stream *stream;
static uint64_t now_ns;

static void begin_rank(const char *name, uint32_t rank)
{
    struct co_trace_header header = {.rank = rank, .size = 2, .began_ns = 1000};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(co_trace_writer_open(&writer, path, &header), 0);
    now_ns = 1000;
    stream = co_trace_stream_take(&writer, now_ns);
}

static void put(enum co_trace_kind kind, unsigned flags, uint64_t ms)
{
    struct co_trace_record record = {.kind = (uint16_t)kind,
                                     .flags = (uint8_t)flags,
                                     .begin_ns = now_ns,
                                     .end_ns = now_ns + ms * 1000000,
                                     .times = 1};
    co_trace_stream_put(stream, &record);
    now_ns = record.end_ns;
}

static void end_rank(void)
{
    co_trace_writer_close(&writer, CO_TRACE_CLOSED);
    co_trace_writer_free(&writer);
}

static void read_side(struct co_ab_calls *calls, enum co_ab_side side)
{
    static const char *const names[] = {"rank-00000.trace", "rank-00001.trace", "spawned-x-rank-00000.trace"};
    co_ab_calls_read(calls, side, folder);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

// Of two ranks: a broadcast of 300 and 100 ms without, of 40 and 40 with; a barrier that loses 10 ms; a test that is
// called as often as it takes; a send within a broadcast; and a program that was spawned.
static void make(struct co_ab_calls *calls)
{
    *calls = (struct co_ab_calls){.elapsed_ns = {1000000000, 700000000}};
    begin_rank("rank-00000.trace", 0);
    put(CO_TRACE_TYPE, 0, 7);
    put(CO_TRACE_Bcast, 0, 300);
    put(CO_TRACE_Send, CO_TRACE_NESTED, 200);
    put(CO_TRACE_Barrier, 0, 20);
    end_rank();
    begin_rank("rank-00001.trace", 1);
    put(CO_TRACE_Bcast, 0, 100);
    put(CO_TRACE_Barrier, 0, 20);
    put(CO_TRACE_Wait, 0, 10);
    end_rank();
    begin_rank("spawned-x-rank-00000.trace", 0);
    put(CO_TRACE_Bcast, 0, 5000);
    end_rank();
    read_side(calls, AB_WITHOUT);
    for (uint32_t rank = 0; rank < 2; rank++) {
        begin_rank(rank == 0 ? "rank-00000.trace" : "rank-00001.trace", rank);
        put(CO_TRACE_Bcast, 0, 40);
        put(CO_TRACE_Barrier, 0, 30);
        put(CO_TRACE_Wait, 0, 5);
        end_rank();
    }
    read_side(calls, AB_WITH);
    co_ab_calls_sort(calls);
}

static void sums_without_what_is_inside_another_call(void **state)
{
    (void)state;
    struct co_ab_calls calls;
    make(&calls);
    assert_true(co_ab_calls_are_timed(&calls));
    assert_int_equal(calls.ranks, 2);
    assert_string_equal(calls.of[0].name, "MPI_Bcast");
    assert_int_equal(calls.of[0].calls[AB_WITHOUT], 2);
    assert_int_equal(calls.of[0].ns[AB_WITHOUT], 400000000);
    assert_int_equal(calls.of[0].ns[AB_WITH], 80000000);
    assert_string_equal(calls.of[CO_TRACE_KIND_COUNT - 1].name, "MPI_Barrier");
    for (int i = 0; i < CO_TRACE_KIND_COUNT; i++) {
        assert_true(calls.of[i].name == NULL || strcmp(calls.of[i].name, "MPI_Send") != 0);
    }
}

static void without_traces_of_a_side_there_is_no_table(void **state)
{
    (void)state;
    struct co_ab_calls calls = {0};
    co_ab_calls_read(&calls, AB_WITHOUT, "/nowhere");
    assert_false(co_ab_calls_are_timed(&calls));
    begin_rank("rank-00000.trace", 0);
    end_rank();
    read_side(&calls, AB_WITHOUT);
    assert_false(co_ab_calls_are_timed(&calls));
}

static char *printed(const struct co_ab_calls *calls)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream_of_text = open_memstream(&text, &bytes);
    co_ab_calls_print(calls, stream_of_text);
    fclose(stream_of_text);
    return text;
}

static void the_table(void **state)
{
    (void)state;
    struct co_ab_calls calls;
    make(&calls);
    char *text = printed(&calls);
    assert_string_equal(
        text,
        "# which calls gained it: one more run of each side with its calls timed; a rank's mean, of 2 of 2 ranks\n"
        "# call                          calls   without s      with s    gained s   us a call\n"
        "MPI_Bcast                           1      0.2000      0.0400      0.1600    160000.0\n"
        "MPI_Wait                            1      0.0050      0.0050      0.0000           -\n"
        "MPI_Barrier                         1      0.0200      0.0300     -0.0100    -10000.0\n"
        "outside_MPI                         -      0.7750      0.6250      0.1500           -\n");
    free(text);
}

static void calls_beyond_ten_are_one_row(void **state)
{
    (void)state;
    struct co_ab_calls calls = {.traces = {1, 1}, .ranks = 1, .elapsed_ns = {1000000000, 1000000000}};
    for (int i = 0; i < 12; i++) {
        calls.of[i] = (struct co_ab_call){.name = "MPI_Bcast", .calls = {1, 1}, .ns = {(uint64_t)i * 1000000, 0}};
    }
    co_ab_calls_sort(&calls);
    char *text = printed(&calls);
    assert_non_null(
        strstr(text, "\nother_calls                         -      0.0010      0.0000      0.0010           -\n"));
    assert_null(strstr(text, " 0.0010      0.0000      0.0010      1000.0\n"));
    assert_non_null(strstr(text, " 0.0020      0.0000      0.0020      2000.0\n"));
    free(text);
}

static void as_json(void **state)
{
    (void)state;
    struct co_ab_calls calls;
    make(&calls);
    json_t *rows = co_ab_calls_json(&calls);
    assert_int_equal(json_array_size(rows), 3);
    json_t *bcast = json_array_get(rows, 0);
    assert_string_equal(json_string_value(json_object_get(bcast, "call")), "MPI_Bcast");
    assert_true(json_real_value(json_object_get(bcast, "calls_with")) == 1);
    assert_true(json_real_value(json_object_get(bcast, "without_s")) > 0.199);
    assert_true(json_real_value(json_object_get(bcast, "with_s")) < 0.041);
    json_decref(rows);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/castoff-ab-calls-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_without_what_is_inside_another_call),
        cmocka_unit_test(without_traces_of_a_side_there_is_no_table),
        cmocka_unit_test(the_table),
        cmocka_unit_test(calls_beyond_ten_are_one_row),
        cmocka_unit_test(as_json),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
