// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors for sleeping callers: each hears every signal while it has its own, whatever the others take; one that
// was given back is silent; who comes when all are taken gets none; one that the program has closed is not used.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/progress/wake_fds.h"

static bool has_rung(struct co_wake_fds *wake_fds, int wake_fd)
{
    struct pollfd descriptor = {.fd = co_wake_fds_descriptor(wake_fds, wake_fd), .events = POLLIN};
    return poll(&descriptor, 1, 0) == 1;
}

static void everybody_hears_a_ring(void **state)
{
    (void)state;
    struct co_wake_fds wake_fds;
    assert_int_equal(co_wake_fds_open(&wake_fds, CO_WAKE_FDS), 0);
    int first = co_wake_fds_take(&wake_fds), second = co_wake_fds_take(&wake_fds);
    assert_int_not_equal(first, second);
    assert_false(has_rung(&wake_fds, first));
    co_wake_fds_signal(&wake_fds);
    assert_true(has_rung(&wake_fds, first));
    co_wake_fds_give(&wake_fds, first, true); // wakes, looks, sleeps again, before the other one has come to run
    first = co_wake_fds_take(&wake_fds);
    assert_false(has_rung(&wake_fds, first));
    assert_true(has_rung(&wake_fds, second));
    co_wake_fds_give(&wake_fds, second, true);
    co_wake_fds_signal(&wake_fds);
    second = co_wake_fds_take(&wake_fds);
    assert_true(has_rung(&wake_fds, first));
    assert_false(has_rung(&wake_fds, second));
    co_wake_fds_close(&wake_fds);
}

static void there_may_be_none_left(void **state)
{
    (void)state;
    struct co_wake_fds wake_fds;
    assert_int_equal(co_wake_fds_open(&wake_fds, CO_WAKE_FDS), 0);
    for (int i = 0; i < CO_WAKE_FDS; i++) {
        assert_true(co_wake_fds_take(&wake_fds) >= 0);
    }
    assert_int_equal(co_wake_fds_take(&wake_fds), -1);
    co_wake_fds_give(&wake_fds, 3, false);
    assert_int_equal(co_wake_fds_take(&wake_fds), 3);
    co_wake_fds_close(&wake_fds);
}

// What the program has put in their place is neither written to nor read nor closed, and nobody gets one.
static void the_programs_are_left_alone(void **state)
{
    (void)state;
    struct co_wake_fds wake_fds;
    uint64_t count = 0;
    assert_int_equal(co_wake_fds_open(&wake_fds, CO_WAKE_FDS), 0);
    int first = co_wake_fds_take(&wake_fds), second = co_wake_fds_take(&wake_fds);
    int fd = co_wake_fds_descriptor(&wake_fds, first);
    close(co_wake_fds_descriptor(&wake_fds, second));
    int others = eventfd(5, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_int_equal(dup2(others, fd), fd);
    co_wake_fds_signal(&wake_fds);
    co_wake_fds_give(&wake_fds, first, true);
    assert_int_equal(read(others, &count, sizeof count), sizeof count);
    assert_int_equal(count, 5);
    co_wake_fds_give(&wake_fds, second, true);
    int another = co_wake_fds_take(&wake_fds);
    assert_true(another >= 0 && another != first && another != second);
    co_wake_fds_close(&wake_fds);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    close(fd);
    if (others != fd) {
        close(others);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_hears_a_ring),
        cmocka_unit_test(there_may_be_none_left),
        cmocka_unit_test(the_programs_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
