// SPDX-License-Identifier: BSD-3-Clause
//
// A volley over loopback, to one socket in place of a group: what arrives is counted once, what found no room is told
// apart from what was lost, and what is no part of it is passed over.
#include "tools/volley/volley_host.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NONCE = 77 };

static int from, to;
static struct co_volley_socket taker;
static struct sockaddr_in address;

static int set_up(void **state)
{
    (void)state;
    socklen_t length = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    from = socket(AF_INET, SOCK_DGRAM, 0);
    to = socket(AF_INET, SOCK_DGRAM, 0);
    if (from < 0 || to < 0 || bind(to, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(to, (struct sockaddr *)&address, &length) != 0) {
        return -1;
    }
    co_volley_prepare(&taker, to);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(from);
    close(to);
    return 0;
}

static void all_come(void **state)
{
    struct co_volley volley = {.number = 3, .from = 1, .count = 40, .bytes = 128};
    struct co_volley_seen seen;
    (void)state;
    co_volley_send(from, &address, NONCE, &volley);
    co_volley_take(&taker, NONCE, &volley, &seen);
    assert_int_equal(seen.sent, 40);
    assert_int_equal(seen.arrived, 40);
    assert_int_equal(seen.overflowed, 0);
    assert_true(seen.kbits > 0);
}

static void paced_ones_come_so(void **state)
{
    struct co_volley volley = {.number = 3, .from = 1, .count = 40, .bytes = 128, .kbits = 10000};
    struct co_volley_seen seen;
    (void)state;
    co_volley_send(from, &address, NONCE, &volley);
    co_volley_take(&taker, NONCE, &volley, &seen);
    assert_int_equal(seen.arrived, 40);
}

static void what_found_no_room_was_not_lost(void **state)
{
    struct co_volley volley = {.number = 1, .from = 0, .count = CO_VOLLEY_MOST, .bytes = 1500};
    struct co_volley_seen seen;
    int room = 20000;
    (void)state;
    assert_int_equal(setsockopt(to, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
    co_volley_send(from, &address, NONCE, &volley);
    co_volley_take(&taker, NONCE, &volley, &seen);
    assert_true(seen.arrived > 0 && seen.arrived < CO_VOLLEY_MOST);
    // Its ends are small: where one found room it tells of all the others.
    assert_true(seen.sent == CO_VOLLEY_MOST || seen.sent == seen.arrived);
    assert_true(seen.sent - seen.arrived - seen.overflowed <= 0);
}

// Of the volley before, of another sender, of somebody else; twice the same; too short.
static void others_are_passed_over(void **state)
{
    struct co_volley volley = {.number = 3, .from = 1, .count = 10, .bytes = 128}, other = volley;
    struct co_volley_seen seen;
    (void)state;
    other.number = 2;
    co_volley_send(from, &address, NONCE, &other);
    other = volley;
    other.from = 0;
    co_volley_send(from, &address, NONCE, &other);
    co_volley_send(from, &address, NONCE + 1, &volley);
    assert_int_equal(sendto(from, "x", 1, 0, (struct sockaddr *)&address, sizeof address), 1);
    volley.count = 5;
    co_volley_send(from, &address, NONCE, &volley);
    volley.count = 10;
    co_volley_send(from, &address, NONCE, &volley);
    co_volley_take(&taker, NONCE, &volley, &seen);
    assert_int_equal(seen.arrived, 10);
    co_volley_drain(&taker);
    assert_int_equal(recv(to, &seen, sizeof seen, MSG_DONTWAIT), -1);
}

// Whoever is on the network may send to the group.
static void strangers_keep_nobody(void **state)
{
    struct co_volley volley = {.number = 3, .from = 1, .count = 10, .bytes = 128};
    struct co_volley_seen seen;
    (void)state;
    pid_t stranger = fork();
    assert_true(stranger >= 0);
    if (stranger == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    while (stranger == 0) {
        sendto(from, "stranger", 8, 0, (struct sockaddr *)&address, sizeof address);
        usleep(100000);
    }
    co_volley_take(&taker, NONCE, &volley, &seen);
    kill(stranger, SIGKILL);
    waitpid(stranger, NULL, 0);
    assert_int_equal(seen.arrived, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(all_come), TEST(paced_ones_come_so), TEST(what_found_no_room_was_not_lost),
                                       TEST(others_are_passed_over), TEST(strangers_keep_nobody)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
