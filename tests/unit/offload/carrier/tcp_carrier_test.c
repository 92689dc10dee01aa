// SPDX-License-Identifier: BSD-3-Clause
//
// The TCP carrier between proxies that mean well, over real sockets: the contract; all pairs at once; few bytes a call;
// what is said before a connection stands; a peer that is held, that leaves, and that this one leaves.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "carrier_contract.h"
#include "key_hunt.h"
#include "tcp_carrier_rig.h"

enum { RECORD_MAX = 70000 };

static uint8_t record[RECORD_MAX], got[RECORD_MAX];

static int end(void **state)
{
    (void)state;
    tcp_rig_end();
    return 0;
}

// Proxy 1 is asked for the next record of proxy 0. That nothing comes is known when a record comes that this has sent
// behind everything else.
static const char mark[] = "that was all of it";
static enum co_carrier_connection asked;

static bool has_come(void)
{
    return tcp_rig.ends[1].oldest[0][asked] != NULL;
}

static size_t next(void *context, enum co_carrier_connection connection, uint8_t *to)
{
    (void)context;
    asked = connection;
    tcp_rig_turn(1);
    bool is_marked = !has_come() && (connection == CO_CARRIER_CONTROL || tcp_rig_has_room(0, 1));
    if (is_marked && connection == CO_CARRIER_CONTROL) {
        tcp_rig_control(0, 1, mark, sizeof mark);
    } else if (is_marked) {
        tcp_rig_bulk(0, 1, mark, sizeof mark);
    }
    // Bulk stays where it is as long as nobody asks for it.
    co_carrier_tcp_hold(tcp_rig.ends[1].tcp, 0, connection == CO_CARRIER_CONTROL);
    for (;;) {
        if (connection == CO_CARRIER_CONTROL) {
            tcp_rig_until_of(1, has_come);
        } else {
            tcp_rig_until(has_come);
        }
        size_t bytes = tcp_rig_take(1, 0, connection, to);
        if (bytes != sizeof mark || memcmp(to, mark, bytes) != 0) {
            return bytes;
        }
        if (is_marked) {
            return 0;
        }
    }
}

static void contract(void **state)
{
    static const enum co_auth_form forms[] = {CO_AUTH_KEYED, CO_AUTH_CHECK, CO_AUTH_HEAD};
    (void)state;
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        tcp_rig_begin(2);
        tcp_rig.config.bulk_form = forms[i];
        tcp_rig_open_all();
        co_carrier_tcp_hold(tcp_rig.ends[1].tcp, 0, true);
        carrier_contract_check(&(struct carrier_rig){co_carrier_tcp_base(tcp_rig.ends[0].tcp), NULL, next});
        tcp_rig_end();
    }
    tcp_rig_begin(0);
}

// Of each pair and connection, a record's bytes and length follow from its number.
static size_t record_make(int from, int to, enum co_carrier_connection connection, unsigned number)
{
    uint32_t seed = (uint32_t)(from * 7 + to * 31 + (int)connection * 131) + number * 2654435761u;
    size_t most = connection == CO_CARRIER_CONTROL ? 300 : CO_CARRIER_BULK_BYTES_MAX;
    size_t bytes = 4 + seed % (number % 5 == 0 ? most - 3 : 60);

    memset(record, (int)(seed >> 24), bytes);
    memcpy(record, &number, 4);
    return bytes;
}

enum { EACH = 150 };
static unsigned said[TCP_RIG_PROXIES][TCP_RIG_PROXIES][CO_CARRIER_CONNECTIONS],
    heard[TCP_RIG_PROXIES][TCP_RIG_PROXIES][CO_CARRIER_CONNECTIONS];
static unsigned each;

static void pair_say(int from, int to)
{
    for (unsigned i = 0; i < 4 && said[from][to][CO_CARRIER_CONTROL] < each; i++) {
        size_t bytes = record_make(from, to, CO_CARRIER_CONTROL, said[from][to][CO_CARRIER_CONTROL]++);
        tcp_rig_control(from, to, record, bytes);
    }
    while (said[from][to][CO_CARRIER_BULK] < each && tcp_rig_has_room(from, to)) {
        size_t bytes = record_make(from, to, CO_CARRIER_BULK, said[from][to][CO_CARRIER_BULK]++);
        tcp_rig_bulk(from, to, record, bytes);
    }
}

static void pair_hear(int at, int from)
{
    for (int i = 0; i < CO_CARRIER_CONNECTIONS; i++) {
        enum co_carrier_connection which = (enum co_carrier_connection)i;
        size_t bytes;
        while ((bytes = tcp_rig_take(at, from, which, got)) > 0) {
            assert_int_equal(bytes, record_make(from, at, which, heard[at][from][which]++));
            assert_memory_equal(got, record, bytes);
        }
    }
}

static bool all_is_heard(void)
{
    bool is_all = true;
    for (int i = 0; i < tcp_rig.proxies * tcp_rig.proxies; i++) {
        int a = i / tcp_rig.proxies, b = i % tcp_rig.proxies;
        if (a != b) {
            pair_say(a, b);
            pair_hear(a, b);
            is_all = is_all && heard[a][b][CO_CARRIER_CONTROL] == each && heard[a][b][CO_CARRIER_BULK] == each;
        }
    }
    return is_all;
}

static void everybody_talks(unsigned records)
{
    memset(said, 0, sizeof said);
    memset(heard, 0, sizeof heard);
    each = records;
    tcp_rig_until(all_is_heard);
}

static void all_pairs_at_once(void **state)
{
    (void)state;
    tcp_rig_begin(5);
    tcp_rig_open_all();
    everybody_talks(EACH);
    for (int i = 0; i < 5; i++) {
        const struct co_carrier_tcp_counts *counts = co_carrier_tcp_counts(tcp_rig.ends[i].tcp);
        assert_int_equal(counts->control_records, 4 * EACH);
        assert_int_equal(counts->bulk_records, 4 * EACH);
        assert_int_equal(counts->strangers_silent + counts->strangers_refused + counts->doubled, 0);
        assert_int_equal(counts->records_refused + counts->peers_lost, 0);
    }
}

static void few_bytes_a_call(void **state)
{
    static const size_t bytes[][2] = {{1, 0}, {0, 1}, {1, 1}, {7, 3}, {24, 25}, {9, 64}, {1000, 999}};
    (void)state;
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        tcp_rig_begin(2);
        tcp_rig_receive_bytes = bytes[i][1];
        tcp_rig_refusal_interval = 3 + i;
        tcp_rig_open_all();
        tcp_rig_send_bytes = bytes[i][0];
        everybody_talks(bytes[i][0] + bytes[i][1] < 10 ? 3 : 30);
        tcp_rig_end();
    }
    tcp_rig_begin(0);
}

static void said_before_it_stands(void **state)
{
    (void)state;
    tcp_rig_begin(2);
    tcp_rig_open(0);
    tcp_rig_open(1);
    for (unsigned i = 0; i < 100; i++) {
        for (int from = 0; from < 2; from++) {
            size_t bytes = record_make(from, 1 - from, CO_CARRIER_CONTROL, i);
            tcp_rig_control(from, 1 - from, record, bytes);
        }
    }
    assert_false(tcp_rig_has_room(0, 1) || tcp_rig_has_room(1, 0));
    assert_false(co_carrier_tcp_is_connected(tcp_rig.ends[0].tcp));
    memset(said, 0, sizeof said);
    memset(heard, 0, sizeof heard);
    said[0][1][CO_CARRIER_CONTROL] = said[1][0][CO_CARRIER_CONTROL] = each = 100;
    tcp_rig_until(all_is_heard);
    assert_true(co_carrier_tcp_is_connected(tcp_rig.ends[0].tcp));
}

static bool are_connected(void)
{
    return co_carrier_tcp_is_connected(tcp_rig.ends[0].tcp) && co_carrier_tcp_is_connected(tcp_rig.ends[1].tcp);
}

static bool proxy_0_has_room(void)
{
    return tcp_rig_has_room(0, 1);
}

// Who is held sends no bulk, control goes on; and then everything is there.
static void held(void **state)
{
    unsigned sent = 0, came = 0;
    (void)state;
    tcp_rig_begin(2);
    tcp_rig_open(0);
    tcp_rig_open(1);
    co_carrier_tcp_hold(tcp_rig.ends[1].tcp, 0, true); // before it has come
    tcp_rig_until(are_connected);
    for (; tcp_rig_has_room(0, 1); sent++) {
        tcp_rig_bulk(0, 1, record, record_make(0, 1, CO_CARRIER_BULK, sent * 5));
    }
    tcp_rig_turn(1);
    assert_int_equal(tcp_rig_take(1, 0, CO_CARRIER_BULK, got), 0);
    co_carrier_tcp_hold(tcp_rig.ends[1].tcp, 0, false);
    tcp_rig_until(proxy_0_has_room);
    tcp_rig_bulk(0, 1, mark, sizeof mark);
    asked = CO_CARRIER_BULK;
    for (size_t bytes = 0; bytes != sizeof mark; came++) {
        tcp_rig_until(has_come);
        bytes = tcp_rig_take(1, 0, CO_CARRIER_BULK, got);
    }
    assert_int_equal(came, sent + 1);
}

static int leaver;

static bool has_left(void)
{
    return co_carrier_tcp_has_left(tcp_rig.ends[leaver].tcp);
}

static bool everybody_knows(void)
{
    bool is = true;
    for (int i = 0; i < tcp_rig.proxies; i++) {
        is = is && (i == leaver || tcp_rig.ends[i].is_lost[leaver]);
    }
    return is && has_left();
}

// Whoever leaves, his last bytes arrive, and nobody takes it for an error.
static void leaves(void **state)
{
    (void)state;
    for (leaver = 0; leaver < 3; leaver++) {
        tcp_rig_begin(3);
        tcp_rig_open_all();
        unsigned sent = 0;
        for (; sent < 500 && tcp_rig_has_room(leaver, (leaver + 1) % 3); sent++) {
            size_t bytes = record_make(leaver, (leaver + 1) % 3, CO_CARRIER_BULK, sent);
            tcp_rig_bulk(leaver, (leaver + 1) % 3, record, bytes);
        }
        tcp_rig_control((leaver + 1) % 3, leaver, mark, sizeof mark); // on its way meanwhile
        co_carrier_tcp_leave(tcp_rig.ends[leaver].tcp, tcp_rig_now_ns());
        assert_false(tcp_rig_has_room(leaver, (leaver + 1) % 3));
        tcp_rig_control(leaver, (leaver + 1) % 3, "late", 4); // nobody hears that
        tcp_rig_until(everybody_knows);
        memset(heard, 0, sizeof heard);
        pair_hear((leaver + 1) % 3, leaver);
        assert_int_equal(heard[(leaver + 1) % 3][leaver][CO_CARRIER_BULK], sent);
        assert_int_equal(heard[(leaver + 1) % 3][leaver][CO_CARRIER_CONTROL], 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(tcp_rig.ends[i].error[leaver], 0);
            assert_int_equal(co_carrier_tcp_counts(tcp_rig.ends[i].tcp)->peers_lost, 0);
        }
        assert_false(tcp_rig.ends[(leaver + 1) % 3].is_lost[(leaver + 2) % 3]); // these two stay
        tcp_rig_end();
    }
    tcp_rig_begin(0);
}

static bool all_have_left(void)
{
    for (leaver = 0; leaver < tcp_rig.proxies; leaver++) {
        if (!has_left()) {
            return false;
        }
    }
    return true;
}

static void all_leave_at_once(void **state)
{
    (void)state;
    tcp_rig_begin(4);
    tcp_rig_open_all();
    for (int i = 0; i < 4; i++) {
        co_carrier_tcp_leave(tcp_rig.ends[i].tcp, tcp_rig_now_ns());
    }
    tcp_rig_until(all_have_left);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(co_carrier_tcp_counts(tcp_rig.ends[i].tcp)->peers_lost, 0);
        assert_int_equal(co_carrier_tcp_deadline(tcp_rig.ends[i].tcp), UINT64_MAX);
    }
}

static void leaves_before_others_come(void **state)
{
    (void)state;
    tcp_rig_begin(3);
    tcp_rig_open(1);
    tcp_rig_control(1, 2, mark, sizeof mark);
    co_carrier_tcp_leave(tcp_rig.ends[1].tcp, tcp_rig_now_ns());
    leaver = 1;
    tcp_rig_until_of(1, has_left);
}

static void one_alone(void **state)
{
    (void)state;
    tcp_rig_begin(1);
    tcp_rig_open(0);
    assert_true(co_carrier_tcp_is_connected(tcp_rig.ends[0].tcp));
    tcp_rig_turn(0);
    assert_int_equal(co_carrier_tcp_deadline(tcp_rig.ends[0].tcp), UINT64_MAX);
    assert_int_equal(tcp_rig_raw_connect(0), -1); // nobody is let in
}

// Nobody is let in when all are there; and the key is gone when the carriers are, and in no core file before.
static void the_door_and_the_key(void **state)
{
    uint8_t key[CO_AUTH_KEY_BYTES];
    struct key_hunt hunt;
    (void)state;
    assert_int_equal(co_auth_random_key(key), 0);
    tcp_rig_begin(2);
    tcp_rig.config.key = key;
    tcp_rig_open(0);
    tcp_rig_open(1);
    key_hunt_learn(&hunt, key);
    memset(key, 0, sizeof key);
    tcp_rig_until(are_connected);
    assert_int_equal(tcp_rig_raw_connect(0), -1);
    everybody_talks(10);
    assert_int_equal(key_hunt_go(&hunt), 0);
    assert_int_equal(hunt.found, 2);
    assert_int_equal(hunt.dumped, 0);
    tcp_rig_kill(0);
    tcp_rig_kill(1);
    assert_int_equal(key_hunt_go(&hunt), 0);
    assert_int_equal(hunt.found, 0);
}

static void cannot_be_opened(void **state)
{
    char why[CO_CARRIER_WHY_MAX];
    struct co_carrier_tcp *tcp;
    struct co_carrier_tcp_output output = {0};
    uint16_t port;
    (void)state;
    tcp_rig_begin(2);
    tcp_rig.config.self = 2;
    assert_int_equal(co_carrier_tcp_open(&tcp, &tcp_rig.config, &output, -1, 1, why), -EINVAL);
    tcp_rig.config.self = 1;
    tcp_rig.peers[0].place = "localhost:80"; // a name might be waited for
    int listener = dup(tcp_rig.listeners[1]);
    assert_int_equal(co_carrier_tcp_open(&tcp, &tcp_rig.config, &output, listener, 1, why), -EINVAL);
    assert_non_null(strstr(why, "localhost:80"));
    assert_int_equal(close(listener), -1); // it was taken
    assert_true(co_carrier_tcp_listen("127.0.0.1:99999", &port, why) < 0);
    assert_non_null(strstr(why, "127.0.0.1:99999"));
    assert_true(co_carrier_tcp_descriptors(0, 8) >= 2 * 7 + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(contract, end),
        cmocka_unit_test_teardown(all_pairs_at_once, end),
        cmocka_unit_test_teardown(few_bytes_a_call, end),
        cmocka_unit_test_teardown(said_before_it_stands, end),
        cmocka_unit_test_teardown(held, end),
        cmocka_unit_test_teardown(leaves, end),
        cmocka_unit_test_teardown(all_leave_at_once, end),
        cmocka_unit_test_teardown(leaves_before_others_come, end),
        cmocka_unit_test_teardown(one_alone, end),
        cmocka_unit_test_teardown(the_door_and_the_key, end),
        cmocka_unit_test_teardown(cannot_be_opened, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
