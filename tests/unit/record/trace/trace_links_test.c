// SPDX-License-Identifier: BSD-3-Clause
//
// Handles that come again: the last record that made one is meant.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/trace/trace_links.h"

static void the_last_one_is_meant(void **state)
{
    (void)state;
    struct co_trace_links links;
    co_trace_links_open(&links);
    assert_int_equal(co_trace_links_find(&links, 640).number, 0);
    assert_int_equal(co_trace_links_make(&links, 640, CO_TRACE_Irecv), 1);
    assert_int_equal(co_trace_links_make(&links, 1280, CO_TRACE_Irecv), 2);
    assert_int_equal(co_trace_links_find(&links, 640).number, 1);
    assert_int_equal(co_trace_links_make(&links, 640, CO_TRACE_Isend), 3);
    assert_int_equal(co_trace_links_find(&links, 640).kind, CO_TRACE_Isend);
    assert_int_equal(co_trace_links_find(&links, 1280).kind, CO_TRACE_Irecv);
    assert_int_equal(co_trace_links_find(&links, 640).number, 3);
    assert_int_equal(co_trace_links_find(&links, 1280).number, 2);
    co_trace_links_close(&links);
}

static void null_is_none(void **state)
{
    (void)state;
    struct co_trace_links links;
    co_trace_links_open(&links);
    assert_int_equal(co_trace_links_make(&links, 0, CO_TRACE_Irecv), 0);
    assert_int_equal(co_trace_links_find(&links, 0).number, 0);
    assert_int_equal(co_trace_links_make(&links, 64, CO_TRACE_Irecv), 1);
    co_trace_links_close(&links);
}

// There may be many at a time, and nobody can tell which is meant; they have numbers all the same.
static void complete_when_made(void **state)
{
    (void)state;
    struct co_trace_links links;
    co_trace_links_open(&links);
    assert_int_equal(co_trace_links_make(&links, CO_TRACE_COMPLETE, CO_TRACE_Isend), 1);
    assert_int_equal(co_trace_links_make(&links, CO_TRACE_COMPLETE, CO_TRACE_Isend), 2);
    assert_int_equal(co_trace_links_find(&links, CO_TRACE_COMPLETE).number, 0);
    assert_int_equal(co_trace_links_make(&links, 640, CO_TRACE_Isend), 3);
    co_trace_links_close(&links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_one_is_meant),
        cmocka_unit_test(null_is_none),
        cmocka_unit_test(complete_when_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
