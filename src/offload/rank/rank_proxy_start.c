// SPDX-License-Identifier: BSD-3-Clause
//
// Two clones and an exec; see the header. What runs between them shares the rank's memory while the rank's thread is
// held (CLONE_VM, CLONE_VFORK), so nothing of a large rank is copied; it may only make system calls, and has signals
// blocked, for a handler of the program's must not run there.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/rank/rank_proxy_start.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/module.h"
#include "base/preload.h"
#include "base/settings.h"

enum { INPUT, OUTPUT, ERRORS, CONNECTION }; // descriptors of the proxy
enum { SIGNALS_BYTES = 8 };                 // the kernel's mask
#define ABANDONED_NS CO_NS_PER_S            // for a proxy to end by itself
enum { STACK_BYTES = 64 * 1024, DESCRIPTORS_MOST = 65536, PATH_BYTES = 4096 };

struct launch {
    const char *command;
    int connection;
    char *stack; // of two, one behind the other
    int error;   // of whichever step failed
    int process; // a pidfd of the proxy, or -1
};

static void signals_reset(void)
{
    // The kernel's own struct: no handler, no flags. Not by the C library, which keeps two signals for itself, nor by a
    // sanitizer, whose table of handlers is in memory that this process shares with the program.
    static const uint64_t action[8] = {0};
    sigset_t none;

    for (int i = 1; i <= SIGRTMAX; i++) {
        (void)syscall(SYS_rt_sigaction, i, action, NULL, SIGNALS_BYTES); // some cannot be set, and need not be
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// All but standard error and the connection.
static int descriptors_reset(int connection)
{
    if (connection == CONNECTION ? fcntl(CONNECTION, F_SETFD, 0) != 0 : dup2(connection, CONNECTION) < 0) {
        return -errno;
    }
    // It may have one of these numbers itself, if the program has closed its own, and stays open then.
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, INPUT) < 0 || dup2(nothing, OUTPUT) < 0) {
        return -errno;
    }
    if (fcntl(ERRORS, F_GETFD) != 0 && dup2(nothing, ERRORS) < 0) { // none, or none for the proxy
        return -errno;
    }
#ifdef SYS_close_range
    if (syscall(SYS_close_range, CONNECTION + 1, ~0U, 0) == 0) {
        return 0;
    }
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int i = CONNECTION + 1; i < (most > 0 && most < DESCRIPTORS_MOST ? (int)most : DESCRIPTORS_MOST); i++) {
        close(i);
    }
    return 0;
}

// Becomes the proxy.
static int second_run(void *argument)
{
    struct launch *launch = argument;
    char name[] = "castoff", subcommand[] = "proxy", option[] = "--job";
    char *arguments[] = {name, subcommand, option, NULL}, *environment[] = {NULL};

    // Not a session of its own: Linux shares processors out by session (autogroups), and beside ranks that yield all
    // the time a proxy alone in one was seen ready to run for 30 s without getting any (Linux 6.18).
    setpgid(0, 0);
    launch->error = chdir("/") != 0 ? -errno : descriptors_reset(launch->connection);
    if (launch->error == 0) {
        signals_reset();
        execve(launch->command, arguments, environment);
        launch->error = -errno;
    }
    return 1;
}

// Ends when the second one is another program, which is nobody's child then. It has the rank's descriptors, not copies
// of them, so that the one by which the kernel names the second one is the rank's: by its number it could be taken for
// another process. Some kernels before 5.2, and sandboxes, have none, and there may be no room for it.
static int first_run(void *argument)
{
    struct launch *launch = argument;
    char *stack = launch->stack + 2 * STACK_BYTES;
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
    int second = clone(second_run, stack, flags | CLONE_PIDFD, launch, &launch->process);

    if (second < 0) {
        second = clone(second_run, stack, flags, launch);
    }
    if (second < 0) {
        launch->error = -errno;
    }
    return 0;
}

// Valgrind ends a process that clones otherwise than fork does. So there nothing is shared, why the second one failed
// is not heard, and the program may see a SIGCHLD. No function of the C library, whose handlers of fork would run.
static int first_fork(struct launch *launch)
{
    long first = syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);

    if (first == 0) {
        if (syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L) == 0) {
            (void)second_run(launch);
        }
        _exit(0);
    }
    return (int)first;
}

static int first_start(struct launch *launch)
{
    return co_preload_has_valgrind(co_environment("LD_PRELOAD"), "core")
               ? first_fork(launch)
               : clone(first_run, launch->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_FILES, launch);
}

static int launch_run(struct launch *launch)
{
    sigset_t all, before;
    int status, could_cancel;

    launch->stack = aligned_alloc(64, (size_t)2 * STACK_BYTES);
    if (launch->stack == NULL) {
        return -ENOMEM;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &could_cancel); // it would end this thread within the children
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int first = first_start(launch);
    int error = first < 0 ? -errno : launch->error;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (first >= 0 && waitpid(first, &status, __WALL) < 0 && errno == EINTR) {
    }
    pthread_setcancelstate(could_cancel, NULL);
    free(launch->stack);
    return error;
}

int co_rank_proxy_command_find(char *path, size_t room)
{
    static const char *const places[] = {"%.*s/castoff", "%.*s/../../bin/castoff", "%.*s/../bin/castoff"};
    const char *own = co_module_own_file(NULL);
    const char *slash = own != NULL ? strrchr(own, '/') : NULL;

    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
        char found[PATH_BYTES], *whole;
        int length = snprintf(found, sizeof found, places[i], (int)(slash - own), own);
        if (length >= (int)sizeof found || access(found, X_OK) != 0 || (whole = realpath(found, NULL)) == NULL) {
            continue;
        }
        length = snprintf(path, room, "%s", whole);
        free(whole);
        return length < (int)room ? 0 : -ENAMETOOLONG;
    }
    return -ENOENT;
}

static int job_tell(int connection, const struct co_offload_job *job, const struct co_offload_job_rank *ranks,
                    uint64_t until_ns)
{
    size_t bytes = CO_OFFLOAD_JOB_BYTES + (size_t)job->ranks * CO_OFFLOAD_JOB_RANK_BYTES;
    uint8_t *text = malloc(bytes);
    if (text == NULL) {
        return -ENOMEM;
    }
    co_offload_job_encode(text, job);
    for (uint32_t i = 0; i < job->ranks; i++) {
        co_offload_job_rank_encode(text + CO_OFFLOAD_JOB_BYTES + (size_t)i * CO_OFFLOAD_JOB_RANK_BYTES, &ranks[i]);
    }
    int error = co_local_send_all(connection, text, bytes, until_ns);
    explicit_bzero(text, CO_OFFLOAD_JOB_BYTES); // the key
    free(text);
    return error;
}

static int started_hear(int connection, uint64_t until_ns, struct co_offload_started *started)
{
    uint8_t answer[CO_OFFLOAD_STARTED_BYTES];
    int error = co_local_receive_all(connection, answer, sizeof answer, until_ns);

    if (error == 0) {
        error = co_offload_started_decode(started, answer);
    }
    return error == 0 ? -(int)started->error : error;
}

void co_rank_proxy_abandon(int connection, int process)
{
    close(connection);
    if (process < 0) {
        return;
    }
    if (co_local_await_until(process, co_clock_now_ns() + ABANDONED_NS) == 0) {
        (void)syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
    }
    close(process);
}

int co_rank_proxy_start(const char *command, const struct co_offload_job *job, const struct co_offload_job_rank *ranks,
                        uint64_t until_ns, struct co_offload_started *started, int *connection, int *process, char *why,
                        size_t why_room)
{
    int ends[2];
    int error = co_local_pair(ends);
    if (error != 0) {
        snprintf(why, why_room, "no connection for a proxy: %s", strerror(-error));
        return error;
    }
    char *whole = realpath(command, NULL); // the proxy starts in another folder
    struct launch launch = {.command = whole, .connection = ends[1], .process = -1};
    error = whole == NULL ? -errno : launch_run(&launch);
    free(whole);
    close(ends[1]);
    if (error != 0) {
        snprintf(why, why_room, "%s cannot be started: %s", command, strerror(-error));
        close(ends[0]);
        if (launch.process >= 0) {
            close(launch.process);
        }
        return error;
    }
    error = job_tell(ends[0], job, ranks, until_ns);
    error = error == 0 ? started_hear(ends[0], until_ns, started) : error;
    if (error != 0) {
        snprintf(why, why_room, "the proxy (%s) does not serve: %s", command, strerror(-error));
        co_rank_proxy_abandon(ends[0], launch.process);
        return error;
    }
    *connection = ends[0];
    *process = launch.process;
    return 0;
}

int co_rank_proxy_connect(int connection, const struct co_offload_peer *peers, uint32_t proxies, uint64_t until_ns,
                          char *why, size_t why_room)
{
    uint8_t answer[CO_OFFLOAD_CONNECTED_BYTES], bytes[CO_OFFLOAD_PEER_BYTES];
    struct co_offload_connected connected;
    int error = 0;

    for (uint32_t i = 0; error == 0 && i < proxies; i++) {
        co_offload_peer_encode(bytes, &peers[i]);
        error = co_local_send_all(connection, bytes, sizeof bytes, until_ns);
    }
    if (error == 0) {
        error = co_local_receive_all(connection, answer, sizeof answer, until_ns);
    }
    if (error == 0) {
        error = co_offload_connected_decode(&connected, answer);
    }
    if (error != 0) {
        snprintf(why, why_room, "its proxy does not answer: %s", strerror(-error));
    } else if (connected.error != 0) {
        error = -(int)connected.error;
        snprintf(why, why_room, "its proxy does not reach another one: %s", connected.why);
    }
    return error;
}
