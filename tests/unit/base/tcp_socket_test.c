// SPDX-License-Identifier: BSD-3-Clause
//
// TCP sockets: places that are none, addresses there and back, and a connection, had or refused.
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/tcp_socket.h"

static char why[256];

static void places(void **state)
{
    static const char *const right[][2] = {{"127.0.0.1:80", "127.0.0.1:80"},
                                           {"127.0.0.1", "127.0.0.1:7"},
                                           {"[::1]:65535", "[::1]:65535"},
                                           {"[::1]", "[::1]:7"},
                                           {"[::ffff:1.2.3.4]:5", "1.2.3.4:5"}};
    static const char *const wrong[] = {"1:2:3", "127.0.0.1:65536", "127.0.0.1:80x", "127.0.0.1:-1",
                                        "[::1",  "[::1]x",          "localhost:1"};
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char place[CO_SOCKET_PLACE_MAX];
        struct addrinfo *found;
        assert_int_equal(co_socket_addresses_find(&found, right[i][0], "7", AI_NUMERICHOST, why, sizeof why), 0);
        co_socket_address_describe(place, found->ai_addr, found->ai_addrlen);
        assert_string_equal(place, right[i][1]);
        freeaddrinfo(found);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct addrinfo *found;
        assert_int_equal(co_socket_addresses_find(&found, wrong[i], "7", AI_NUMERICHOST, why, sizeof why), -EINVAL);
        assert_non_null(strstr(why, wrong[i]));
    }
}

static int connect_at(uint16_t port)
{
    char place[CO_SOCKET_PLACE_MAX];
    struct addrinfo *found;
    snprintf(place, sizeof place, "127.0.0.1:%u", port);
    assert_int_equal(co_socket_addresses_find(&found, place, "0", AI_NUMERICHOST, why, sizeof why), 0);
    int connected = co_socket_connect(found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return connected;
}

static int outcome(int connected)
{
    struct pollfd entry = {.fd = connected, .events = POLLOUT};
    if (connected < 0) {
        return connected;
    }
    assert_int_equal(poll(&entry, 1, 60000), 1);
    return co_socket_error(connected);
}

static void had_or_refused(void **state)
{
    (void)state;
    int listener = co_socket_listen("127.0.0.1", "0", why, sizeof why);
    assert_true(listener >= 0);
    uint16_t port = co_socket_port(listener);
    assert_true(port > 0);
    int connected = connect_at(port);
    assert_int_equal(outcome(connected), 0);
    close(connected);
    char taken[CO_SOCKET_PLACE_MAX];
    snprintf(taken, sizeof taken, "127.0.0.1:%u", port);
    assert_int_equal(co_socket_listen(taken, "0", why, sizeof why), -EADDRINUSE);
    assert_non_null(strstr(why, taken));
    close(listener);
    connected = connect_at(port);
    assert_int_equal(outcome(connected), -ECONNREFUSED);
    if (connected >= 0) {
        close(connected);
    }
    assert_int_equal(co_socket_port(-1), 0);
    assert_int_equal(co_socket_error(-1), -EBADF);
}

static int connect_to(const char *host, uint16_t port)
{
    struct addrinfo *found;
    char place[CO_SOCKET_PLACE_MAX];
    snprintf(place, sizeof place, "%s:%u", host, port);
    assert_int_equal(co_socket_addresses_find(&found, place, "0", AI_NUMERICHOST, why, sizeof why), 0);
    int connected = co_socket_connect(found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return connected;
}

// Where there is IPv6: a name may lead there first, or there alone.
static void of_no_host_both_are_heard(void **state)
{
    (void)state;
    int six = co_socket_listen("[::1]", "0", why, sizeof why);
    if (six < 0) {
        skip();
    }
    close(six);
    static const char *const places[] = {"", ":0"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int listener = co_socket_listen(places[i], "0", why, sizeof why);
        assert_true(listener >= 0);
        uint16_t port = co_socket_port(listener);
        int four = connect_to("127.0.0.1", port);
        six = connect_to("[::1]", port);
        assert_int_equal(outcome(four), 0);
        assert_int_equal(outcome(six), 0);
        close(four);
        close(six);
        close(listener);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places), cmocka_unit_test(had_or_refused),
                                       cmocka_unit_test(of_no_host_both_are_heard)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
