// SPDX-License-Identifier: BSD-3-Clause
//
// Peers that the TCP carrier loses, and the word that its owner gets: killed, silent, never there, deaf, of another
// version, and one whose records make no sense. And those that it must not lose: late, idle, or seen late.
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tcp_carrier_rig.h"

static uint8_t record[CO_CARRIER_BULK_BYTES_MAX];

static int end(void **state)
{
    (void)state;
    tcp_rig_end();
    return 0;
}

static int at, of;

static bool is_lost(void)
{
    return tcp_rig.ends[at].is_lost[of];
}

static void must_lose(int who, int whom, int error, const char *why)
{
    char sentence[CO_CARRIER_WHY_MAX];
    at = who;
    of = whom;
    tcp_rig_until(is_lost);
    assert_int_equal(tcp_rig.ends[who].error[whom], error);
    snprintf(sentence, sizeof sentence, "host node%d, proxy at 127.0.0.1:%u: %s", whom, tcp_rig.ports[whom], why);
    assert_string_equal(tcp_rig.ends[who].why[whom], sentence);
    assert_int_equal(co_carrier_tcp_counts(tcp_rig.ends[who].tcp)->peers_lost, 1);
    // It is as if it had never been there.
    tcp_rig_control(who, whom, record, 100);
    assert_false(tcp_rig_has_room(who, whom));
    co_carrier_tcp_hold(tcp_rig.ends[who].tcp, whom, true);
}

static void killed(void **state)
{
    (void)state;
    for (int victim = 0; victim < 3; victim++) {
        tcp_rig_begin(3);
        tcp_rig_open_all();
        tcp_rig_kill(victim);
        must_lose((victim + 1) % 3, victim, -ECONNRESET, "the connection has ended");
        must_lose((victim + 2) % 3, victim, -ECONNRESET, "the connection has ended");
        assert_false(tcp_rig.ends[(victim + 1) % 3].is_lost[(victim + 2) % 3]);
        assert_true(tcp_rig_has_room((victim + 1) % 3, (victim + 2) % 3));
        tcp_rig_end();
    }
    tcp_rig_begin(0);
}

// What is sent to who has gone is an error of a turn, not of the call.
static void killed_while_it_is_sent_to(void **state)
{
    (void)state;
    tcp_rig_begin(2);
    tcp_rig_open_all();
    tcp_rig_kill(1);
    for (int i = 0; i < 1000 && tcp_rig_has_room(0, 1); i++) {
        tcp_rig_bulk(0, 1, record, sizeof record);
        tcp_rig_control(0, 1, record, 100);
    }
    at = 0;
    of = 1;
    tcp_rig_until(is_lost);
    assert_true(tcp_rig.ends[0].error[1] == -ECONNRESET || tcp_rig.ends[0].error[1] == -EPIPE);
    assert_int_equal(co_carrier_tcp_deadline(tcp_rig.ends[0].tcp), UINT64_MAX);
}

static bool proxy_0_is_asked(void)
{
    return co_carrier_tcp_counts(tcp_rig.ends[0].tcp)->pings > 0;
}

static void turn_later(int proxy, uint64_t later_ns)
{
    tcp_rig.ahead_ns += later_ns;
    tcp_rig_turn(proxy);
}

// A proxy that is stopped: its kernel acknowledges everything, and only its silence tells.
static void silent(void **state)
{
    (void)state;
    tcp_rig_begin(3);
    tcp_rig.config.silent_ns = 8 * CO_NS_PER_S;
    tcp_rig_open_all();
    tcp_rig.stopped_ns = tcp_rig_now_ns(); // time goes by as it is told
    tcp_rig.is_waiting = true;
    for (int i = 0; i < 7; i++) {
        turn_later(0, CO_NS_PER_S);
        assert_false(tcp_rig.ends[0].is_lost[1] || tcp_rig.ends[0].is_lost[2]);
        uint64_t pings = co_carrier_tcp_counts(tcp_rig.ends[2].tcp)->bytes_sent;
        do {
            tcp_rig_turn(2); // that one answers
        } while (i > 0 && co_carrier_tcp_counts(tcp_rig.ends[2].tcp)->bytes_sent == pings);
    }
    assert_true(proxy_0_is_asked());
    at = 0;
    of = 1;
    for (int i = 0; i < 20 && !is_lost(); i++) {
        turn_later(0, CO_NS_PER_S / 2);
        tcp_rig_turn(2);
    }
    must_lose(0, 1, -ETIMEDOUT, "it has given no sign of life for too long");
    assert_false(tcp_rig.ends[0].is_lost[2]);
}

// Nobody is asked, and nobody lost, while the owner waits for nothing; nor does it wake for that.
static void idle(void **state)
{
    (void)state;
    tcp_rig_begin(2);
    tcp_rig.config.silent_ns = 8 * CO_NS_PER_S;
    tcp_rig_open_all();
    tcp_rig.stopped_ns = tcp_rig_now_ns(); // time goes by as it is told
    for (int i = 0; i < 100; i++) {
        turn_later(0, CO_NS_PER_S);
        assert_int_equal(co_carrier_tcp_deadline(tcp_rig.ends[0].tcp), UINT64_MAX);
    }
    assert_false(proxy_0_is_asked());
    tcp_rig.is_waiting = true; // from here on silence counts
    turn_later(0, CO_NS_PER_S);
    assert_true(co_carrier_tcp_deadline(tcp_rig.ends[0].tcp) <= tcp_rig_now_ns() + CO_NS_PER_S);
    turn_later(0, 1500 * CO_NS_PER_MS);
    assert_true(proxy_0_is_asked());
    assert_false(tcp_rig.ends[0].is_lost[1]);
}

// Who was stopped itself has heard nobody, and blames nobody.
static void seen_late(void **state)
{
    (void)state;
    tcp_rig_begin(2);
    tcp_rig.config.silent_ns = 8 * CO_NS_PER_S;
    tcp_rig_open_all();
    tcp_rig.is_waiting = true;
    turn_later(0, CO_NS_PER_S);
    turn_later(0, 3600 * CO_NS_PER_S);
    assert_false(tcp_rig.ends[0].is_lost[1]);
    assert_true(tcp_rig_has_room(0, 1));
}

static void nobody_there(void **state)
{
    (void)state;
    tcp_rig_begin(3);
    tcp_rig.config.connect_ns = 5 * CO_NS_PER_S;
    close(tcp_rig.listeners[0]);
    tcp_rig.listeners[0] = -1;
    tcp_rig_open(1);
    tcp_rig.stopped_ns = tcp_rig_now_ns(); // time goes by as it is told
    tcp_rig_turn(1);
    for (int i = 0; i < 8; i++) {
        turn_later(1, CO_NS_PER_S / 2);
        assert_false(tcp_rig.ends[1].is_lost[0] || tcp_rig.ends[1].is_lost[2]);
    }
    assert_true(co_carrier_tcp_counts(tcp_rig.ends[1].tcp)->connects > 4);
    turn_later(1, CO_NS_PER_S);
    assert_true(tcp_rig.ends[1].is_lost[0] && tcp_rig.ends[1].is_lost[2]);
    assert_int_equal(tcp_rig.ends[1].error[0], -ECONNREFUSED);
    assert_non_null(strstr(tcp_rig.ends[1].why[0], "host node0, proxy at 127.0.0.1:"));
    assert_non_null(strstr(tcp_rig.ends[1].why[0], ": Connection refused"));
    assert_int_equal(tcp_rig.ends[1].error[2], -ETIMEDOUT);
    assert_non_null(strstr(tcp_rig.ends[1].why[2], ": it has not connected in time"));
    assert_int_equal(co_carrier_tcp_deadline(tcp_rig.ends[1].tcp), UINT64_MAX);
}

static bool are_connected(void)
{
    return co_carrier_tcp_is_connected(tcp_rig.ends[0].tcp) && co_carrier_tcp_is_connected(tcp_rig.ends[1].tcp);
}

static bool has_tried_often(void)
{
    return co_carrier_tcp_counts(tcp_rig.ends[1].tcp)->connects >= 6;
}

// Somebody else listens there, and hangs up; in the end it is the right one.
static void comes_late(void **state)
{
    char why[CO_CARRIER_WHY_MAX];
    (void)state;
    tcp_rig_begin(2);
    close(tcp_rig.listeners[0]);
    tcp_rig_open(1);
    tcp_rig_until(has_tried_often);
    tcp_rig.listeners[0] = co_carrier_tcp_listen(tcp_rig.places[0], &tcp_rig.ports[0], why);
    assert_true(tcp_rig.listeners[0] >= 0);
    tcp_rig_open(0);
    tcp_rig_until(are_connected);
    assert_false(tcp_rig.ends[1].is_lost[0]);
}

// A peer that lets words collect and reads none.
static void deaf(void **state)
{
    (void)state;
    tcp_rig_begin(2);
    tcp_rig.config.control_bytes_max = 1 << 20;
    tcp_rig_open_all();
    for (int i = 0; i < 2000 && co_carrier_tcp_deadline(tcp_rig.ends[0].tcp) != 0; i++) {
        tcp_rig_control(0, 1, record, CO_CARRIER_CONTROL_BYTES_MAX);
    }
    tcp_rig_turn(0);
    must_lose(0, 1, -ENOBUFS, "it does not read what it gets");
    must_lose(1, 0, -ECONNRESET, "the connection has ended");
}

static bool one_has_come(void)
{
    return tcp_rig.ends[0].oldest[1][CO_CARRIER_BULK] != NULL;
}

// The owner cannot do anything with a record.
static void makes_no_sense(void **state)
{
    (void)state;
    tcp_rig_begin(3);
    tcp_rig_open_all();
    tcp_rig.ends[0].take_error = -EPROTO;
    tcp_rig_bulk(1, 0, record, 10);
    tcp_rig_bulk(1, 0, record, 11);
    must_lose(0, 1, -EPROTO, "a record of it makes no sense");
    assert_true(one_has_come());
    assert_int_equal(tcp_rig_take(0, 1, CO_CARRIER_BULK, record), 10);
    assert_false(one_has_come()); // nothing is handed over behind it
    assert_int_equal(co_carrier_tcp_counts(tcp_rig.ends[0].tcp)->records_refused, 1);
    assert_false(tcp_rig.ends[0].is_lost[2]);
}

// Of another setting: both ends know at once, and say it.
static void another_setting(void **state)
{
    (void)state;
    tcp_rig_begin(2);
    tcp_rig_open(0);
    tcp_rig.config.bulk_form = CO_AUTH_CHECK;
    tcp_rig_open(1);
    must_lose(0, 1, -EINVAL, "it has another CASTOFF_AUTH");
    must_lose(1, 0, -EINVAL, "it has another CASTOFF_AUTH");
    assert_true(co_carrier_tcp_is_connected(tcp_rig.ends[0].tcp)); // nobody is waited for any more
}

static bool is_refused_often(void)
{
    return co_carrier_tcp_counts(tcp_rig.ends[0].tcp)->strangers_refused >= 6;
}

// Another job's proxy listens there.
static void another_job(void **state)
{
    static const uint8_t key[CO_AUTH_KEY_BYTES] = {1};
    (void)state;
    tcp_rig_begin(2);
    tcp_rig_open(0);
    tcp_rig.config.key = key;
    tcp_rig_open(1);
    tcp_rig_until(is_refused_often);
    tcp_rig.ahead_ns += 1000 * CO_NS_PER_S;
    must_lose(1, 0, -ECONNRESET, strerror(ECONNRESET)); // it got no answer
    must_lose(0, 1, -ETIMEDOUT, "it has not connected in time");
}

// Memory that is not there, for what comes and for what waits, is an error of that peer.
static void no_memory(void **state)
{
    (void)state;
    tcp_rig_begin(3);
    tcp_rig_open_all();
    tcp_rig_control(1, 0, record, 100);
    tcp_rig_has_no_memory = true;
    at = 0;
    of = 1;
    tcp_rig_until_of(0, is_lost);
    for (int i = 0; i < 100 && tcp_rig_has_room(2, 1); i++) { // nobody reads there
        tcp_rig_bulk(2, 1, record, sizeof record);
    }
    at = 2;
    tcp_rig_until_of(2, is_lost);
    tcp_rig_has_no_memory = false;
    must_lose(0, 1, -ENOMEM, strerror(ENOMEM));
    must_lose(2, 1, -ENOMEM, strerror(ENOMEM));
    tcp_rig_end();

    tcp_rig_begin(2);
    tcp_rig_open(0);
    tcp_rig_has_no_memory = true;
    tcp_rig_control(0, 1, record, 100); // it has not come yet
    tcp_rig_has_no_memory = false;
    assert_int_equal(co_carrier_tcp_deadline(tcp_rig.ends[0].tcp), 0);
    must_lose(0, 1, -ENOMEM, strerror(ENOMEM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(killed, end),         cmocka_unit_test_teardown(killed_while_it_is_sent_to, end),
        cmocka_unit_test_teardown(silent, end),         cmocka_unit_test_teardown(idle, end),
        cmocka_unit_test_teardown(seen_late, end),      cmocka_unit_test_teardown(nobody_there, end),
        cmocka_unit_test_teardown(comes_late, end),     cmocka_unit_test_teardown(deaf, end),
        cmocka_unit_test_teardown(makes_no_sense, end), cmocka_unit_test_teardown(another_setting, end),
        cmocka_unit_test_teardown(another_job, end),    cmocka_unit_test_teardown(no_memory, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
