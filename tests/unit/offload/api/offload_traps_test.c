// SPDX-License-Identifier: BSD-3-Clause
//
// What a proxy must not take from the program that it is started by, or leave to it: children and SIGCHLD, cores,
// LD_PRELOAD, descriptors, its process group; jobs beside each other; kernels that give no descriptor of a process; and
// worlds that cannot be opened.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload_ranks.h"

static volatile sig_atomic_t children_heard;

// As a program's own that cares for all of its children.
static void child_heard(int signal)
{
    int status;
    (void)signal;
    children_heard++;
    while (waitpid(-1, &status, WNOHANG) > 0) {
    }
}

static void no_child(void)
{
    struct sigaction action = {.sa_handler = child_heard};
    struct castoff_offload_world *world;
    int status;

    MUST(sigaction(SIGCHLD, &action, NULL) == 0);
    world = ranks_world();
    MUST(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
    MUST(castoff_offload_close(world) == 0);
    MUST(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
    MUST(children_heard == 0);
    MUST(sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == child_heard);
}

static void the_program_sees_no_child(void **state)
{
    (void)state;
    ranks_run(2, no_child);
}

// Of /proc/PID/NAME.
static ssize_t process_read(pid_t process, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    int file = open(path, O_RDONLY);
    MUST(file >= 0);
    ssize_t bytes = read(file, text, room - 1);
    close(file);
    MUST(bytes >= 0);
    text[bytes] = '\0';
    return bytes;
}

// The highest one; *count: how many there are.
static int descriptors_of(pid_t process, int *count)
{
    char path[64];
    int most = -1;
    *count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *folder = opendir(path);
    MUST(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        most = atoi(entry->d_name) > most ? atoi(entry->d_name) : most;
        ++*count;
    }
    closedir(folder);
    return most;
}

static void nothing_inherited(void)
{
    enum { PROGRAMS_OWN = 200 };
    char text[8192];
    cpu_set_t one, proxys;
    struct castoff_offload_world *world;
    sigset_t blocked;

    setenv("LD_PRELOAD", "libnowhere-to-be-found.so", 1);
    setenv("CASTOFF_LOG", "trace", 1);
    MUST(dup2(STDERR_FILENO, PROGRAMS_OWN) == PROGRAMS_OWN); // not closed on exec
    MUST(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    sigfillset(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    MUST(sched_setaffinity(0, sizeof one, &one) == 0);
    world = ranks_world();
    pid_t proxy = ranks_shared->proxy;
    MUST(process_read(proxy, "environ", text, sizeof text) == 0);
    MUST(process_read(proxy, "status", text, sizeof text) > 0);
    MUST(strstr(text, "Name:\tcastoff-proxy\n") != NULL);
    // But for SIGPIPE, SIGTTOU and SIGXFSZ, which are its own.
    MUST(strstr(text, "SigIgn:\t0000000001201000") != NULL && strstr(text, "SigBlk:\t0000000000000000") != NULL);
    MUST(getpgid(proxy) == proxy && getsid(proxy) == getsid(0)); // a terminal's signals are not for it
    MUST(descriptors_of(proxy, &(int){0}) < PROGRAMS_OWN);
    MUST(sched_getaffinity(proxy, sizeof proxys, &proxys) == 0);
    ranks_shared->words[0] = CPU_COUNT(&proxys);
    ranks_shared->words[1] = CPU_ISSET(sched_getcpu(), &proxys);
    MUST(castoff_offload_close(world) == 0);
}

static void a_proxy_inherits_nothing(void **state)
{
    (void)state;
    cpu_set_t ours;
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    ranks_start(1, nothing_inherited);
    int status;
    assert_int_equal(waitpid(ranks_processes[0], &status, 0), ranks_processes[0]);
    assert_int_equal(status, 0);
    int cores = ranks_shared->words[0], has_rank_core = ranks_shared->words[1];
    bool is_denied = ranks_shared->is_denied;
    ranks_count = 0;
    ranks_end();
    if (is_denied) {
        skip();
    }
    if (CPU_COUNT(&ours) > 1) { // it has the others
        assert_true(cores >= CPU_COUNT(&ours) - 1);
        assert_int_equal(has_rank_core, 0);
    }
}

static int own_descriptors(void)
{
    int count;
    (void)descriptors_of(getpid(), &count);
    return count;
}

static void no_descriptor(void)
{
    int before = own_descriptors();
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();
    job.command = "/nowhere/castoff";

    MUST(castoff_offload_close(ranks_world()) == 0);
    MUST(own_descriptors() == before);
    MUST(castoff_offload_open(&world, &job) == -ENOENT);
    job.command = "/dev/null"; // it cannot be executed
    MUST(castoff_offload_open(&world, &job) == -EACCES);
    MUST(own_descriptors() == before);
    job.command = "/bin/true";
    MUST(castoff_offload_open(&world, &job) < 0);
    MUST(own_descriptors() == before);
}

static void no_descriptor_is_left_to_the_program(void **state)
{
    (void)state;
    ranks_run(2, no_descriptor);
}

// Which process it is then is not known for sure: it is not killed, but is there.
static void without_pidfd(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)), // the lower half of its flags
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_PIDFD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};

    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    no_child();
    no_descriptor();
}

static void a_kernel_without_pidfds_has_proxies(void **state)
{
    (void)state;
    ranks_run(2, without_pidfd);
}

// A program that has closed its standard descriptors, and names the command from where it is.
static void bare(void)
{
    static const char *const names[] = {"fd/0", "fd/1", "fd/2"};
    struct castoff_offload_world *world;
    char folder[4096], path[64], target[64];
    struct castoff_offload_job job = {
        .struct_bytes = sizeof job, .rank = 0, .size = 1, .allgather = ranks_gather, .command = "./castoff"};

    snprintf(folder, sizeof folder, "%s", ranks_command());
    *strrchr(folder, '/') = '\0';
    MUST(chdir(folder) == 0);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        close(i);
    }
    int error = castoff_offload_open(&world, &job);
    ranks_shared->is_denied = error == -EPERM;
    if (error == -EPERM) {
        return;
    }
    MUST(error == 0);
    ranks_shared->proxy = world->proxy;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)world->proxy, names[i]);
        ssize_t bytes = readlink(path, target, sizeof target - 1);
        MUST(bytes > 0);
        target[bytes] = '\0';
        MUST(strcmp(target, "/dev/null") == 0);
    }
    MUST(castoff_offload_close(world) == 0);
}

static void a_bare_program_has_a_proxy(void **state)
{
    (void)state;
    ranks_run(1, bare);
}

// Same ranks, same tags, and no message of one job in the other.
static void two_worlds(void)
{
    struct castoff_offload_world *first = ranks_world(), *second = ranks_world();
    struct castoff_offload_request *requests[4];
    int other = 1 - ranks_own;
    char in[2] = "", out[2] = {'1', '2'};

    MUST(first->proxy != second->proxy);
    MUST(castoff_offload_send(second, out + 1, 1, other, 0, &requests[0]) == 0);
    MUST(castoff_offload_receive(first, in, 1, other, 0, &requests[1]) == 0);
    MUST(castoff_offload_receive(second, in + 1, 1, other, 0, &requests[2]) == 0);
    MUST(castoff_offload_wait(requests[0], NULL) == 0 && castoff_offload_wait(requests[2], NULL) == 0);
    MUST(castoff_offload_send(first, out, 1, other, 0, &requests[3]) == 0);
    MUST(castoff_offload_wait(requests[1], NULL) == 0 && castoff_offload_wait(requests[3], NULL) == 0);
    MUST(in[0] == '1' && in[1] == '2');
    pid_t proxy = first->proxy;
    MUST(castoff_offload_close(first) == 0);
    RANKS_UNTIL(ranks_has_ended(proxy));
    MUST(castoff_offload_close(second) == 0);
}

static void two_jobs_do_not_meet(void **state)
{
    (void)state;
    ranks_run(2, two_worlds);
}

static void cannot_open(void)
{
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();
    job.command = "/nowhere/castoff";

    MUST(castoff_offload_open(&world, &job) == -ENOENT); // at each rank, though one alone has tried
    MUST(strstr(castoff_offload_why(), "rank 0: /nowhere/castoff cannot be started") != NULL);
    job.command = "/bin/true"; // no proxy: it ends before it has heard its job, or after
    int error = castoff_offload_open(&world, &job);
    MUST(error == -EPIPE || error == -ECONNRESET);
    job.size = 0;
    MUST(castoff_offload_open(&world, &job) == -EINVAL);
    job.size = ranks_count;
    job.key = "short";
    job.key_bytes = 5;
    MUST(castoff_offload_open(&world, &job) == -EINVAL);
}

static void what_one_cannot_do_is_an_error_of_all(void **state)
{
    (void)state;
    ranks_run(2, cannot_open);
}

static void are_off(void)
{
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();
    if (ranks_own == 1) {
        setenv("CASTOFF_PROXY", "no", 1);
    }
    MUST(castoff_offload_open(&world, &job) == -ENOTSUP);
    MUST(strstr(castoff_offload_why(), "rank 1: proxies are off: CASTOFF_PROXY=no") != NULL);
    MUST(strcmp(castoff_offload_state(), castoff_offload_why()) == 0); // the report says so, too
}

static void a_setting_turns_them_off(void **state)
{
    (void)state;
    ranks_run(2, are_off);
}

static void has_a_key(void)
{
    struct castoff_offload_world *world;
    struct castoff_offload_request *send, *receive;
    struct castoff_offload_job job = ranks_job();
    char in;

    job.key = "a key that is long enough";
    job.key_bytes = ranks_own == 0 ? 25 : 24;
    int error = castoff_offload_open(&world, &job); // rank 1 has another one
    if (error == -EPERM) {
        ranks_shared->is_denied = 1;
        return;
    }
    MUST(error == -EPIPE || error == -ECONNRESET);
    job.key_bytes = 25;
    MUST(castoff_offload_open(&world, &job) == 0);
    MUST(castoff_offload_receive(world, &in, 1, 1 - ranks_own, 0, &receive) == 0);
    MUST(castoff_offload_send(world, "k", 1, 1 - ranks_own, 0, &send) == 0);
    MUST(castoff_offload_wait(receive, NULL) == 0 && castoff_offload_wait(send, NULL) == 0 && in == 'k');
    MUST(castoff_offload_close(world) == 0);
}

static void the_key_decides_who_may_come(void **state)
{
    (void)state;
    ranks_run(2, has_a_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_sees_no_child),
        cmocka_unit_test(a_proxy_inherits_nothing),
        cmocka_unit_test(no_descriptor_is_left_to_the_program),
        cmocka_unit_test(a_kernel_without_pidfds_has_proxies),
        cmocka_unit_test(a_bare_program_has_a_proxy),
        cmocka_unit_test(two_jobs_do_not_meet),
        cmocka_unit_test(what_one_cannot_do_is_an_error_of_all),
        cmocka_unit_test(a_setting_turns_them_off),
        cmocka_unit_test(the_key_decides_who_may_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
