// SPDX-License-Identifier: BSD-3-Clause
//
// Frames between proxies: golden bytes, which docs/wire-format.md has too; byte by byte; changed, repeated, left out,
// cut off, in the wrong direction or on the wrong connection; lengths that nothing has.
#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offload/carrier/carrier_frame.h"
#include "wire_example.h"

enum { HEAD = CO_CARRIER_HEAD_BYTES };

static uint8_t key[CO_AUTH_KEY_BYTES];
static struct co_carrier_stream client, server;
static struct co_carrier_frame frame;
static uint8_t wire[CO_CARRIER_FRAME_MAX];

static void streams_close(void)
{
    co_carrier_stream_close(&client);
    co_carrier_stream_close(&server);
}

static void streams_open(enum co_carrier_connection connection, enum co_auth_form form, bool has_aes)
{
    streams_close();
    assert_int_equal(co_carrier_stream_open(&client, key, true, connection, form, has_aes), 0);
    assert_int_equal(co_carrier_stream_open(&server, key, false, connection, form, has_aes), 0);
}

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < CO_AUTH_KEY_BYTES; i++) {
        key[i] = (uint8_t)(0x80 + i);
    }
    streams_open(CO_CARRIER_CONTROL, CO_AUTH_KEYED, false);
    return 0;
}

static int end(void **state)
{
    (void)state;
    streams_close();
    return 0;
}

// Returns the bytes of the whole frame, which is then in `wire`.
static size_t say(struct co_carrier_stream *stream, enum co_carrier_frame_kind kind, const char *body, size_t bytes)
{
    uint8_t tag[CO_AUTH_TAG_MAX];
    size_t tag_bytes = co_carrier_frame_seal(stream, kind, body, bytes, wire, tag);
    memcpy(wire + HEAD, body, bytes);
    memcpy(wire + HEAD + bytes, tag, tag_bytes);
    return HEAD + bytes + tag_bytes;
}

// Exactly as long, so that reading on is seen.
static int hear(struct co_carrier_stream *stream, size_t bytes)
{
    uint8_t *exact = malloc(bytes ? bytes : 1);
    memcpy(exact, wire, bytes);
    int result = co_carrier_frame_next(stream, exact, bytes, &frame);
    if (result == 1) {
        frame.body = wire + (frame.body - exact);
    }
    free(exact);
    return result;
}

static void must_hear(struct co_carrier_stream *stream, enum co_carrier_frame_kind kind, const char *body, size_t bytes)
{
    assert_int_equal(hear(stream, bytes), 1);
    assert_int_equal(frame.kind, kind);
    assert_int_equal(frame.bytes, bytes);
    assert_int_equal(frame.body_bytes, strlen(body));
    assert_memory_equal(frame.body, body, strlen(body));
}

static void golden_bytes(void **state)
{
    (void)state;
    uint8_t golden[200];
    size_t bytes = say(&client, CO_CARRIER_FRAME_RECORD, "hello", 5);
    assert_int_equal(wire_example_read("**First frame**", golden, sizeof golden), bytes);
    assert_memory_equal(wire, golden, bytes);
    bytes = say(&client, CO_CARRIER_FRAME_PING, "", 0);
    assert_int_equal(wire_example_read("**PING** behind it", golden, sizeof golden), bytes);
    assert_memory_equal(wire, golden, bytes);
    streams_open(CO_CARRIER_BULK, CO_AUTH_CHECK, true);
    bytes = say(&server, CO_CARRIER_FRAME_LEAVE, "", 0);
    assert_int_equal(wire_example_read("**LEAVE**, the first frame", golden, sizeof golden), bytes);
    assert_memory_equal(wire, golden, bytes);
}

static void there_and_back(void **state)
{
    static const enum co_auth_form forms[] = {CO_AUTH_KEYED, CO_AUTH_CHECK, CO_AUTH_HEAD};
    static char large[CO_CARRIER_BULK_BYTES_MAX + 1];
    (void)state;
    memset(large, 'x', sizeof large - 1);
    for (unsigned i = 0; i < 6; i++) {
        streams_open(CO_CARRIER_BULK, forms[i / 2], i % 2 == 0);
        must_hear(&server, CO_CARRIER_FRAME_RECORD, large, say(&client, CO_CARRIER_FRAME_RECORD, large, strlen(large)));
        must_hear(&client, CO_CARRIER_FRAME_RECORD, "b", say(&server, CO_CARRIER_FRAME_RECORD, "b", 1));
        must_hear(&server, CO_CARRIER_FRAME_LEAVE, "", say(&client, CO_CARRIER_FRAME_LEAVE, "", 0));
        streams_open(CO_CARRIER_CONTROL, forms[i / 2], i % 2 == 0);
        assert_int_equal(co_auth_tag_bytes(client.auth), 16); // whatever bulk has
        must_hear(&server, CO_CARRIER_FRAME_PING, "", say(&client, CO_CARRIER_FRAME_PING, "", 0));
        must_hear(&client, CO_CARRIER_FRAME_PONG, "", say(&server, CO_CARRIER_FRAME_PONG, "", 0));
    }
}

static void byte_by_byte(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        size_t bytes = say(&client, CO_CARRIER_FRAME_RECORD, "a record of some length", 23);
        for (size_t have = 0; have < bytes; have++) {
            assert_int_equal(hear(&server, have), 0);
        }
        must_hear(&server, CO_CARRIER_FRAME_RECORD, "a record of some length", bytes);
    }
}

static void each_bit_counts(void **state)
{
    (void)state;
    size_t bytes = say(&client, CO_CARRIER_FRAME_RECORD, "a record", 8);
    for (size_t i = 0; i < 8 * bytes; i++) {
        wire[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_true(hear(&server, bytes) <= 0);
        assert_int_equal(server.heard, 0);
        wire[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    wire[4] = CO_CARRIER_FRAME_PING; // the kind is part of what is tagged
    assert_int_equal(hear(&server, bytes), -EPROTO);
    wire[4] = CO_CARRIER_FRAME_RECORD;
    assert_int_equal(hear(&server, bytes), 1);
    bytes = say(&client, CO_CARRIER_FRAME_PING, "", 0);
    wire[4] = CO_CARRIER_FRAME_PONG;
    assert_int_equal(hear(&server, bytes), -EBADMSG);
}

static void repeated_left_out_turned_round(void **state)
{
    uint8_t before[100];
    (void)state;
    size_t bytes = say(&client, CO_CARRIER_FRAME_RECORD, "first", 5);
    memcpy(before, wire, bytes);
    assert_int_equal(hear(&client, bytes), -EBADMSG); // said back to who has said it
    assert_int_equal(hear(&server, bytes), 1);
    assert_int_equal(hear(&server, bytes), -EBADMSG); // a second time
    say(&client, CO_CARRIER_FRAME_RECORD, "left!", 5);
    assert_int_equal(say(&client, CO_CARRIER_FRAME_RECORD, "third", 5), bytes);
    assert_int_equal(hear(&server, bytes), -EBADMSG);
    memcpy(wire, before, bytes); // on another connection of the same two
    key[0] ^= 1;
    streams_open(CO_CARRIER_CONTROL, CO_AUTH_KEYED, false);
    assert_int_equal(hear(&server, bytes), -EBADMSG);
}

static void head_must_not(enum co_carrier_connection connection, uint32_t kind, uint32_t length)
{
    streams_open(connection, CO_AUTH_KEYED, false);
    memset(wire, 0, sizeof wire);
    memcpy(wire, &length, 4);
    wire[4] = (uint8_t)kind;
    assert_int_equal(hear(&server, HEAD), -EPROTO); // before anything that long has to be kept
}

static void lengths_and_kinds(void **state)
{
    (void)state;
    head_must_not(CO_CARRIER_CONTROL, CO_CARRIER_FRAME_RECORD, 0);
    head_must_not(CO_CARRIER_CONTROL, CO_CARRIER_FRAME_RECORD, CO_CARRIER_CONTROL_BYTES_MAX + 1);
    head_must_not(CO_CARRIER_BULK, CO_CARRIER_FRAME_RECORD, CO_CARRIER_BULK_BYTES_MAX + 1);
    head_must_not(CO_CARRIER_BULK, CO_CARRIER_FRAME_RECORD, UINT32_MAX);
    head_must_not(CO_CARRIER_BULK, CO_CARRIER_FRAME_RECORD, 0x80000000);
    head_must_not(CO_CARRIER_BULK, CO_CARRIER_FRAME_PING, 0);
    head_must_not(CO_CARRIER_BULK, CO_CARRIER_FRAME_PONG, 0);
    head_must_not(CO_CARRIER_CONTROL, CO_CARRIER_FRAME_PING, 1);
    head_must_not(CO_CARRIER_CONTROL, CO_CARRIER_FRAME_LEAVE, 1);
    head_must_not(CO_CARRIER_CONTROL, 0, 0);
    head_must_not(CO_CARRIER_CONTROL, CO_CARRIER_FRAME_END, 0);
    head_must_not(CO_CARRIER_CONTROL, 255, 5);
    for (size_t i = 5; i < HEAD; i++) {
        streams_open(CO_CARRIER_CONTROL, CO_AUTH_KEYED, false);
        size_t bytes = say(&client, CO_CARRIER_FRAME_PING, "", 0);
        wire[i] = 1;
        assert_int_equal(hear(&server, bytes), -EPROTO);
    }
}

static void nothing_behind_leave(void **state)
{
    (void)state;
    must_hear(&server, CO_CARRIER_FRAME_LEAVE, "", say(&client, CO_CARRIER_FRAME_LEAVE, "", 0));
    assert_int_equal(hear(&server, 0), 0);
    size_t bytes = say(&client, CO_CARRIER_FRAME_PING, "", 0);
    assert_int_equal(hear(&server, 1), -EPROTO);
    assert_int_equal(hear(&server, bytes), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(golden_bytes, begin, end),
        cmocka_unit_test_setup_teardown(there_and_back, begin, end),
        cmocka_unit_test_setup_teardown(byte_by_byte, begin, end),
        cmocka_unit_test_setup_teardown(each_bit_counts, begin, end),
        cmocka_unit_test_setup_teardown(repeated_left_out_turned_round, begin, end),
        cmocka_unit_test_setup_teardown(lengths_and_kinds, begin, end),
        cmocka_unit_test_setup_teardown(nothing_behind_leave, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
