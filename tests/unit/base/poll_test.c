// SPDX-License-Identifier: BSD-3-Clause
//
// Sleeping on descriptors, also where a filter like that of a container's sandbox forbids ppoll.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/poll.h"

#include <cmocka.h>

enum { CHILD_CANNOT_FILTER = 77 };

static struct pollfd readable_pipe(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    close(ends[1]);
    return (struct pollfd){.fd = ends[0], .events = POLLIN};
}

static void what_is_ready_ends_the_sleep(void **state)
{
    struct pollfd descriptor = readable_pipe();

    (void)state;
    assert_int_equal(co_poll(&descriptor, 1, UINT64_MAX), 1);
    assert_true(descriptor.revents & POLLIN);
    assert_int_equal(co_poll(&descriptor, 1, 0), 1);
    close(descriptor.fd);
}

static void the_timer_ends_the_sleep(void **state)
{
    uint64_t before = co_clock_now_ns();

    (void)state;
    assert_int_equal(co_poll(NULL, 0, 3 * CO_NS_PER_MS), 0);
    assert_true(co_clock_now_ns() - before >= 3 * CO_NS_PER_MS);
}

static int forbid_ppoll(int error)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) : -1;
}

// Bit by bit what went wrong; 0: nothing.
static int sleep_without_ppoll(int error)
{
    struct pollfd descriptor = readable_pipe();
    if (forbid_ppoll(error) != 0) {
        return CHILD_CANNOT_FILTER;
    }
    int wrong = ppoll(NULL, 0, &(struct timespec){0}, NULL) != -1 || errno != error; // the filter is there
    wrong |= (co_poll(&descriptor, 1, UINT64_MAX) != 1) << 1;
    uint64_t before = co_clock_now_ns();
    wrong |= (co_poll(NULL, 0, CO_NS_PER_MS / 2) != 0) << 2;
    wrong |= (co_clock_now_ns() - before < CO_NS_PER_MS / 2) << 3; // rounded up
    return wrong;
}

static void a_forbidden_ppoll_does_not_make_it_spin(void **state)
{
    static const int errors[] = {EPERM, ENOSYS};

    (void)state;
    for (int i = 0; i < 2; i++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            _exit(sleep_without_ppoll(errors[i]));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == CHILD_CANNOT_FILTER) {
            skip(); // a sandbox that takes no filters
        }
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ready_ends_the_sleep),
        cmocka_unit_test(the_timer_ends_the_sleep),
        cmocka_unit_test(a_forbidden_ppoll_does_not_make_it_spin),
    };
    return cmocka_run_group_tests_name("poll", tests, NULL, NULL);
}
