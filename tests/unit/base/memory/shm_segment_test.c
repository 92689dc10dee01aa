// SPDX-License-Identifier: BSD-3-Clause
//
// Shared segments: what one process writes another reads, wrong names and sizes are refused, and nothing is left.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory/shm_segment.h"

static char name[CO_SHM_NAME_MAX];

static int set_up(void **state)
{
    (void)state;
    co_shm_segment_name(name, UINT64_C(0xfeed000000000000) + (uint64_t)getpid(), 7);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shm_unlink(name); // where the test has failed
    return 0;
}

static int file_mode(void)
{
    struct stat status;
    int file = shm_open(name, O_RDONLY, 0);

    if (file < 0) {
        return -1;
    }
    assert_int_equal(fstat(file, &status), 0);
    close(file);
    return (int)(status.st_mode & 0777);
}

static void names_are_distinct(void **state)
{
    char other[CO_SHM_NAME_MAX];

    (void)state;
    co_shm_segment_name(other, UINT64_C(0x1f), 12);
    assert_string_equal(other, "/castoff-000000000000001f-12");
    co_shm_segment_name(other, UINT64_MAX, 4294967295u);
    assert_string_equal(other, "/castoff-ffffffffffffffff-4294967295");
}

static void another_process_sees_it(void **state)
{
    struct co_shm_segment segment;
    int status = -1;

    (void)state;
    assert_int_equal(co_shm_segment_create(&segment, name, 10000, 0), 0);
    assert_int_equal(segment.bytes, 10000);
    assert_int_equal(file_mode(), 0600);
    unsigned char *bytes = segment.base;
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(bytes[i], 0);
    }
    bytes[0] = 1;
    pid_t child = fork();
    if (child == 0) {
        struct co_shm_segment mine;
        if (co_shm_segment_attach(&mine, name, 10000) != 0 || ((unsigned char *)mine.base)[0] != 1) {
            _exit(1);
        }
        ((unsigned char *)mine.base)[9999] = 2;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(bytes[9999], 2);
    co_shm_segment_close(&segment);
    assert_null(segment.base);
    assert_int_equal(file_mode(), -1);
}

static void the_mapping_outlives_the_name(void **state)
{
    struct co_shm_segment one, other, late;

    (void)state;
    assert_int_equal(co_shm_segment_create(&one, name, 4096, 0), 0);
    assert_int_equal(co_shm_segment_attach(&other, name, 4096), 0);
    co_shm_segment_unlink(&one);
    assert_string_equal(one.name, "");
    co_shm_segment_unlink(&one);
    assert_int_equal(co_shm_segment_attach(&late, name, 4096), -ENOENT);
    memcpy(one.base, "still here", sizeof "still here");
    assert_string_equal(other.base, "still here");
    co_shm_segment_close(&one);
    assert_string_equal(other.base, "still here");
    co_shm_segment_close(&other);
    co_shm_segment_close(&other);
}

static void who_lets_others_in_is_refused(void **state)
{
    struct co_shm_segment one, other;

    (void)state; // a file of ours, and yet others may write to it
    assert_int_equal(co_shm_segment_create(&one, name, 4096, 0), 0);
    for (mode_t mode = 01; mode <= 040; mode *= 2) {
        int file = shm_open(name, O_RDWR, 0);
        assert_int_equal(fchmod(file, 0600 | mode), 0);
        close(file);
        assert_int_equal(co_shm_segment_attach(&other, name, 4096), -EPERM);
    }
    co_shm_segment_close(&one);
}

// Whatever the program keeps from files that it makes, the other ranks are to open this one.
static void no_umask_keeps_its_user_out(void **state)
{
    struct co_shm_segment segment, attached;
    mode_t before = umask(0777);
    int error = co_shm_segment_create(&segment, name, 4096, 0);

    (void)state;
    umask(before);
    assert_int_equal(error, 0);
    assert_int_equal(file_mode(), 0600);
    assert_int_equal(co_shm_segment_attach(&attached, name, 4096), 0);
    co_shm_segment_close(&attached);
    co_shm_segment_close(&segment);
}

// A process that dies as soon as it has made the segment.
static void create_and_die(void)
{
    struct co_shm_segment segment;
    int status;
    pid_t child = fork();
    if (child == 0) {
        raise(co_shm_segment_create(&segment, name, 4096, 0) == 0 ? SIGKILL : SIGTERM);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void names_of_the_dead_are_removed(void **state)
{
    struct co_shm_segment living, next;
    char other[CO_SHM_NAME_MAX];

    (void)state;
    create_and_die();
    co_shm_segment_name(other, UINT64_C(0xfeed000000000000) + (uint64_t)getpid(), 8);
    assert_int_equal(co_shm_segment_create(&living, other, 4096, 0), 0);
    assert_int_equal(file_mode(), -1);
    assert_int_equal(co_shm_segment_create(&next, name, 4096, 0), 0); // two jobs at once leave each other alone
    struct co_shm_segment attached;
    assert_int_equal(co_shm_segment_attach(&attached, other, 4096), 0);
    co_shm_segment_close(&attached);
    co_shm_segment_close(&next);
    co_shm_segment_close(&living);
}

static void create_often(int number)
{
    char mine[CO_SHM_NAME_MAX];
    co_shm_segment_name(mine, UINT64_C(0xfeed000000000000) + (uint64_t)getppid(), (unsigned)number);
    for (int i = 0; i < 300; i++) {
        struct co_shm_segment segment, attached;
        if (co_shm_segment_create(&segment, mine, 4096, 0) != 0 || co_shm_segment_attach(&attached, mine, 4096) != 0) {
            shm_unlink(mine);
            _exit(1);
        }
        co_shm_segment_close(&attached);
        co_shm_segment_close(&segment);
    }
    _exit(0);
}

static void those_who_begin_at_once_leave_each_other_theirs(void **state)
{
    (void)state;
    enum { JOBS = 4 };
    pid_t children[JOBS];
    int bad = 0;
    for (int i = 0; i < JOBS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            create_often(i);
        }
    }
    for (int i = 0; i < JOBS; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        bad += status != 0;
    }
    assert_int_equal(bad, 0);
}

// With the lock of a maker: else whoever makes a segment at this moment takes it for one that is left.
static int make_file(void)
{
    for (;;) {
        struct stat status;
        int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        assert_true(file >= 0);
        assert_int_equal(flock(file, LOCK_EX), 0);
        assert_int_equal(fstat(file, &status), 0);
        if (status.st_nlink > 0) {
            return file;
        }
        close(file);
    }
}

static void what_looks_like_one_stays(void **state)
{
    (void)state;
    struct co_shm_segment segment;
    static const char *const formats[] = {"/castoff-0123-%d", "/castoff-00000000000000xx-%d",
                                          "/castoff-0000000000000001-%d.x", "/castoff-0000000000000001-0%d"};
    char names[sizeof formats / sizeof formats[0]][CO_SHM_NAME_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(names[i], sizeof names[i], formats[i], (int)getpid());
        close(shm_open(names[i], O_RDWR | O_CREAT, 0600));
    }
    assert_int_equal(co_shm_segment_create(&segment, name, 4096, 0), 0);
    co_shm_segment_close(&segment);
    size_t left = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        left += shm_unlink(names[i]) == 0;
    }
    assert_int_equal(left, sizeof names / sizeof names[0]);
    if (geteuid() == 0) { // somebody else's
        int file = make_file();
        char other[CO_SHM_NAME_MAX];
        assert_int_equal(fchown(file, 65534, 65534), 0);
        close(file);
        co_shm_segment_name(other, UINT64_C(0xfeed000000000000) + (uint64_t)getpid(), 8);
        assert_int_equal(co_shm_segment_create(&segment, other, 4096, 0), 0);
        co_shm_segment_close(&segment);
        assert_int_equal(shm_unlink(name), 0);
    }
}

static unsigned opened;

int __real_shm_open(const char *called, int flags, mode_t mode);
int __wrap_shm_open(const char *called, int flags, mode_t mode);

int __wrap_shm_open(const char *called, int flags, mode_t mode)
{
    opened++;
    return __real_shm_open(called, flags, mode);
}

// Anybody may make them, and every job would look at all of them before it begins.
static void a_million_names_cost_no_more_than_some(void **state)
{
    (void)state;
    enum { NAMES = 3000, LOOKED_AT = 1024 };
    struct co_shm_segment segment;
    char other[CO_SHM_NAME_MAX];
    for (unsigned i = 0; i < NAMES; i++) {
        co_shm_segment_name(other, UINT64_C(0xfeed000000000000) + (uint64_t)getpid(), 1000 + i);
        close(shm_open(other, O_RDWR | O_CREAT, 0600));
    }
    opened = 0;
    assert_int_equal(co_shm_segment_create(&segment, name, 4096, 0), 0);
    assert_in_range(opened, 1, LOOKED_AT + 1);
    co_shm_segment_close(&segment);
    for (unsigned i = 0; i < NAMES; i++) {
        co_shm_segment_name(other, UINT64_C(0xfeed000000000000) + (uint64_t)getpid(), 1000 + i);
        shm_unlink(other);
    }
}

static void the_second_creator_is_refused(void **state)
{
    struct co_shm_segment one, other = {.base = NULL};

    (void)state;
    assert_int_equal(co_shm_segment_create(&one, name, 4096, 0), 0);
    assert_int_equal(co_shm_segment_create(&other, name, 4096, 0), -EEXIST);
    assert_null(other.base);
    assert_int_equal(file_mode(), 0600); // the first one's name is still there
    co_shm_segment_close(&one);
}

static void wrong_sizes_are_refused(void **state)
{
    struct co_shm_segment one, other;
    char long_name[200];

    (void)state;
    assert_int_equal(co_shm_segment_create(&one, name, 4096, 0), 0);
    assert_int_equal(co_shm_segment_attach(&other, name, 4097), -EINVAL);
    assert_int_equal(co_shm_segment_attach(&other, name, 0), -EINVAL);
    assert_int_equal(co_shm_segment_attach(&other, name, 100), 0); // less is as good
    co_shm_segment_close(&other);
    co_shm_segment_close(&one);
    assert_int_equal(co_shm_segment_create(&one, name, 0, 0), -EINVAL);
    assert_int_equal(co_shm_segment_create(&one, name, SIZE_MAX, 0), -EINVAL);
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[0] = '/';
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(co_shm_segment_create(&one, long_name, 4096, 0), -EINVAL);
}

static void more_than_there_is_leaves_nothing(void **state)
{
    struct co_shm_segment segment;

    (void)state;
    int result = co_shm_segment_create(&segment, name, (size_t)1 << 60, 0);
    assert_true(result == -ENOSPC || result == -EFBIG || result == -ENOMEM || result == -EINVAL);
    assert_int_equal(file_mode(), -1);
}

// Whole pages, parts of two, and less than one, as on a machine whose pages are larger than what is erased.
static void erasing_leaves_neighbours_alone(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), places[] = {0, 1, page / 2, page};
    const size_t lengths[] = {1, page / 2, page - 1, page, page + 1, 3 * page - 1, 3 * page};
    struct co_shm_segment segment;

    (void)state;
    assert_int_equal(co_shm_segment_create(&segment, name, 5 * page, 0), 0);
    unsigned char *bytes = segment.base;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            memset(bytes, 0x5a, 5 * page);
            co_shm_segment_erase((char *)bytes + places[i], lengths[k]);
            for (size_t at = 0; at < 5 * page; at++) {
                bool is_inside = at >= places[i] && at < places[i] + lengths[k];
                assert_int_equal(bytes[at], is_inside ? 0 : 0x5a);
            }
        }
    }
    co_shm_segment_close(&segment);
}

// Runs as another user in a child; needs root to become one.
static void segments_of_others_are_refused(void **state)
{
    (void)state;
    struct co_shm_segment mine;
    if (geteuid() != 0) {
        skip();
    }
    int status = -1, file = make_file();
    assert_int_equal(ftruncate(file, 4096), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(setuid(65534) == 0 && co_shm_segment_attach(&mine, name, 4096) == -EPERM ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    // And the other way round: a segment that another user planted, readable for all.
    assert_int_equal(fchown(file, 65534, 65534), 0);
    assert_int_equal(fchmod(file, 0666), 0);
    assert_int_equal(co_shm_segment_attach(&mine, name, 4096), -EPERM);
    close(file);
    shm_unlink(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_distinct, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_process_sees_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_mapping_outlives_the_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_second_creator_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_lets_others_in_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_umask_keeps_its_user_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_of_the_dead_are_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_looks_like_one_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_million_names_cost_no_more_than_some, set_up, tear_down),
        cmocka_unit_test_setup_teardown(those_who_begin_at_once_leave_each_other_theirs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_sizes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_there_is_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(erasing_leaves_neighbours_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments_of_others_are_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("shm_segment", tests, NULL, NULL);
}
