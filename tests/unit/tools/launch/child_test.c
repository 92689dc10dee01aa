// SPDX-License-Identifier: BSD-3-Clause
//
// Signals that come while a command runs: they are passed on to it and told, but for those that whoever started us had
// ignored.
#define _GNU_SOURCE // posix_openpt
#include "tools/launch/child.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

// Its command sends us a signal, and waits for what is passed on to it.
static struct co_child_result run_one_that_sends(const char *what)
{
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)what, NULL};
    struct co_child_result result = {.interrupted = -1};
    assert_int_equal(co_child_run(&result, argv, NULL, NULL, NULL), 0);
    return result;
}

static void a_signal_is_passed_on_and_told(void **state)
{
    static const struct {
        int number;
        const char *command;
    } signals[] = {{SIGINT, "kill -INT $PPID; exec sleep 100"},
                   {SIGTERM, "kill -TERM $PPID; exec sleep 100"},
                   {SIGHUP, "kill -HUP $PPID; exec sleep 100"}};
    (void)state;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        signal(signals[i].number, SIG_DFL); // whatever has started this program
        struct co_child_result result = run_one_that_sends(signals[i].command);
        assert_int_equal(result.interrupted, signals[i].number);
        assert_int_equal(result.status, 128 + signals[i].number);
    }
}

static void a_command_that_no_signal_meets(void **state)
{
    (void)state;
    struct co_child_result result = run_one_that_sends("exit 3");
    assert_int_equal(result.interrupted, 0);
    assert_int_equal(result.status, 3);
}

// As under nohup, or in the background of a script.
static void a_signal_that_is_ignored_stays_so(void **state)
{
    struct sigaction now;
    (void)state;
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    struct co_child_result result = run_one_that_sends("kill -HUP $PPID; kill -INT $PPID; exit 5");
    assert_int_equal(result.interrupted, 0);
    assert_int_equal(result.status, 5);
    assert_int_equal(sigaction(SIGHUP, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
}

static int keyboard;

// Once the command runs: ctrl-C, and then, which ends it in any case, a signal by another process.
static void interrupt(void *arg, const char *bytes, size_t count)
{
    (void)arg;
    if (memchr(bytes, '!', count) != NULL) {
        char byte = 3;
        sigset_t before, blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGINT);
        sigprocmask(SIG_BLOCK, &blocked, &before);
        assert_int_equal(write(keyboard, &byte, 1), 1);
        sigsuspend(&before); // until its handler has run
        sigprocmask(SIG_SETMASK, &before, NULL);
        kill(getpid(), SIGTERM);
    }
}

// The command has a group of its own, so that what the terminal sends comes to it only if it is passed on. Its status.
static int run_at_a_terminal(const char *terminal)
{
    char *argv[] = {"perl", "-e", "setpgrp; $| = 1; print q(!); sleep 100", NULL};
    struct co_child_result result = {.status = -1};
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    setsid();
    int screen = open(terminal, O_RDWR);
    if (screen < 0 || ioctl(screen, TIOCSCTTY, 0) != 0 || co_child_run(&result, argv, interrupt, NULL, NULL) != 0) {
        return 1;
    }
    return result.status;
}

static void a_key_at_the_terminal_is_not_passed_on(void **state)
{
    int status;
    (void)state;
    keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(keyboard >= 0 && grantpt(keyboard) == 0 && unlockpt(keyboard) == 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(run_at_a_terminal(ptsname(keyboard)));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    close(keyboard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_is_passed_on_and_told), cmocka_unit_test(a_command_that_no_signal_meets),
        cmocka_unit_test(a_signal_that_is_ignored_stays_so), cmocka_unit_test(a_key_at_the_terminal_is_not_passed_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
