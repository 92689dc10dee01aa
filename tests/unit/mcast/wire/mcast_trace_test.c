// SPDX-License-Identifier: BSD-3-Clause
//
// CASTOFF_LOG=trace: a broadcast of ten chunks to one member, in virtual time, of which the fourth is lost. The log has
// it chunk by chunk: kinds and order are compared. Without trace nothing stands between protocol and transport.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mcast/wire/wire_describe.h"
#include "log_lines.h"
#include "mcast_world.h"

#define LINES_MOST 100

// The root's own multicast comes back to it: left out, in place.
static int without_own(char lines[LINES_MOST][LOG_LINE_BYTES], int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (strstr(lines[i], ": dropped: own") == NULL) {
            memmove(lines[kept++], lines[i], sizeof *lines);
        }
    }
    return kept;
}

static void a_broadcast_with_one_loss(void **state)
{
#define CHUNK "CHUNK team 00000007 operation 0 source 0 psn "
    static const char *const expected[] = {
        "team 00000007 operation 0 begins: 1 block from member 0, 1000 bytes",
        "to group 0: " CHUNK "0 of 10",
        "to group 0: " CHUNK "1 of 10",
        "to group 0: " CHUNK "2 of 10",
        "to group 0: " CHUNK "3 of 10", // lost below the log
        "to group 0: " CHUNK "4 of 10",
        "to group 0: " CHUNK "5 of 10",
        "to group 0: " CHUNK "6 of 10",
        "to group 0: " CHUNK "7 of 10",
        "to group 0: " CHUNK "8 of 10",
        "to group 0: " CHUNK "9 of 10",
        "to group 0: END_OF_BLOCK team 00000007 operation 0 source 0",
        "team 00000007 operation 0 ends: done", // of the root: a copy is kept
        "team 00000007 operation 0 begins: 1 block from member 0, 1000 bytes",
        "came: " CHUNK "0 of 10: placed",
        "came: " CHUNK "1 of 10: placed",
        "came: " CHUNK "2 of 10: placed",
        "came: " CHUNK "4 of 10: placed",
        "came: " CHUNK "5 of 10: placed",
        "came: " CHUNK "6 of 10: placed",
        "came: " CHUNK "7 of 10: placed",
        "came: " CHUNK "8 of 10: placed",
        "came: " CHUNK "9 of 10: placed",
        "came: END_OF_BLOCK team 00000007 operation 0 source 0: taken",
        "to rank 0: NACK team 00000007 operation 0 source 1, of source 0 psn 3-3, lost, request 65",
        "came: NACK team 00000007 operation 0 source 1, of source 0 psn 3-3, lost, request 65: taken",
        "to rank 1: " CHUNK "3 of 10, repair, request 65",
        "came: " CHUNK "3 of 10, repair, request 65: placed",
        "team 00000007 operation 0 ends: done",
        "to rank 0: ACK team 00000007 operation 1 source 1, done before 1 and 00000000, lost 1, credit 0:10",
        "came: ACK team 00000007 operation 1 source 1, done before 1 and 00000000, lost 1, credit 0:10: taken",
    };
    enum { EXPECTED = sizeof expected / sizeof expected[0] };
    static char lines[LINES_MOST][LOG_LINE_BYTES];
    struct world_options options = world_defaults(2);
    struct world world;
    (void)state;
    options.faults = "script=3";
    log_lines_open("trace", "mcast");
    world_open(&world, &options);
    world_bcast(&world, 0, 1000, 1);
    world_settle(&world, 1000000000);
    world_close(&world);
    int count = without_own(lines, log_lines_read(lines, LINES_MOST));
    assert_true(count >= EXPECTED);
    for (int i = 0; i < EXPECTED; i++) {
        assert_string_equal(lines[i], expected[i]);
    }
#undef CHUNK
}

static int lines_that_end(char lines[LINES_MOST][LOG_LINE_BYTES], int count, const char *end)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(lines[i]);
        found += length >= strlen(end) && strcmp(lines[i] + length - strlen(end), end) == 0;
    }
    return found;
}

// A member that has not called keeps what comes in staging; what comes twice is said to.
static void verdicts(void **state)
{
    static char lines[LINES_MOST][LOG_LINE_BYTES];
    static unsigned char data[500];
    struct world_options options = world_defaults(2);
    struct world world;
    struct co_mcast_op *op;
    (void)state;
    options.faults = "dup=1,kind=data";
    log_lines_open("trace", "mcast");
    world_open(&world, &options);
    uint64_t now_ns = co_loopback_now_ns(world.hub);
    assert_int_equal(co_mcast_bcast_start(&op, world.group[0], 0, data, sizeof data, now_ns), 0);
    world_run(&world, &op, 1, 1000000000);
    for (int i = 0; i < 20; i++) {
        world_turn(&world);
    }
    int count = without_own(lines, log_lines_read(lines, LINES_MOST));
    assert_int_equal(lines_that_end(lines, count, "psn 4 of 5: early, in staging"), 1);
    assert_int_equal(lines_that_end(lines, count, "psn 4 of 5: duplicate"), 1);
    co_mcast_op_release(op);
    world_close(&world);
}

// The same table of functions for both endpoints: nothing stands in between.
static void without_trace_there_is_nothing(void **state)
{
    static char lines[LINES_MOST][LOG_LINE_BYTES];
    struct world_options options = world_defaults(2);
    struct world world;
    (void)state;
    log_lines_open("debug", "mcast");
    world_open(&world, &options);
    assert_ptr_equal(world.transport[0]->ops, world.transport[1]->ops);
    world_bcast(&world, 0, 1000, 1);
    assert_int_equal(log_lines_read(lines, LINES_MOST), 0);
    world_settle(&world, 1000000000);
    world_close(&world);
}

// Whatever a stranger sends becomes one line of bounded length.
static void any_bytes_are_described(void **state)
{
    (void)state;
    uint8_t data[2000];
    unsigned random = 1;
    for (int i = 0; i < 20000; i++) {
        char text[CO_WIRE_TEXT_BYTES + 1];
        size_t bytes = i % 100 == 0 ? sizeof data : (size_t)(i % 130);
        for (size_t j = 0; j < bytes; j++) {
            random = random * 1103515245 + 12345;
            data[j] = (uint8_t)(random >> 16);
        }
        if (bytes > 24) { // most heads would not be looked into
            data[0] = 0x32;
            data[1] = (uint8_t)(i % 12);
            data[20] = (uint8_t)((bytes - 24) & 255);
            data[21] = (uint8_t)((bytes - 24) >> 8);
            data[22] = (uint8_t)((bytes - (data[1] == 1 ? 40 : data[1] == 11 ? 48 : 28)) / (data[1] == 11 ? 20 : 8));
            data[23] = 0;
        }
        memset(text, 'x', sizeof text);
        co_wire_describe(text, data, bytes);
        assert_non_null(memchr(text, '\0', CO_WIRE_TEXT_BYTES));
        assert_int_equal(text[CO_WIRE_TEXT_BYTES], 'x');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_broadcast_with_one_loss, log_lines_close),
        cmocka_unit_test_teardown(verdicts, log_lines_close),
        cmocka_unit_test_teardown(without_trace_there_is_nothing, log_lines_close),
        cmocka_unit_test(any_bytes_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
