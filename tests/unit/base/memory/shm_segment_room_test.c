// SPDX-License-Identifier: BSD-3-Clause
//
// How large a segment may be: what is free in /dev/shm, less what others need there, and the limits of file sizes and
// addresses; and a /dev/shm that is full by the time when pages are touched.
#define _GNU_SOURCE // unshare
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory/shm_segment.h"

static char name[CO_SHM_NAME_MAX];

static int set_up(void **state)
{
    (void)state;
    co_shm_segment_name(name, UINT64_C(0xfeed100000000000) + (uint64_t)getpid(), 7);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shm_unlink(name); // where the test has failed
    return 0;
}

static bool is_there(void)
{
    int file = shm_open(name, O_RDONLY, 0);

    if (file >= 0) {
        close(file);
    }
    return file >= 0;
}

// The kernel would end the process by a signal.
static int within_a_limit_of_file_sizes(void)
{
    struct co_shm_segment segment;
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 77;
    }
    if (co_shm_segment_create(&segment, name, (1 << 20) + 1, 0) != -ENOSPC || is_there()) {
        return 1;
    }
    if (co_shm_segment_room(0) > 1 << 20 || co_shm_segment_create(&segment, name, 1 << 20, 0) != 0) {
        return 2;
    }
    co_shm_segment_close(&segment);
    return 0;
}

static int status_in_child(int (*run)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(run());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); // and not by a signal
    return WEXITSTATUS(status);
}

static void a_limit_of_file_sizes_is_kept(void **state)
{
    (void)state;
    assert_int_equal(status_in_child(within_a_limit_of_file_sizes), 0);
}

// The rest is the program's. Sanitizers can do little within it, so that no segment is tried.
static int within_a_limit_of_addresses(void)
{
    struct rlimit limit = {.rlim_cur = 64 << 20, .rlim_max = 64 << 20};
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        return 77;
    }
    return co_shm_segment_room(0) > 8 << 20;
}

static void most_of_a_limit_of_addresses_is_left(void **state)
{
    (void)state;
    assert_int_equal(status_in_child(within_a_limit_of_addresses), 0);
}

static bool write_to(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    bool is_written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

    if (file >= 0) {
        close(file);
    }
    return is_written;
}

// An ordinary user gets them in a user namespace, where a file can be made only by a user who has a name there.
static bool own_mounts(void)
{
    char users[32], groups[32];

    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWNS) == 0 ||
           (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_to("/proc/self/setgroups", "deny") &&
            write_to("/proc/self/uid_map", users) && write_to("/proc/self/gid_map", groups));
}

// In mounts of its own, with a /dev/shm of 8 MiB: 0, 77 where that is not to be had, or the number of what went wrong.
static int in_a_small_file_system(void)
{
    static const struct {
        size_t bytes, others_bytes;
        int result;
    } cases[] = {
        {8 << 20, 0, 0}, // all of it, where nobody else needs any
        {(8 << 20) + 1, 0, -ENOSPC},
        {5 << 20, 3 << 20, 0},       // what others need is there
        {5 << 20, 4 << 20, -ENOSPC}, // and not quite
        {4096, 9 << 20, -ENOSPC},    // who has too little himself gives nothing
    };
    struct co_shm_segment segment;
    if (!own_mounts() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=8m") != 0) {
        return 77;
    }
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        int result = co_shm_segment_create(&segment, name, cases[i].bytes, cases[i].others_bytes);
        if (result != cases[i].result || (result != 0 && is_there())) {
            return i + 1;
        }
        if (result == 0) {
            co_shm_segment_close(&segment);
        }
    }
    return 0;
}

static void run_or_skip(int (*run)(void))
{
    int status = status_in_child(run);
    if (status == 77) {
        skip(); // no namespaces here, or no filters
    }
    assert_int_equal(status, 0);
}

static void others_keep_what_they_need(void **state)
{
    (void)state;
    run_or_skip(in_a_small_file_system);
}

// As kernels before 5.14 are.
static bool forget_an_advice(unsigned advice)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, advice, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A segment of 6 MiB for which there was room when it was made; somebody else has taken 4 of the 8 since.
static int touch_in_a_full_file_system(void)
{
    struct co_shm_segment segment;
    if (!own_mounts() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=8m") != 0) {
        return 77;
    }
    if (co_shm_segment_create(&segment, name, 6 << 20, 0) != 0) {
        return 1;
    }
    int other = open("/dev/shm/other", O_WRONLY | O_CREAT, 0600);
    if (other < 0 || posix_fallocate(other, 0, 4 << 20) != 0) {
        return 2;
    }
    close(other);
    if (co_shm_segment_touch(segment.base, 1 << 20) != 0) {
        return 3;
    }
    memset(segment.base, 1, 1 << 20); // no signal
    if (co_shm_segment_touch(segment.base, 6 << 20) != -ENOMEM) {
        return 4;
    }
    co_shm_segment_close(&segment);
    return 0;
}

static int touch_by_an_old_kernel(void)
{
    enum { MADVISE_POPULATE_WRITE = 23 };
    return forget_an_advice(MADVISE_POPULATE_WRITE) ? touch_in_a_full_file_system() : 77;
}

static void a_full_file_system_is_no_signal(void **state)
{
    (void)state;
    run_or_skip(touch_in_a_full_file_system);
    run_or_skip(touch_by_an_old_kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_limit_of_file_sizes_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(most_of_a_limit_of_addresses_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_keep_what_they_need, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_file_system_is_no_signal, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("shm_segment_room", tests, NULL, NULL);
}
