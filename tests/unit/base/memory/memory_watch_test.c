// SPDX-License-Identifier: BSD-3-Clause
//
// Every way in which other memory can come to stand behind an address, as a program does it or the C library for it, is
// noticed before the next statement; ordinary use, and changes away, are not. Skipped where the kernel does not
// tell.
#define _GNU_SOURCE // mremap
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory/memory_watch.h"

enum { PAGE = 4096, PAGES = 64, BYTES = PAGE * PAGES, TURNS = 200 };

static struct co_memory_watch *watch;
static unsigned char *memory;

static int open_watch(void **state)
{
    (void)state;
    int error = co_memory_watch_open(&watch);
    if (error != 0) {
        watch = NULL;
        print_message("no watch here: %s\n", strerror(-error));
    }
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, BYTES);
    return 0;
}

static int close_watch(void **state)
{
    (void)state;
    if (watch != NULL) {
        co_memory_watch_close(watch);
    }
    munmap(memory, BYTES);
    return 0;
}

static int add(const void *start, size_t bytes)
{
    if (watch == NULL) {
        skip();
    }
    int place = co_memory_watch_add(watch, start, bytes);
    if (place < 0) {
        fail_msg("%s", strerror(-place));
    }
    assert_true(co_memory_watch_is_same(watch, place));
    return place;
}

static void renew(void)
{
    void *fresh = mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(fresh, memory);
    memset(memory, 2, BYTES);
}

static void what_is_unmapped_has_changed(void **state)
{
    (void)state;
    for (int turn = 0; turn < TURNS; turn++) {
        int place = add(memory + 4 * PAGE, 8 * PAGE);
        munmap(memory + 11 * PAGE, PAGE); // its last page
        assert_false(co_memory_watch_is_same(watch, place));
        co_memory_watch_drop(watch, place);
        renew();
    }
}

static void what_is_mapped_over_has_changed(void **state)
{
    (void)state;
    for (int turn = 0; turn < TURNS; turn++) {
        int place = add(memory, BYTES);
        renew();
        assert_false(co_memory_watch_is_same(watch, place));
        co_memory_watch_drop(watch, place);
    }
}

static void what_is_given_back_has_changed(void **state)
{
    (void)state;
    const int advice[] = {MADV_DONTNEED, MADV_FREE};
    for (int turn = 0; turn < TURNS; turn++) {
        int place = add(memory, BYTES);
        assert_int_equal(madvise(memory + PAGE, PAGE, advice[turn % 2]), 0);
        assert_false(co_memory_watch_is_same(watch, place));
        co_memory_watch_drop(watch, place);
        memset(memory, 3, BYTES);
    }
}

static void what_is_moved_has_changed(void **state)
{
    (void)state;
    int place = add(memory, BYTES);
    void *away = mremap(memory, BYTES, 2 * (size_t)BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
                        mmap(NULL, 2 * (size_t)BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    assert_true(away != MAP_FAILED);
    assert_false(co_memory_watch_is_same(watch, place));
    co_memory_watch_drop(watch, place);
    munmap(away, 2 * (size_t)BYTES);
    renew();
}

static size_t to_page(const void *at)
{
    return PAGE - (uintptr_t)at % PAGE;
}

// Calls inside the C library that no symbol stands in front of.
static void what_the_allocator_gives_back_has_changed(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); // which have allocators of their own
#endif
    size_t large = (size_t)1 << 20, small = (size_t)96 << 10;
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    mallopt(M_TRIM_THRESHOLD, 64 << 10);
    unsigned char *mapped = malloc(large), *broken = malloc(small);
    memset(mapped, 1, large);
    memset(broken, 1, small);
    int of_mapped = add(mapped + to_page(mapped), large / 2);
    int of_heap = add(broken + to_page(broken), small / 2);
    free(mapped);
    assert_false(co_memory_watch_is_same(watch, of_mapped));
    assert_true(co_memory_watch_is_same(watch, of_heap));
    free(broken);
    malloc_trim(0);
    assert_false(co_memory_watch_is_same(watch, of_heap));
    co_memory_watch_drop(watch, of_mapped);
    co_memory_watch_drop(watch, of_heap);
}

static void what_is_used_is_the_same(void **state)
{
    (void)state;
    int place = add(memory + PAGE, PAGE);
    memset(memory, 5, BYTES);
    assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_READ), 0);
    assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(madvise(memory, PAGE, MADV_DONTNEED), 0);
    munmap(memory + 2 * PAGE, PAGE);
    memory[PAGE] = 6;
    assert_true(co_memory_watch_is_same(watch, place));
    co_memory_watch_drop(watch, place);
    renew();
}

static void a_fork_changes_all(void **state)
{
    (void)state;
    int place = add(memory, BYTES), status = 1;
    pid_t child = fork();
    if (child == 0) {
        _exit(munmap(memory, BYTES)); // without anybody to hear of it there
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(co_memory_watch_is_same(watch, place));
    co_memory_watch_drop(watch, place);
}

static void overlapping_places_do_without_each_other(void **state)
{
    (void)state;
    int first = add(memory, 10 * PAGE), second = add(memory + 5 * PAGE, 10 * PAGE);
    co_memory_watch_drop(watch, first);
    munmap(memory + 6 * PAGE, PAGE);
    assert_false(co_memory_watch_is_same(watch, second));
    co_memory_watch_drop(watch, second);
    renew();
}

static void other_memory_is_refused(void **state)
{
    (void)state;
    int last = add(memory, PAGE);
    void *shared = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    assert_int_equal(co_memory_watch_add(watch, shared, PAGE), -ENOTSUP);
    const void *code = (const void *)((uintptr_t)&other_memory_is_refused / PAGE * PAGE);
    assert_int_equal(co_memory_watch_add(watch, code, PAGE), -ENOTSUP);
    munmap(memory + 2 * PAGE, PAGE);
    assert_int_equal(co_memory_watch_add(watch, memory + PAGE, 2 * PAGE), -ENOTSUP);
    munmap(shared, BYTES);
    renew();
    co_memory_watch_drop(watch, last);
}

static void places_are_bounded_and_used_again(void **state)
{
    (void)state;
    struct co_memory_watch *other;
    int places[CO_MEMORY_WATCH_PLACES];
    for (int i = 0; i < CO_MEMORY_WATCH_PLACES; i++) {
        places[i] = add(memory + (size_t)i * PAGE, PAGE);
    }
    assert_int_equal(co_memory_watch_add(watch, memory, PAGE), -ENOSPC);
    co_memory_watch_drop(watch, places[7]);
    assert_int_equal(co_memory_watch_add(watch, memory, PAGE), places[7]);
    assert_int_equal(co_memory_watch_open(&other), -EBUSY);
}

// The child of a fork has the watch's descriptors, too, and none of its thread.
static void who_has_forked_does_not_wait_for_the_child(void **state)
{
    (void)state;
    int place = add(memory, 8 * PAGE), ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1); // until its parent closes it
    }
    assert_true(child > 0);
    void *moved = mremap(memory, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, memory + 32 * PAGE);
    assert_ptr_equal(moved, memory + 32 * PAGE);
    co_memory_watch_drop(watch, place); // what was moved is left alone
    co_memory_watch_close(watch);
    watch = NULL;
    assert_int_equal(munmap(moved, 8 * PAGE), 0); // of which nobody would hear
    int status;
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    renew();
}

static bool has_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    bool has = maps == NULL || fgetc(maps) != EOF;
    if (maps != NULL) {
        fclose(maps);
    }
    return has;
}

static void *add_alone(void *first)
{
    if (pthread_join(*(pthread_t *)first, NULL) != 0 || co_memory_watch_open(&watch) != 0) {
        _exit(2);
    }
    while (has_maps()) { // a moment behind the join
        sched_yield();
    }
    _exit(co_memory_watch_add(watch, memory, BYTES) < 0);
}

// Of its memory the kernel says nothing under the name of the process.
static void a_first_thread_may_have_ended(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); // which starts no threads in a child of fork
#endif
    if (watch == NULL) {
        skip();
    }
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        static pthread_t first;
        pthread_t other;
        first = pthread_self();
        if (pthread_create(&other, NULL, add_alone, &first) != 0) {
            _exit(3);
        }
        pthread_exit(NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define WITH_WATCH(test) cmocka_unit_test_setup_teardown(test, open_watch, close_watch)

// The program closes what is not its own, and opens files that get the numbers: nothing is known of the memory from
// then on, nobody who unmaps some is kept, and the files are left alone.
static void the_programs_files_are_left_alone(void **state)
{
    (void)state;
    enum { MOST = 64 };
    int place = add(memory, BYTES), ends[2], taken[MOST], count = 0;
    struct stat of_pipe, now;
    char byte;
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(fstat(ends[0], &of_pipe), 0);
    for (int fd = 3; fd < MOST; fd++) {
        char path[40], name[40] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, name, sizeof name - 1) > 0 && strncmp(name, "anon_inode:", 11) == 0) {
            assert_int_equal(dup2(ends[0], fd), fd);
            taken[count++] = fd;
        }
    }
    assert_true(count >= 2);
    assert_false(co_memory_watch_is_same(watch, place));
    munmap(memory, BYTES);
    memory = mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_true(memory != MAP_FAILED);
    co_memory_watch_drop(watch, place);
    assert_true(co_memory_watch_add(watch, memory, BYTES) < 0);
    co_memory_watch_close(watch);
    watch = NULL;
    for (int i = 0; i < count; i++) {
        assert_int_equal(fstat(taken[i], &now), 0);
        assert_true(now.st_ino == of_pipe.st_ino);
        close(taken[i]);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WATCH(what_is_unmapped_has_changed),
        WITH_WATCH(what_is_mapped_over_has_changed),
        WITH_WATCH(what_is_given_back_has_changed),
        WITH_WATCH(what_is_moved_has_changed),
        WITH_WATCH(what_the_allocator_gives_back_has_changed),
        WITH_WATCH(what_is_used_is_the_same),
        WITH_WATCH(a_fork_changes_all),
        WITH_WATCH(a_first_thread_may_have_ended),
        WITH_WATCH(who_has_forked_does_not_wait_for_the_child),
        WITH_WATCH(overlapping_places_do_without_each_other),
        WITH_WATCH(other_memory_is_refused),
        WITH_WATCH(places_are_bounded_and_used_again),
        WITH_WATCH(the_programs_files_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
