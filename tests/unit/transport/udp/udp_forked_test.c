// SPDX-License-Identifier: BSD-3-Clause
//
// A process that has ended is not there any more, though a child of its fork lives on: the numbers of its sockets are
// free, so that its host says that nobody is there, and its host has left the groups.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "udp_on_loopback.h"

// A child of fork that lives until its parent closes that end, or a byte that is none.
static pid_t child_start(int *end)
{
    int told[2], tells[2];
    char byte = 1;
    assert_int_equal(pipe(told) | pipe(tells), 0);
    pid_t child = fork();
    if (child == 0) {
        close(told[1]);
        _exit(write(tells[1], &byte, 1) == 1 && read(told[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(read(tells[0], &byte, 1), 1); // it is itself by now
    close(told[0]);
    close(tells[0]);
    close(tells[1]);
    *end = told[1];
    return child;
}

// Nobody else may have the number.
static void assert_is_free(const struct co_udp_address *address)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = address->port, .sin_addr.s_addr = address->ip};
    int other = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(other, (const struct sockaddr *)&place, sizeof place), 0);
    close(other);
}

static void a_child_keeps_no_socket(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address addresses[2];
    struct co_transport *first = udp_opened(&config, &addresses[0]), *second = udp_opened(&config, &addresses[1]);
    int end, status;
    assert_int_equal(first->ops->join(first, 0), 0);
    pid_t child = child_start(&end);
    first->ops->close(first);
    assert_is_free(&addresses[0]);
    second->ops->close(second);
    assert_is_free(&addresses[1]);
    close(end);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

// What the program has put in the place of a socket of ours is the child's.
static void a_child_keeps_what_is_the_programs(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = udp_opened(&config, &address);
    struct pollfd socket;
    int ends[2], status;
    assert_int_equal(udp->ops->descriptors(udp, &socket, 1, 0), 1);
    assert_int_equal(pipe(ends), 0);
    int kept = dup(socket.fd);
    assert_int_equal(dup2(ends[1], socket.fd), socket.fd);
    pid_t child = fork();
    if (child == 0) {
        _exit(write(socket.fd, "x", 1) == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(dup2(kept, socket.fd), socket.fd);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    udp->ops->close(udp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_keeps_no_socket),
        cmocka_unit_test(a_child_keeps_what_is_the_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
