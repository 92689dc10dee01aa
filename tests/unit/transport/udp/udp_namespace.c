// SPDX-License-Identifier: BSD-3-Clause
//
// The child makes its namespace as root or, where that is allowed, as root of a user namespace of its own.
#define _GNU_SOURCE
#include "udp_namespace.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77, FAILED = 1 };

static int run(const char *command)
{
    char line[256];
    snprintf(line, sizeof line, "PATH=$PATH:/usr/sbin:/sbin; %s >/dev/null 2>&1", command);
    return system(line);
}

void namespace_require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "in the namespace: %s\n", what);
        _exit(FAILED);
    }
}

void namespace_run(const char *command)
{
    namespace_require(run(command) == 0, command);
}

static int live_inside(const char *const commands[], int (*body)(void))
{
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return SKIPPED;
    }
    for (int i = 0; commands[i]; i++) {
        if (run(commands[i]) != 0) {
            return SKIPPED; // a kernel without such links, or no ip
        }
    }
    return body();
}

static int enter(const char *const commands[], int (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(live_inside(commands, body));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return FAILED;
    }
    return WEXITSTATUS(status);
}

void namespace_enter_and(const char *const commands[], int (*body)(void))
{
    int result = enter(commands, body);
    if (result == SKIPPED) {
        skip();
    }
    assert_int_equal(result, 0);
}
