// SPDX-License-Identifier: BSD-3-Clause
//
// What a program has put in the place of our sockets is neither read nor written to nor closed, and the transport says
// for good that it is broken: found before a sleep, after one, and by what a call says.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "udp_on_loopback.h"

enum { BYTES = 10 };

static struct co_transport *udp;
static struct co_udp_address address;
static int ours[2]; // unicast, group 0
static int theirs, watcher;

static int open_all(void **state)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct pollfd fds[2];
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    (void)state;
    udp = udp_opened(&config, &address);
    assert_int_equal(co_udp_connect(udp, &address, 1, 0), 0);
    assert_int_equal(udp->ops->join(udp, 0), 0);
    assert_int_equal(udp->ops->descriptors(udp, fds, 2, 0), 2);
    ours[0] = fds[0].fd;
    ours[1] = fds[1].fd;
    theirs = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(theirs, (struct sockaddr *)&own, length), 0);
    assert_int_equal(getsockname(theirs, (struct sockaddr *)&own, &length), 0);
    watcher = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(sendto(watcher, "programs..", BYTES, 0, (struct sockaddr *)&own, length), BYTES);
    return 0;
}

static int close_all(void **state)
{
    char bytes[BYTES + 1];
    (void)state;
    udp->ops->close(udp);
    assert_int_equal(recv(theirs, bytes, sizeof bytes, 0), BYTES);
    for (int i = 0; i < 2; i++) {
        assert_true(fcntl(ours[i], F_GETFD) >= 0);
        close(ours[i]);
    }
    close(theirs);
    close(watcher);
    return 0;
}

static void take_numbers(void)
{
    assert_int_equal(dup2(theirs, ours[0]), ours[0]);
    assert_int_equal(dup2(theirs, ours[1]), ours[1]);
}

static void take_no_arrival(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    (void)arg;
    (void)arrivals;
    (void)count;
    fail();
}

static void assert_is_broken(void)
{
    const char head[] = "head";
    struct co_tx_datagram datagram = {.head = head, .head_bytes = sizeof head};
    bool has_more;
    assert_int_equal(udp->ops->poll(udp, 64, take_no_arrival, NULL), -EBADF);
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_PEER, 0}, &datagram, 1), -EBADF);
    assert_int_equal(udp->ops->lane_open(udp, 0), 0);
    assert_int_equal(udp->ops->lane_receive(udp, 0, take_no_arrival, NULL, &has_more), -EBADF);
    assert_int_equal(udp->ops->lane_descriptor(udp, 0), -1);
}

static void found_before_a_sleep(void **state)
{
    struct pollfd fds[2];
    (void)state;
    take_numbers();
    assert_int_equal(udp->ops->descriptors(udp, fds, 2, 0), 1);
    assert_int_equal(fds[0].fd, -1);
    assert_is_broken();
}

static void found_after_a_sleep(void **state)
{
    struct pollfd fds[2];
    (void)state;
    assert_int_equal(udp->ops->descriptors(udp, fds, 2, 0), 2);
    take_numbers();
    fds[0].revents = 0;
    fds[1].revents = POLLIN;
    udp->ops->woken(udp, fds, 2);
    assert_is_broken();
}

// They are free at first, as the numbers of ours are where a program has few files.
static void found_by_an_error(void **state)
{
    (void)state;
    close(ours[0]);
    close(ours[1]);
    assert_int_equal(udp->ops->poll(udp, 64, take_no_arrival, NULL), -EBADF);
    take_numbers();
    assert_is_broken();
}

static void found_by_a_refused_send(void **state)
{
    const char head[] = "head";
    struct co_tx_datagram datagram = {.head = head, .head_bytes = sizeof head};
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(dup2(ends[0], ours[0]), ours[0]); // it says EISCONN
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_PEER, 0}, &datagram, 1), -EBADF);
    take_numbers();
    assert_is_broken();
    close(ends[0]);
    close(ends[1]);
}

#define WITH_ALL(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ALL(found_before_a_sleep),
        WITH_ALL(found_after_a_sleep),
        WITH_ALL(found_by_an_error),
        WITH_ALL(found_by_a_refused_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
