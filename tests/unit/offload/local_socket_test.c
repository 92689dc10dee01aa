// SPDX-License-Identifier: BSD-3-Clause
//
// Unix sockets of proxies: who is there, what comes with bytes, and that nothing stays open.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "offload/local_socket.h"

static char name[CO_LOCAL_NAME_MAX];
static int ends[2];

static int begin(void **state)
{
    (void)state;
    snprintf(name, sizeof name, "castoff-test-%d", (int)getpid());
    return co_local_pair(ends);
}

static int end(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void both_know_who_is_there(void **state)
{
    (void)state;
    struct co_local_peer peer;
    int listener = co_local_listen(name), accepted, connected;

    assert_true(listener >= 0);
    assert_int_equal(co_local_listen(name), -EADDRINUSE);
    assert_int_equal(co_local_accept(listener, &peer), -EAGAIN);
    connected = co_local_connect(name, &peer);
    assert_true(connected >= 0);
    assert_int_equal(peer.process, getpid());
    assert_int_equal(peer.user, getuid());
    peer = (struct co_local_peer){0, 0};
    accepted = co_local_accept(listener, &peer);
    assert_true(accepted >= 0);
    assert_int_equal(peer.process, getpid());
    for (int i = 0; i < 3; i++) {
        int one = i == 0 ? listener : i == 1 ? connected : accepted;
        assert_int_equal(fcntl(one, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC); // no child that executes something has it
        close(one);
    }
    assert_int_equal(co_local_connect(name, &peer), -ECONNREFUSED); // the name ended with its owner
}

static void a_descriptor_comes_with_bytes(void **state)
{
    (void)state;
    char bytes[8];
    int fd, pipes[2];

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(co_local_send(ends[0], "abc", 3, pipes[1]), 3);
    close(pipes[1]);
    assert_int_equal(co_local_receive(ends[1], bytes, sizeof bytes, &fd), 3);
    assert_memory_equal(bytes, "abc", 3);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    assert_int_equal(read(pipes[0], bytes, 2), 1);
    assert_int_equal(read(pipes[0], bytes, 2), 0); // nobody else has it
    close(pipes[0]);
    assert_int_equal(co_local_receive(ends[1], bytes, sizeof bytes, &fd), -EAGAIN);
    assert_int_equal(fd, -1);
}

static void several_descriptors_are_closed(void **state)
{
    (void)state;
    for (int count = 2; count <= 9; count += 7) { // as many as there is room for, and more
        union {
            struct cmsghdr head;
            char room[CMSG_SPACE(9 * sizeof(int))];
        } with = {0};
        struct iovec piece = {"z", 1};
        struct msghdr message = {.msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = &with,
                                 .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
        int pipes[2], fds[9], fd;
        char byte;

        assert_int_equal(pipe(pipes), 0);
        for (int i = 0; i < count; i++) {
            fds[i] = pipes[1];
        }
        with.head.cmsg_level = SOL_SOCKET;
        with.head.cmsg_type = SCM_RIGHTS;
        with.head.cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        memcpy(CMSG_DATA(&with.head), fds, (size_t)count * sizeof(int));
        assert_int_equal(sendmsg(ends[0], &message, 0), 1);
        close(pipes[1]);
        assert_int_equal(co_local_receive(ends[1], &byte, 1, &fd), -EPROTO);
        assert_int_equal(fd, -1);
        assert_int_equal(read(pipes[0], &byte, 1), 0); // all copies are closed
        close(pipes[0]);
    }
}

static void what_has_no_room_is_said_later(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    ssize_t sent, all = 0;
    int fd;

    while ((sent = co_local_send(ends[0], bytes, sizeof bytes, -1)) > 0) {
        all += sent;
    }
    assert_int_equal(sent, -EAGAIN);
    assert_int_equal(co_local_send_all(ends[0], bytes, 1, 1), -ETIMEDOUT); // long ago
    while (all > 0) {
        all -= co_local_receive(ends[1], bytes, sizeof bytes, &fd);
    }
    assert_int_equal(co_local_send_all(ends[0], bytes, 1, 1), 0);
    assert_int_equal(co_local_await(ends[1], UINT64_MAX), 1);
    assert_int_equal(co_local_receive_all(ends[1], bytes, 1, 1), 0);
    assert_int_equal(co_local_receive_all(ends[1], bytes, 1, 1), -ETIMEDOUT);
    assert_int_equal(co_local_await(ends[1], 0), 0);
    close(ends[0]);
    assert_int_equal(co_local_receive_all(ends[1], bytes, 1, UINT64_MAX), -EPIPE);
    assert_int_equal(co_local_send(ends[1], bytes, 1, -1), -EPIPE); // and no signal
    ends[0] = dup(ends[1]);
}

// Without taking what has come; and a descriptor that is ended stays one.
static void an_end_is_seen_behind_rings(void **state)
{
    (void)state;
    int pair[2];

    assert_int_equal(co_local_pair(pair), 0);
    assert_false(co_local_has_ended(pair[0]));
    assert_int_equal(co_local_send(pair[1], "!!", 2, -1), 2);
    assert_false(co_local_has_ended(pair[0]));
    assert_int_equal(co_local_end(pair[1]), 0);
    assert_true(co_local_has_ended(pair[0]));
    assert_int_equal(co_local_rings(pair[0]), 2);
    assert_int_equal(co_local_rings(pair[0]), 0);
    close(pair[0]);
    assert_int_equal(close(pair[1]), 0);
}

static void rings_are_no_descriptors(void **state)
{
    (void)state;
    int pair[2], fd;
    char byte;
    assert_int_equal(co_local_pair(pair), 0);
    assert_int_equal(co_local_send(pair[1], "!", 1, -1), 1);
    assert_int_equal(co_local_send(pair[1], "!", 1, pair[1]), 1);
    assert_int_equal(co_local_rings(pair[0]), -EPROTO);
    assert_int_equal(co_local_receive(pair[0], &byte, 1, &fd), 1); // it is all there
    assert_int_equal(fd, -1);
    assert_int_equal(co_local_receive(pair[0], &byte, 1, &fd), 1);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(co_local_rings(pair[0]), -EAGAIN);
    close(pair[0]);
    close(pair[1]);
}

static void heard(int signal)
{
    (void)signal;
}

static void signals_do_not_end_all_waiting(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = heard}, before;
    struct itimerval each = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};

    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    uint64_t until_ns = co_clock_now_ns() + 50 * CO_NS_PER_MS;
    setitimer(ITIMER_REAL, &each, NULL);
    int is_ready = co_local_await_until(ends[0], until_ns);
    uint64_t now_ns = co_clock_now_ns();
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_int_equal(is_ready, 0);
    assert_true(now_ns >= until_ns);
    assert_int_equal(co_local_send(ends[1], "s", 1, -1), 1);
    assert_int_equal(co_local_await_until(ends[0], UINT64_MAX), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_know_who_is_there, begin, end),
        cmocka_unit_test_setup_teardown(a_descriptor_comes_with_bytes, begin, end),
        cmocka_unit_test_setup_teardown(several_descriptors_are_closed, begin, end),
        cmocka_unit_test_setup_teardown(what_has_no_room_is_said_later, begin, end),
        cmocka_unit_test_setup_teardown(signals_do_not_end_all_waiting, begin, end),
        cmocka_unit_test(an_end_is_seen_behind_rings),
        cmocka_unit_test(rings_are_no_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
