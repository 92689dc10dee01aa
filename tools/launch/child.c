// SPDX-License-Identifier: BSD-3-Clause
//
// One child process at a time. A handler passes SIGINT, SIGTERM and SIGHUP on, so that an interrupted measurement
// leaves no job behind; the caller sees `interrupted` and stops. What a key at the terminal sends has come to the
// child, too: a second one, passed on, would have mpirun end at once and leave what its ranks have in /dev/shm. Single
// thread. Cold.
#define _GNU_SOURCE // pipe2
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ignored_signal.h"

static volatile sig_atomic_t current_child, caught_signal;
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on, KILL_S = 5 };

static void pass_on(int signal_number, siginfo_t *from, void *context)
{
    (void)context;
    caught_signal = signal_number;
    if (current_child > 0 && from->si_code != SI_KERNEL) {
        kill((pid_t)current_child, signal_number);
    }
}

static void set_handlers(struct sigaction before[PASSED_ON])
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO;
    for (int i = 0; i < PASSED_ON; i++) {
        bool is_ignored = co_signal_is_ignored(passed_on[i]);
        sigaction(passed_on[i], is_ignored ? NULL : &action, &before[i]);
    }
}

static int start(pid_t *pid, char *const *argv, int output, int errors)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (errors >= 0) {
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    }
    int failed = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -failed;
}

// False at the end.
static bool read_some(int fd, co_child_output_fn take, void *arg)
{
    char bytes[1 << 16];
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got > 0 && take) {
        take(arg, bytes, (size_t)got);
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

struct listener {
    co_child_output_fn take[2]; // output, errors
    co_child_wait_fn waits;
    void *arg;
};

// A second in which nothing came: who is told to end has a few more, and no choice then. Seconds since then.
static int end_late(pid_t pid, int since, bool is_late)
{
    if (since == 0 && is_late) {
        kill(pid, SIGTERM);
    } else if (since == KILL_S) {
        kill(pid, SIGKILL);
    }
    return since + (since > 0 || is_late);
}

// Until both ends are closed; a negative one is. Others that the child has started may hold them open, but not for
// longer than it is given to end.
static void read_all(pid_t pid, int output_end, int errors_end, const struct listener *listener)
{
    struct pollfd from[2] = {{.fd = output_end, .events = POLLIN}, {.fd = errors_end, .events = POLLIN}};
    bool asks = listener->waits != NULL;
    int seconds = 0, late = 0;
    while ((from[0].fd >= 0 || from[1].fd >= 0) && late <= KILL_S) {
        int ready = poll(from, 2, asks ? 1000 : -1);
        if (ready < 0) {
            continue; // EINTR: a signal that was passed on
        }
        seconds = ready > 0 ? 0 : seconds + 1;
        if (ready == 0 && asks) {
            late = end_late(pid, late, late == 0 && !listener->waits(listener->arg, seconds));
        }
        for (int i = 0; i < 2; i++) {
            if (from[i].fd >= 0 && from[i].revents && !read_some(from[i].fd, listener->take[i], listener->arg)) {
                from[i].fd = -1;
            }
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

static void close_pair(int ends[2])
{
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0) {
            close(ends[i]);
        }
    }
}

int co_child_run_while(struct co_child_result *result, char *const *argv, co_child_output_fn output,
                       co_child_output_fn errors, co_child_wait_fn waits, void *arg)
{
    int ends[2], error_ends[2] = {-1, -1};
    pid_t pid;
    struct sigaction before[PASSED_ON];
    if (pipe2(ends, O_CLOEXEC)) {
        return -errno;
    }
    if (errors && pipe2(error_ends, O_CLOEXEC)) {
        int failed = -errno;
        close_pair(ends);
        return failed;
    }
    caught_signal = 0;
    set_handlers(before);
    uint64_t began = co_clock_now_ns();
    int failed = start(&pid, argv, ends[1], error_ends[1]);
    close_pair((int[]){ends[1], error_ends[1]});
    if (!failed) {
        current_child = (sig_atomic_t)pid;
        if (caught_signal) { // came between spawn and the line above
            kill(pid, caught_signal);
        }
        read_all(pid, ends[0], error_ends[0], &(struct listener){.take = {output, errors}, .waits = waits, .arg = arg});
        result->status = wait_for(pid);
        result->elapsed_ns = co_clock_now_ns() - began;
        current_child = 0;
    }
    close_pair((int[]){ends[0], error_ends[0]});
    for (int i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], &before[i], NULL);
    }
    result->interrupted = caught_signal; // the last moment at which one is caught is over
    return failed;
}

int co_child_run(struct co_child_result *result, char *const *argv, co_child_output_fn output,
                 co_child_output_fn errors, void *arg)
{
    return co_child_run_while(result, argv, output, errors, NULL, arg);
}
