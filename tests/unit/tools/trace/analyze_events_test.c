// SPDX-License-Identifier: BSD-3-Clause
//
// Files of events as the cache: used when they fit, made anew when they are stale, cut off or of another version.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze_traces.h"
#include "tools/trace/events/application.h"

static const char calls[] = "Irecv count=1 source=1 tag=1 comm=2 request=[2]\nFinalize\n";

static void no_complaint(void *arg, const char *path, const struct co_note *note, enum co_application_fate fate)
{
    (void)arg;
    (void)path;
    (void)fate;
    fail_msg("%s", note->why);
}

static bool comes_from_cache(const char *directory)
{
    struct co_application application;
    const struct co_application_config config = {.scratch = "/tmp", .threads = 1, .complain = no_complaint};
    assert_int_equal(co_application_open(&application, &directory, 1, &config), 0);
    assert_int_equal(application.rank_count, 1);
    assert_int_equal(application.ranks[0].head.calls[CO_CALL_ID_Irecv], 1);
    bool is_from_cache = application.ranks[0].is_from_cache;
    co_application_close(&application);
    return is_from_cache;
}

static void the_cache_is_used_and_made_anew(void **state)
{
    (void)state;
    char *directory = analyze_directory_make(), path[512];
    analyze_rank_write(directory, 0, calls);
    assert_false(comes_from_cache(directory));
    assert_true(comes_from_cache(directory));
    snprintf(path, sizeof path, "%s/.castoff-cache/t-0000.txt.events", directory);
    assert_int_equal(truncate(path, sizeof(struct co_event_head) + 17), 0);
    assert_false(comes_from_cache(directory));
    FILE *file = fopen(path, "r+");
    struct co_event_head head;
    assert_int_equal(fread(&head, sizeof head, 1, file), 1);
    head.version++;
    rewind(file);
    assert_int_equal(fwrite(&head, sizeof head, 1, file), 1);
    fclose(file);
    assert_false(comes_from_cache(directory));
    assert_true(comes_from_cache(directory));
    analyze_rank_write(directory, 0, "Wtime\nIrecv count=1 source=1 tag=1 comm=2 request=[2]\nFinalize\n");
    assert_false(comes_from_cache(directory));
    analyze_directory_remove(directory);
}

// Also one that has left the buffer.
static void a_receive_learns_what_it_got(void **state)
{
    (void)state;
    enum { EVENTS = 10000 };
    char *directory = analyze_directory_make(), path[512];
    struct co_event_writer writer;
    struct co_event_reader reader;
    struct co_event_head head;
    snprintf(path, sizeof path, "%s/events", directory);
    assert_int_equal(co_event_writer_open(&writer, AT_FDCWD, path), 0);
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct co_event event = {.op = CO_EVENT_POST, .number = i, .got_source = CO_CALL_NOT_KNOWN};
        assert_int_equal(co_event_writer_add(&writer, &event), i);
    }
    co_event_writer_patch(&writer, 3, CO_EVENT_NOTHING, 5, 6);
    co_event_writer_patch(&writer, EVENTS - 1, CO_EVENT_POST, 7, 8);
    assert_int_equal(co_event_writer_close(&writer, path), 0);
    assert_true(co_event_head_read(AT_FDCWD, path, &head));
    assert_int_equal(head.events, EVENTS);
    assert_int_equal(co_event_reader_open(&reader, AT_FDCWD, path, head.events), 0);
    for (uint32_t i = 0; i < EVENTS; i++) {
        const struct co_event *event = co_event_reader_peek(&reader);
        assert_non_null(event);
        assert_int_equal(event->number, i);
        assert_int_equal(event->op, i == 3 ? CO_EVENT_NOTHING : CO_EVENT_POST);
        assert_int_equal(event->got_source, i == 3 ? 5 : i == EVENTS - 1 ? 7 : CO_CALL_NOT_KNOWN);
        co_event_reader_move_on(&reader);
    }
    assert_null(co_event_reader_peek(&reader));
    assert_false(reader.is_damaged);
    co_event_reader_close(&reader);
    analyze_directory_remove(directory);
}

static bool is_refused(const char *path, uint64_t events)
{
    struct co_event_reader reader;
    assert_int_equal(co_event_reader_open(&reader, AT_FDCWD, path, events), 0);
    bool has_some = co_event_reader_peek(&reader) != NULL, is_damaged = reader.is_damaged;
    co_event_reader_close(&reader);
    return !has_some && is_damaged;
}

// Between the look at its head and the first part of its events: a link to a whole file, and a pipe that nobody writes.
static void what_has_taken_its_place_is_not_read(void **state)
{
    (void)state;
    char *directory = analyze_directory_make(), path[512], place[512];
    struct co_event_writer writer;
    struct co_event event = {.op = CO_EVENT_POST};
    snprintf(path, sizeof path, "%s/events", directory);
    snprintf(place, sizeof place, "%s/place", directory);
    assert_int_equal(co_event_writer_open(&writer, AT_FDCWD, path), 0);
    co_event_writer_add(&writer, &event);
    assert_int_equal(co_event_writer_close(&writer, path), 0);
    assert_false(is_refused(path, 1));
    assert_int_equal(symlink(path, place), 0);
    assert_true(is_refused(place, 1));
    assert_int_equal(unlink(place), 0);
    assert_int_equal(mkfifo(place, 0600), 0);
    assert_true(is_refused(place, 1));
    analyze_directory_remove(directory);
}

static void ranks_are_told_by_names(void **state)
{
    (void)state;
    assert_int_equal(co_application_rank_by_name("a-1/dumpi-2014.03.03.14.55.00-0019.bin"), 19);
    assert_int_equal(co_application_rank_by_name("rank-00007.trace"), 7);
    assert_int_equal(co_application_rank_by_name("CrystalRouter.bin"), -1);
    assert_int_equal(co_application_rank_by_name("x9.bin"), -1);
    assert_int_equal(co_application_rank_by_name("0019"), -1);
    assert_int_equal(co_application_rank_by_name("t-99999999999.bin"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_is_used_and_made_anew),
        cmocka_unit_test(a_receive_learns_what_it_got),
        cmocka_unit_test(what_has_taken_its_place_is_not_read),
        cmocka_unit_test(ranks_are_told_by_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
