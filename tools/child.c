// SPDX-License-Identifier: BSD-3-Clause
//
// One child process at a time. A handler passes SIGINT, SIGTERM and SIGHUP on, so that an interrupted measurement
// leaves no job behind; the caller sees `interrupted` and stops. Single thread. Cold.
#define _GNU_SOURCE // pipe2
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static volatile sig_atomic_t current_child, caught_signal;
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

static void pass_on(int signal_number)
{
    caught_signal = signal_number;
    if (current_child > 0) {
        kill((pid_t)current_child, signal_number);
    }
}

static void set_handlers(struct sigaction before[PASSED_ON])
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = pass_on;
    for (int i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], &action, &before[i]);
    }
}

static int start(pid_t *pid, char *const *argv, int output)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int failed = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -failed;
}

static void read_all(int fd, co_child_output_fn output, void *arg)
{
    char bytes[1 << 16];
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got > 0) {
            output(arg, bytes, (size_t)got);
        } else if (got == 0 || errno != EINTR) {
            return;
        }
    }
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return 1;
        }
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int co_child_run(struct co_child_result *result, char *const *argv, co_child_output_fn output, void *arg)
{
    int ends[2];
    pid_t pid;
    struct sigaction before[PASSED_ON];
    if (pipe2(ends, O_CLOEXEC)) {
        return -errno;
    }
    caught_signal = 0;
    set_handlers(before);
    uint64_t began = co_clock_now_ns();
    int failed = start(&pid, argv, ends[1]);
    close(ends[1]);
    if (!failed) {
        current_child = (sig_atomic_t)pid;
        if (caught_signal) { // came between spawn and the line above
            kill(pid, caught_signal);
        }
        read_all(ends[0], output, arg);
        result->status = wait_for(pid);
        result->elapsed_ns = co_clock_now_ns() - began;
        result->interrupted = caught_signal;
        current_child = 0;
    }
    close(ends[0]);
    for (int i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], &before[i], NULL);
    }
    return failed;
}
