// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a segment: both see the same, and a proxy maps nothing that a rank could make shorter.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/segment_memory.h"

static void both_see_the_same(void **state)
{
    (void)state;
    struct co_segment_memory *ours, *theirs;
    struct co_segment_rank rank;
    struct co_segment_proxy proxy;
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    bool rings;
    bool has_copies = true;
    int fd;

    assert_int_equal(co_segment_memory_create(&ours, false, &fd), 0);
    assert_int_equal(co_segment_memory_map(&theirs, fd, &has_copies), 0);
    assert_false(has_copies);
    assert_true(ours != theirs);
    co_segment_rank_open(&rank, ours);
    assert_int_equal(co_segment_proxy_open(&proxy, theirs), 0);
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_BYE};
    assert_int_equal(co_segment_give(&rank, &command, NULL, 0, &rings), 0);
    assert_int_equal(co_segment_take(&proxy, bytes), 1);
    assert_int_equal(bytes[0], CO_OFFLOAD_COMMAND_BYE);
    assert_int_equal(ftruncate(fd, 4096), -1); // sealed
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    co_segment_memory_unmap(ours);
    co_segment_memory_unmap(theirs);
    close(fd);
}

static int map_of(int seals, off_t bytes)
{
    struct co_segment_memory *memory;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    bool has_copies;
    int error = co_segment_memory_map(&memory, fd, &has_copies);
    if (error == 0) {
        co_segment_memory_unmap(memory);
    }
    close(fd);
    return error;
}

static void what_a_rank_might_send(void **state)
{
    (void)state;
    struct co_segment_memory *memory;
    const off_t right = (off_t)sizeof(struct co_segment_memory);
    const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    bool has_copies;
    int pipes[2];

    assert_int_equal(map_of(all, right), 0);
    assert_int_equal(map_of(all & ~F_SEAL_SHRINK, right), -EPERM);
    assert_int_equal(map_of(all & ~F_SEAL_SEAL, right), -EPERM);
    assert_int_equal(map_of(all, right - 1), -EPERM);
    assert_int_equal(map_of(all, right + 4096), -EPERM);
    assert_int_equal(map_of(all, (off_t)(CO_SEGMENT_COPIES_AT + CO_SEGMENT_COPIES_BYTES)), 0);
    assert_int_equal(map_of(all, (off_t)(CO_SEGMENT_COPIES_AT + CO_SEGMENT_COPIES_BYTES) - 1), -EPERM);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(co_segment_memory_map(&memory, pipes[0], &has_copies), -EPERM);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(co_segment_memory_map(&memory, -1, &has_copies), -EPERM);
}

// What stands behind a segment takes no memory until it is used, and is at the end of the file at the latest.
static void room_for_copies(void **state)
{
    (void)state;
    struct co_segment_memory *ours, *theirs;
    bool has_copies = false;
    struct stat is;
    int fd;

    assert_int_equal(co_segment_memory_create(&ours, true, &fd), 0);
    assert_int_equal(co_segment_memory_map(&theirs, fd, &has_copies), 0);
    assert_true(has_copies);
    co_segment_memory_unmap(ours);
    co_segment_memory_unmap(theirs);
    off_t last = (off_t)(CO_SEGMENT_COPIES_AT + CO_SEGMENT_COPIES_BYTES) - 1;
    assert_int_equal(pwrite(fd, "x", 1, last), 1);
    assert_int_equal(pwrite(fd, "x", 1, last + 1), -1);
    assert_int_equal(fstat(fd, &is), 0);
    assert_true(is.st_blocks * 512 <= sysconf(_SC_PAGESIZE));
    close(fd);
}

// The kernel would end the process by a signal.
static int within_a_limit_of_file_sizes(rlim_t bytes, int expected)
{
    struct co_segment_memory *memory;
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    int fd = -1;

    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 77;
    }
    return co_segment_memory_create(&memory, false, &fd) == expected && (fd >= 0) == (expected == 0) ? 0 : 1;
}

static void a_limit_of_file_sizes_is_kept(void **state)
{
    (void)state;
    for (int has_room = 0; has_room < 2; has_room++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            _exit(within_a_limit_of_file_sizes(sizeof(struct co_segment_memory) - !has_room, has_room ? 0 : -EFBIG));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_see_the_same),
        cmocka_unit_test(what_a_rank_might_send),
        cmocka_unit_test(room_for_copies),
        cmocka_unit_test(a_limit_of_file_sizes_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
