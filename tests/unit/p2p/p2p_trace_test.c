// SPDX-License-Identifier: BSD-3-Clause
//
// CASTOFF_LOG=trace: messages packet by packet in the log, with what became of them. Kinds and order are compared.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "p2p/channel/packet_describe.h"
#include "log_lines.h"
#include "p2p_letters.h"

#define LINES_MOST 40

static int open_log(void **state)
{
    (void)state;
    log_lines_open("trace", "p2p");
    return 0;
}

// Handles are numbers of the process: left out, from " operation" to the next comma or colon.
static void without_handles(char *line)
{
    static const char *const words[] = {" operation ", " receive "};
    for (unsigned i = 0; i < 2; i++) {
        for (char *at = line; (at = strstr(at, words[i])) != NULL;) {
            at += strlen(words[i]);
            size_t length = strspn(at, "0123456789abcdef");
            memmove(at, at + length, strlen(at + length) + 1);
        }
    }
}

static void expect_lines(const char *const *expected, int count)
{
    static char lines[LINES_MOST][LOG_LINE_BYTES];
    int found = log_lines_read(lines, LINES_MOST);
    for (int i = 0; i < found && i < count; i++) {
        without_handles(lines[i]);
        assert_string_equal(lines[i], expected[i]);
    }
    assert_int_equal(found, count);
}

static void an_eager_message(void **state)
{
    static const char *const expected[] = {
        "to place 1: EAGER context 0000000000000001 source 0 tag 5, 40 bytes",
        "from place 0: EAGER context 0000000000000001 source 0 tag 5, 40 bytes: unexpected",
        "to place 1: EAGER context 0000000000000001 source 0 tag 6, 40 bytes",
        "from place 0: EAGER context 0000000000000001 source 0 tag 6, 40 bytes: matched",
    };
    (void)state;
    open_world(2, 4096, 1 << 20, false);
    struct co_p2p_send early = send_of(0, 1, 5, 40), late = send_of(0, 1, 6, 40);
    struct co_p2p_receive receives[2] = {receive_at(1, 40), receive_at(1, 40)};
    co_p2p_send(&early);
    p2p_world_settle(&world);
    co_p2p_receive(&receives[0], 0, 5);
    co_p2p_receive(&receives[1], 0, 6);
    co_p2p_send(&late);
    p2p_world_settle(&world);
    check_received(&receives[1], 0, 6, 40);
    p2p_world_close(&world);
    expect_lines(expected, sizeof expected / sizeof expected[0]);
}

// Rank 0 says that it is rank 1.
static void a_message_in_the_name_of_another(void **state)
{
    static const char *const expected[] = {
        "to place 1: EAGER context 0000000000000001 source 1 tag 5, 40 bytes",
        "error: peer 0 sent a message as rank 1 of a communicator, which it is not: left out",
        "from place 0: EAGER context 0000000000000001 source 1 tag 5, 40 bytes: left out",
    };
    (void)state;
    open_world(2, 4096, 1 << 20, false);
    struct co_packet packet = {.context = 1, .source = 1, .tag = 5, .bytes = 40, .kind = CO_PACKET_EAGER};
    assert_true(world.channels[0]->ops->send(world.channels[0], 1, &packet, sent, 40, NULL, 0));
    p2p_world_settle(&world);
    p2p_world_close(&world);
    expect_lines(expected, sizeof expected / sizeof expected[0]);
}

static void a_message_that_is_read(void **state)
{
    static const char *const expected[] = {
        "to place 1: RTS context 0000000000000001 source 0 tag 5, 100000 bytes, operation , 0 of them in the first fragment",
        "from place 0: RTS context 0000000000000001 source 0 tag 5, 100000 bytes, operation , 0 of them in the first fragment: matched",
        "to place 0: FIN operation ",
        "from place 1: FIN operation : taken",
    };
    (void)state;
    open_world(2, 4096, 1 << 20, true);
    struct co_p2p_receive receive = receive_at(1, 100000);
    co_p2p_receive(&receive, 0, 5);
    struct co_p2p_send send = send_of(0, 1, 5, 100000);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    check_received(&receive, 0, 5, 100000);
    p2p_world_close(&world);
    expect_lines(expected, sizeof expected / sizeof expected[0]);
}

// A packet of a peer may be anything: one line of bounded length.
static void any_packet_is_described(void **state)
{
    unsigned char payload[64];
    (void)state;
    memset(payload, 0xff, sizeof payload);
    for (unsigned kind = 0; kind < 40; kind++) {
        for (size_t bytes = 0; bytes <= sizeof payload; bytes++) {
            char text[CO_PACKET_TEXT_BYTES + 1];
            struct co_packet packet = {.context = UINT64_MAX, .source = INT32_MIN, .tag = INT32_MIN};
            packet.bytes = UINT32_MAX;
            packet.kind = (enum co_packet_kind)(kind < 20 ? kind : 0u - kind);
            memset(text, 'x', sizeof text);
            co_packet_describe(text, &packet, payload, bytes);
            assert_non_null(memchr(text, '\0', CO_PACKET_TEXT_BYTES));
            assert_int_equal(text[CO_PACKET_TEXT_BYTES], 'x');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_eager_message, open_log, log_lines_close),
        cmocka_unit_test_setup_teardown(a_message_in_the_name_of_another, open_log, log_lines_close),
        cmocka_unit_test_setup_teardown(a_message_that_is_read, open_log, log_lines_close),
        cmocka_unit_test(any_packet_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
