// SPDX-License-Identifier: BSD-3-Clause
//
// Worlds whose ranks copy their messages themselves: because a setting says so, and because the kernel forbids their
// proxy to look into them, which a filter of system calls does here; then they say so. Where a setting wants no copies
// the world cannot be opened.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload_ranks.h"

enum { LARGE = 300001 };

// Both calls that reach into other processes, of this one and of all that it starts.
static void forbid(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

static void fill(unsigned char *memory, int value)
{
    for (size_t i = 0; i < LARGE; i++) {
        memory[i] = (unsigned char)(i * 13 + (size_t)value);
    }
}

static bool is_filled(const unsigned char *memory, int value)
{
    for (size_t i = 0; i < LARGE; i++) {
        if (memory[i] != (unsigned char)(i * 13 + (size_t)value)) {
            return false;
        }
    }
    return true;
}

// By single ones: what has come is there when a test says so, before anybody waits.
static void exchange(struct castoff_offload_world *world)
{
    static unsigned char out[LARGE], in[LARGE + 1];
    struct castoff_offload_request *send, *receive;
    int other = 1 - ranks_own, is_done = 0;
    size_t received;

    fill(out, ranks_own);
    in[LARGE] = 99;
    MUST(castoff_offload_receive(world, in, sizeof in, other, 0, &receive) == 0);
    MUST(castoff_offload_send(world, out, LARGE, other, 0, &send) == 0);
    while (!is_done) {
        MUST(castoff_offload_test(receive, &is_done) == 0);
    }
    MUST(is_filled(in, other) && in[LARGE] == 99); // no byte behind what came
    MUST(castoff_offload_wait(receive, &received) == 0 && received == LARGE);
    MUST(castoff_offload_wait(send, NULL) == 0);
}

// A ring, that passes on what it receives, again and again.
static void ring(struct castoff_offload_world *world)
{
    static unsigned char memory[LARGE];
    struct castoff_offload_group *group;

    MUST(castoff_offload_group_start(world, &group) == 0);
    if (ranks_own > 0) {
        MUST(castoff_offload_group_receive(group, memory, LARGE, 0, 5) == 0);
        MUST(castoff_offload_group_barrier(group) == 0);
        MUST(castoff_offload_group_send(group, memory, LARGE, 0, 6) == 0);
    } else {
        MUST(castoff_offload_group_send(group, memory, LARGE, 1, 5) == 0);
        MUST(castoff_offload_group_barrier(group) == 0);
        MUST(castoff_offload_group_receive(group, memory, LARGE, 1, 6) == 0);
    }
    MUST(castoff_offload_group_end(group) == 0);
    for (int call = 0; call < 4; call++) {
        if (ranks_own == 0) {
            fill(memory, call);
        } else {
            memset(memory, 0, sizeof memory);
        }
        MUST(castoff_offload_group_call(group) == 0);
        MUST(castoff_offload_group_wait(group, NULL) == 0);
        MUST(is_filled(memory, call));
    }
    MUST(castoff_offload_group_free(group) == 0);
}

static void no_such_memory(struct castoff_offload_world *world)
{
    struct castoff_offload_request *request;
    struct castoff_offload_group *group;
    char byte;
    void *nowhere = (void *)(uintptr_t)4096;

    if (ranks_own == 0) {
        MUST(castoff_offload_send(world, nowhere, 8, 1, 9, &request) == 0);
        MUST(castoff_offload_wait(request, NULL) == -EFAULT);
        MUST(castoff_offload_group_start(world, &group) == 0);
        MUST(castoff_offload_group_send(group, nowhere, 8, 1, 9) == 0);
        MUST(castoff_offload_group_end(group) == 0 && castoff_offload_group_call(group) == -EFAULT);
        MUST(castoff_offload_group_free(group) == 0);
    } else {
        MUST(castoff_offload_receive(world, &byte, 1, 0, 9, &request) == 0);
        MUST(castoff_offload_wait(request, NULL) == -ECONNRESET);
    }
}

// What this process says on standard error, from here on.
static int errors_keep(void)
{
    int file = memfd_create("errors", 0);
    MUST(file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    return file;
}

static bool has_said(int file, const char *text)
{
    char said[4096];
    ssize_t bytes = pread(file, said, sizeof said - 1, 0);
    said[bytes > 0 ? bytes : 0] = '\0';
    return strstr(said, text) != NULL;
}

// What the report has of all that.
static void counts_check(void)
{
    uint64_t counts[CASTOFF_OFFLOAD_COUNTS + 1] = {0};
    MUST(castoff_offload_counts(counts, 1) == 1 && counts[1] == 0);
    MUST(castoff_offload_counts(counts, CASTOFF_OFFLOAD_COUNTS + 1) == CASTOFF_OFFLOAD_COUNTS);
    MUST(counts[CASTOFF_OFFLOAD_WORLDS] == 1 && counts[CASTOFF_OFFLOAD_REFUSED] == 0);
    MUST(counts[CASTOFF_OFFLOAD_CALLS] == 2 + 4 + 1 && counts[CASTOFF_OFFLOAD_CACHED] == 3);
    MUST(counts[CASTOFF_OFFLOAD_FAILED] == 1 && counts[CASTOFF_OFFLOAD_BYTES_RECEIVED] == 5 * (uint64_t)LARGE);
    MUST(counts[CASTOFF_OFFLOAD_BYTES_COPIED] == counts[CASTOFF_OFFLOAD_BYTES_RECEIVED]);
    MUST(strncmp(castoff_offload_state(), "staged, copied by the ranks; ", 29) == 0);
}

static void run_all(bool is_told)
{
    int file = errors_keep();
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();

    MUST(castoff_offload_open(&world, &job) == 0); // not by ranks_world, to which -EPERM is no failure
    ranks_shared->proxy = world->proxy;
    MUST(co_rank_connection_copies(world->connection) != NULL);
    exchange(world);
    ring(world);
    no_such_memory(world);
    MUST(castoff_offload_close(world) == 0);
    counts_check();
    MUST(has_said(file, "messages are staged: this rank copies them itself") == is_told);
    MUST(has_said(file, "kernel.yama.ptrace_scope") == is_told);
}

static void copying(void)
{
    run_all(false);
}

static void forbidden(void)
{
    forbid();
    run_all(true);
}

static void forbidden_and_attached(void)
{
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();
    forbid();
    MUST(castoff_offload_open(&world, &job) == -EPERM);
    MUST(strstr(castoff_offload_why(), "ptrace_scope") != NULL);
}

static void with_setting(const char *lend, const char *node_ranks, void (*program)(void))
{
    setenv("CASTOFF_PROXY_LEND", lend, 1);
    setenv("CASTOFF_NODE_RANKS", node_ranks, 1);
    ranks_run(2, program);
    unsetenv("CASTOFF_NODE_RANKS");
    unsetenv("CASTOFF_PROXY_LEND");
}

static void a_setting_has_ranks_copy(void **state)
{
    (void)state;
    with_setting("copy", "0", copying);
    with_setting("copy", "1", copying);
}

static void where_the_kernel_forbids_it_ranks_copy_and_say_so(void **state)
{
    (void)state;
    with_setting("auto", "0", forbidden);
    with_setting("stage", "1", forbidden);
}

static void who_wants_no_copies_has_none(void **state)
{
    (void)state;
    with_setting("attach", "0", forbidden_and_attached);
}

// What a rank shares with its proxy is a file, and what it copies lies behind that.
static void limited(void)
{
    struct rlimit limit = {.rlim_cur = 1024, .rlim_max = RLIM_INFINITY};
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();

    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    MUST(castoff_offload_open(&world, &job) == -EFBIG);
    MUST(strstr(castoff_offload_why(), "ulimit -f") != NULL);
}

static void a_limit_of_file_sizes_is_named(void **state)
{
    (void)state;
    with_setting("auto", "0", limited);
    with_setting("copy", "0", limited);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_has_ranks_copy),
        cmocka_unit_test(where_the_kernel_forbids_it_ranks_copy_and_say_so),
        cmocka_unit_test(who_wants_no_copies_has_none),
        cmocka_unit_test(a_limit_of_file_sizes_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
