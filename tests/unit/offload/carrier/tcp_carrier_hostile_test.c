// SPDX-License-Identifier: BSD-3-Clause
//
// Neighbours of the TCP carrier that mean ill: silent, talkative, many; words of before; frames that are forged,
// changed, repeated, left out or cut off. They are counted, end their own connection, and nothing else.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tcp_carrier_rig.h"

enum { MANY = 400 };

static uint8_t wire[CO_CARRIER_FRAME_MAX], record[70000];
static int raws[MANY], raw_count;

static int end(void **state)
{
    (void)state;
    while (raw_count > 0) {
        close(raws[--raw_count]);
    }
    tcp_rig_end();
    return 0;
}

// Proxies 0 and 1 of three; the third one is still to come, so that both doors are open.
static int begin(void **state)
{
    (void)state;
    tcp_rig_begin(3);
    tcp_rig_open(0);
    tcp_rig_open(1);
    return 0;
}

static int stranger(void)
{
    int raw = tcp_rig_raw_connect(0);
    assert_true(raw >= 0);
    return raws[raw_count++] = raw;
}

static void has_hung_up(int raw)
{
    assert_int_equal(tcp_rig_raw_receive(raw, wire, 1), 0);
}

static const struct co_carrier_tcp_counts *counts(void)
{
    return co_carrier_tcp_counts(tcp_rig.ends[0].tcp);
}

static bool all_are_there(void)
{
    for (int i = 0; i < 3; i++) {
        if (!co_carrier_tcp_is_connected(tcp_rig.ends[i].tcp)) {
            return false;
        }
    }
    return true;
}

static bool has_come(void)
{
    return tcp_rig.ends[0].oldest[2][CO_CARRIER_BULK] != NULL && tcp_rig.ends[2].oldest[0][CO_CARRIER_CONTROL] != NULL;
}

// The third one comes and all is as it should be.
static void no_harm_is_done(void)
{
    tcp_rig_open(2);
    tcp_rig_until(all_are_there);
    tcp_rig_bulk(2, 0, "hello", 5);
    tcp_rig_control(0, 2, "hello", 5);
    tcp_rig_until(has_come);
    assert_int_equal(tcp_rig_take(0, 2, CO_CARRIER_BULK, record), 5);
    for (int i = 0; i < 9; i++) {
        assert_false(tcp_rig.ends[i / 3].is_lost[i % 3]);
    }
    assert_int_equal(counts()->records_refused + counts()->peers_lost, 0);
}

static void says_something_else(void **state)
{
    static const char get[] = "GET / HTTP/1.1\r\nHost: castoff, and some more, until it is as long as a HELLO\r\n\r\n";
    (void)state;
    uint8_t zeros[CO_CARRIER_HELLO_BYTES] = {0};
    int raw = stranger(), other = stranger();
    tcp_rig_raw_send(raw, get, sizeof get);
    has_hung_up(raw); // without an answer
    tcp_rig_raw_send(other, zeros, sizeof zeros);
    has_hung_up(other);
    assert_int_equal(counts()->strangers_refused, 2);
    no_harm_is_done();
}

// Says half of a word, and then nothing: it has to go by time.
static void is_silent(void **state)
{
    (void)state;
    int raw = stranger();
    tcp_rig_raw_send(raw, "castoffP", 8);
    tcp_rig_turn(0);
    while (co_carrier_tcp_deadline(tcp_rig.ends[0].tcp) > tcp_rig_now_ns() + 10 * CO_NS_PER_S) {
        tcp_rig_turn(0); // until the kernel has let it in
    }
    tcp_rig.ahead_ns += 3 * CO_NS_PER_S;
    has_hung_up(raw);
    assert_int_equal(counts()->strangers_silent, 1);
    no_harm_is_done();
}

static void hangs_up(void **state)
{
    (void)state;
    tcp_rig_raw_send(stranger(), "castoffP", 8);
    close(raws[--raw_count]);
    no_harm_is_done();
    assert_int_equal(counts()->strangers_silent, 1);
}

// More than there are places, all of them with half a word: the oldest have to go, and who has the key comes in.
static void many(void **state)
{
    (void)state;
    tcp_rig.stopped_ns = tcp_rig_now_ns(); // nobody has to go by time
    for (int i = 0; i < MANY; i++) {
        int raw = stranger();
        tcp_rig_raw_send(raw, "castoffP", 8);
    }
    has_hung_up(raws[0]);
    tcp_rig.stopped_ns = 0;
    no_harm_is_done();
    for (int i = 1; i < MANY; i++) {
        has_hung_up(raws[i]); // the door is closed now
    }
    assert_true(counts()->strangers_silent + counts()->strangers_refused <= MANY);
    assert_true(counts()->strangers_silent > 0);
}

// Of that crowd nobody takes the place of one who has begun to show the key, though it was there first.
static void many_beside_one_with_a_key(void **state)
{
    struct tcp_rig_fake fake;
    uint8_t answer[CO_CARRIER_GREETING_MAX];
    (void)state;
    tcp_rig.stopped_ns = tcp_rig_now_ns();
    fake = (struct tcp_rig_fake){.identity = {.self = 2, .proxies = 3, .bulk_form = CO_AUTH_KEYED}};
    memcpy(fake.identity.key, tcp_rig_key, CO_AUTH_KEY_BYTES);
    co_carrier_handshake_begin_client(&fake.handshake, &fake.identity, 0, CO_CARRIER_BULK);
    int greeted = stranger();
    tcp_rig_raw_send(greeted, fake.handshake.own_hello, CO_CARRIER_HELLO_BYTES);
    assert_int_equal(tcp_rig_raw_receive(greeted, answer, sizeof answer), sizeof answer);
    for (int i = 1; i < MANY; i++) {
        int raw = stranger();
        tcp_rig_raw_send(raw, "castoffP", 8);
    }
    has_hung_up(raws[1]);
    assert_int_equal(counts()->strangers_refused, 0);
    tcp_rig_raw_send(greeted, wire, CO_CARRIER_PROOF_BYTES);
    has_hung_up(greeted);
    assert_int_equal(counts()->strangers_refused, 1); // it was heard to the end
    tcp_rig.stopped_ns = 0;
    no_harm_is_done();
}

// Somebody has listened when the second proxy connected, and says what it has said.
static void words_of_before(void **state)
{
    struct tcp_rig_fake fake;
    uint8_t answer[CO_CARRIER_GREETING_MAX];
    (void)state;
    fake = (struct tcp_rig_fake){.identity = {.self = 2, .proxies = 3, .bulk_form = CO_AUTH_KEYED}};
    memcpy(fake.identity.key, tcp_rig_key, CO_AUTH_KEY_BYTES);
    co_carrier_handshake_begin_client(&fake.handshake, &fake.identity, 0, CO_CARRIER_BULK);
    for (int i = 0; i < 3; i++) {
        int raw = stranger();
        tcp_rig_raw_send(raw, fake.handshake.own_hello, CO_CARRIER_HELLO_BYTES);
        assert_int_equal(tcp_rig_raw_receive(raw, answer, sizeof answer), sizeof answer); // it has a right code
        tcp_rig_raw_send(raw, wire, CO_CARRIER_PROOF_BYTES);
        has_hung_up(raw);
        assert_int_equal(counts()->strangers_refused, i + 1);
    }
    no_harm_is_done();
}

// The third proxy is the test, and what it says is not all as it should be.
static struct tcp_rig_fake control, bulk;

static void fakes_open(void)
{
    tcp_rig_fake_open(&control, 2, 0, CO_CARRIER_CONTROL);
    tcp_rig_fake_open(&bulk, 2, 0, CO_CARRIER_BULK);
}

static bool is_lost(void)
{
    return tcp_rig.ends[0].is_lost[2];
}

// It is lost for that reason; of what it has said `records` were heard, and proxies 0 and 1 are together as before.
static void must_lose(int error, const char *why, int records)
{
    tcp_rig_until(is_lost);
    assert_int_equal(tcp_rig.ends[0].error[2], error);
    assert_non_null(strstr(tcp_rig.ends[0].why[2], why));
    assert_non_null(strstr(tcp_rig.ends[0].why[2], "host node2"));
    for (int i = 0; i < records; i++) {
        assert_true(tcp_rig_take(0, 2, CO_CARRIER_BULK, record) > 0);
    }
    assert_int_equal(tcp_rig_take(0, 2, CO_CARRIER_BULK, record), 0);
    assert_int_equal(tcp_rig_take(0, 2, CO_CARRIER_CONTROL, record), 0);
    assert_int_equal(counts()->records_refused, error == -ECONNRESET ? 0 : 1);
    assert_false(tcp_rig.ends[0].is_lost[1] || tcp_rig.ends[1].is_lost[0]);
    assert_true(tcp_rig_has_room(0, 1));
    tcp_rig_fake_close(&control);
    tcp_rig_fake_close(&bulk);
}

static void changed(void **state)
{
    (void)state;
    fakes_open();
    tcp_rig_raw_send(bulk.socket, wire, tcp_rig_fake_frame(&bulk, CO_CARRIER_FRAME_RECORD, "first", 5, wire));
    size_t bytes = tcp_rig_fake_frame(&bulk, CO_CARRIER_FRAME_RECORD, "second", 6, wire);
    wire[CO_CARRIER_HEAD_BYTES + 3] ^= 4;
    tcp_rig_raw_send(bulk.socket, wire, bytes);
    must_lose(-EBADMSG, "what comes from it was changed on its way", 1);
}

static void repeated(void **state)
{
    (void)state;
    fakes_open();
    size_t bytes = tcp_rig_fake_frame(&bulk, CO_CARRIER_FRAME_RECORD, "first", 5, wire);
    tcp_rig_raw_send(bulk.socket, wire, bytes);
    tcp_rig_raw_send(bulk.socket, wire, bytes);
    must_lose(-EBADMSG, "what comes from it was changed on its way", 1);
}

static void left_out(void **state)
{
    (void)state;
    fakes_open();
    tcp_rig_fake_frame(&control, CO_CARRIER_FRAME_PING, "", 0, wire);
    tcp_rig_raw_send(control.socket, wire, tcp_rig_fake_frame(&control, CO_CARRIER_FRAME_RECORD, "second", 6, wire));
    must_lose(-EBADMSG, "what comes from it was changed on its way", 0);
}

// A frame of one connection on the other one of the same pair.
static void on_the_other_connection(void **state)
{
    (void)state;
    fakes_open();
    tcp_rig_raw_send(bulk.socket, wire, tcp_rig_fake_frame(&control, CO_CARRIER_FRAME_RECORD, "first", 5, wire));
    must_lose(-EBADMSG, "what comes from it was changed on its way", 0);
}

static void cut_off(void **state)
{
    (void)state;
    fakes_open();
    size_t bytes = tcp_rig_fake_frame(&bulk, CO_CARRIER_FRAME_RECORD, "first", 5, wire);
    tcp_rig_raw_send(bulk.socket, wire, bytes);
    bytes = tcp_rig_fake_frame(&bulk, CO_CARRIER_FRAME_RECORD, "second", 6, wire);
    tcp_rig_raw_send(bulk.socket, wire, bytes - 1);
    shutdown(bulk.socket, SHUT_WR);
    must_lose(-ECONNRESET, "the connection has ended", 1);
}

// It says that 4 GiB come: nothing is kept for them.
static void too_long(void **state)
{
    (void)state;
    fakes_open();
    tcp_rig_fake_frame(&bulk, CO_CARRIER_FRAME_RECORD, "first", 5, wire);
    memset(wire, 0xff, 4);
    tcp_rig_raw_send(bulk.socket, wire, 20);
    must_lose(-EPROTO, "what comes from it makes no sense", 0);
}

static void behind_its_leave(void **state)
{
    (void)state;
    fakes_open();
    size_t bytes = tcp_rig_fake_frame(&control, CO_CARRIER_FRAME_LEAVE, "", 0, wire);
    bytes += tcp_rig_fake_frame(&control, CO_CARRIER_FRAME_RECORD, "more", 4, wire + bytes);
    tcp_rig_raw_send(control.socket, wire, bytes);
    must_lose(-EPROTO, "what comes from it makes no sense", 0);
}

// Left on one connection, and only there.
static void half_a_leave(void **state)
{
    (void)state;
    fakes_open();
    tcp_rig_raw_send(control.socket, wire, tcp_rig_fake_frame(&control, CO_CARRIER_FRAME_LEAVE, "", 0, wire));
    has_hung_up(control.socket);
    assert_false(is_lost());
    shutdown(bulk.socket, SHUT_WR);
    must_lose(-ECONNRESET, "the connection has ended", 0);
}

// Who has the key comes a second time: the first one stays.
static void twice(void **state)
{
    struct tcp_rig_fake second;
    (void)state;
    tcp_rig_fake_open(&control, 2, 0, CO_CARRIER_CONTROL);
    tcp_rig_fake_open(&second, 2, 0, CO_CARRIER_CONTROL);
    has_hung_up(second.socket);
    assert_int_equal(counts()->doubled, 1);
    tcp_rig_fake_close(&second);
    tcp_rig_fake_open(&bulk, 2, 0, CO_CARRIER_BULK);
    tcp_rig_raw_send(bulk.socket, wire, tcp_rig_fake_frame(&bulk, CO_CARRIER_FRAME_RECORD, "first", 5, wire));
    shutdown(bulk.socket, SHUT_WR);
    must_lose(-ECONNRESET, "the connection has ended", 1);
}

// Asks for signs of life and hears none of them: it does not fill the memory here.
static void asks_and_asks(void **state)
{
    enum { PINGS = 4000 };
    static uint8_t pings[PINGS * 24];
    (void)state;
    fakes_open();
    size_t bytes = 0;
    for (int i = 0; i < 100; i++) {
        for (bytes = 0; bytes < sizeof pings;) {
            bytes += tcp_rig_fake_frame(&control, CO_CARRIER_FRAME_PING, "", 0, pings + bytes);
        }
        tcp_rig_raw_send(control.socket, pings, bytes);
    }
    assert_false(is_lost());
    shutdown(control.socket, SHUT_WR);
    must_lose(-ECONNRESET, "the connection has ended", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_something_else, begin, end),
        cmocka_unit_test_setup_teardown(is_silent, begin, end),
        cmocka_unit_test_setup_teardown(hangs_up, begin, end),
        cmocka_unit_test_setup_teardown(many, begin, end),
        cmocka_unit_test_setup_teardown(many_beside_one_with_a_key, begin, end),
        cmocka_unit_test_setup_teardown(words_of_before, begin, end),
        cmocka_unit_test_setup_teardown(changed, begin, end),
        cmocka_unit_test_setup_teardown(repeated, begin, end),
        cmocka_unit_test_setup_teardown(left_out, begin, end),
        cmocka_unit_test_setup_teardown(on_the_other_connection, begin, end),
        cmocka_unit_test_setup_teardown(cut_off, begin, end),
        cmocka_unit_test_setup_teardown(too_long, begin, end),
        cmocka_unit_test_setup_teardown(behind_its_leave, begin, end),
        cmocka_unit_test_setup_teardown(half_a_leave, begin, end),
        cmocka_unit_test_setup_teardown(twice, begin, end),
        cmocka_unit_test_setup_teardown(asks_and_asks, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
