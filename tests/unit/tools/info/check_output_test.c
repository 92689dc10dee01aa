// SPDX-License-Identifier: BSD-3-Clause
//
// What castoff info --check reads out of a job: times, wrong bytes, whether there was multicast and why not, and
// losses.
#include "tools/info/check_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool rows(struct co_check_result *result, const char *text)
{
    char *copy = strdup(text);
    *result = (struct co_check_result){0};
    bool is_right = co_check_read_rows(result, copy);
    free(copy);
    return is_right;
}

static void report(struct co_check_result *result, const char *text)
{
    char *copy = strdup(text);
    *result = (struct co_check_result){0};
    co_check_read_report(result, copy);
    free(copy);
}

static void medians_of_both_sides(void **state)
{
    struct co_check_result result;
    (void)state;
    assert_true(rows(&result, "place 4 1\nrow bcast 1048576 1 castoff 0 3 30.0 10.0 20.0\n"
                              "some other line\nrow bcast 1048576 1 stock 0 3 50 70 60.5\n"));
    assert_true(result.castoff_ns == 20 && result.stock_ns == 60.5);
    assert_true(result.fades_after_s == 0);
    assert_true(rows(&result, "nothing\n"));
    assert_true(result.castoff_ns == 0 && result.stock_ns == 0);
}

static void wrong_bytes_are_seen(void **state)
{
    struct co_check_result result;
    (void)state;
    assert_false(rows(&result, "row bcast 1048576 1 castoff 0 1 30.0\nrow bcast 1048576 1 stock 7 1 30.0\n"));
    assert_false(rows(&result, "row bcast 1048576 1 castoff 1 1 30.0\nrow bcast 1048576 1 stock 0 1 30.0\n"));
}

static void rows_that_are_none_say_nothing(void **state)
{
    struct co_check_result result;
    (void)state;
    assert_true(rows(&result, "row bcast\nrow bcast 1 1 castoff 0 0\nrow bcast 1 1 castoff 0 99999999999 1\n"));
    assert_true(result.castoff_ns == 0);
}

static void multicast_that_stops_is_seen(void **state)
{
    char *text = NULL;
    size_t bytes;
    struct co_check_result result;
    FILE *stream = open_memstream(&text, &bytes);
    (void)state;
    assert_non_null(stream);
    fprintf(stream, "row bcast 1048576 2 castoff 0 40");
    for (int i = 0; i < 40; i++) {
        fprintf(stream, i < 20 ? " 1e8" : " 9e8");
    }
    fprintf(stream, "\nrow bcast 1048576 2 stock 0 40");
    for (int i = 0; i < 40; i++) {
        fprintf(stream, " 4e8");
    }
    fclose(stream);
    assert_true(rows(&result, text));
    // 20 rounds of two broadcasts on each side
    assert_true(result.fades_after_s > 19.9 && result.fades_after_s < 20.1);
    free(text);
    result.bytes = 1048576;
    char stopped[] =
        "udp: eth0\n  data_bytes_placed 1000 bytes\n  retransmitted_bytes 500 bytes\n  unheard_bytes 1048577 bytes\n";
    co_check_read_report(&result, stopped);
    assert_true(result.fades_after_s > 19.9 && result.fades_after_s < 20.1);
    // As where losses and a busy machine came together: half as long again, 5 % sent again, and multicast to the end.
    char heard[] =
        "udp: eth0\n  data_bytes_placed 100000 bytes\n  retransmitted_bytes 5440 bytes\n  unheard_bytes 2864 bytes\n";
    co_check_read_report(&result, heard);
    assert_true(result.fades_after_s == 0);
    assert_true(result.again == 0.0544);
}

static void the_report_says_what_there_was(void **state)
{
    struct co_check_result result;
    (void)state;
    report(&result, "castoff report: 4 ranks on 4 nodes, served\nudp: eth0 10.77.0.1, groups 239.192.7.4-7 port 41234\n"
                    "counters\n  data_bytes_placed            1000 bytes (payload)\n"
                    "  retransmitted_bytes               25 bytes (payload sent again)\n");
    assert_true(result.has_multicast && result.again == 0.025);
    report(&result, "verbs: rxe0 port 1\n  data_bytes_placed            1000 bytes (payload)\n");
    assert_true(result.has_multicast && result.again == 0);
}

static void the_reason_is_kept(void **state)
{
    struct co_check_result result;
    (void)state;
    report(&result,
           "[0@h0:12 engine] warn: communicators of several nodes stay native: no way\n"
           "udp: not used: multicast is not heard by host h2 (rank 2) within 500ms: does the network carry it?\n");
    assert_false(result.has_multicast);
    assert_string_equal(result.why,
                        "multicast is not heard by host h2 (rank 2) within 500ms: does the network carry it?");
    report(&result, "[0@h0:12 pmpi] warn: castoff is off for this job, which runs on native MPI: it has 2 programs\n");
    assert_false(result.has_multicast);
    assert_string_equal(result.why, "it has 2 programs");
    // A socket alone is no multicast that came.
    report(&result, "udp: eth0 10.77.0.1\n");
    assert_false(result.has_multicast);
    assert_true(result.why[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_of_both_sides),          cmocka_unit_test(wrong_bytes_are_seen),
        cmocka_unit_test(rows_that_are_none_say_nothing), cmocka_unit_test(multicast_that_stops_is_seen),
        cmocka_unit_test(the_report_says_what_there_was), cmocka_unit_test(the_reason_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
