// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of our own in a process whose threads have little stack, or so much that none can be had, and variables of a
// thread that would fill it.
#define _GNU_SOURCE // pthread_getattr_np, pthread_setattr_default_np
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own_thread.h"

#define PAGE 4096
#define VARIABLES ((size_t)1 << 20)

// More than a stack of ours has, beside which there must be room.
static _Thread_local volatile unsigned char variables[VARIABLES];

struct seen {
    size_t left; // of the stack, below this thread's first frame, which is deep
    sigset_t blocked;
};

static void *look(void *arg)
{
    struct seen *seen = arg;
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0;
    volatile unsigned char deep[128 << 10];
    variables[VARIABLES - 1] = 1;
    memset((void *)deep, 1, sizeof deep); // there, or the test ends by a signal
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &lowest, &bytes);
        pthread_attr_destroy(&attributes);
    }
    seen->left = (size_t)((uintptr_t)&seen - (uintptr_t)lowest);
    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    return NULL;
}

static struct seen start(void)
{
    struct seen seen = {0};
    pthread_t thread;
    assert_int_equal(co_own_thread_start(&thread, look, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return seen;
}

static void set_usual_stack(size_t bytes)
{
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
}

static void stack_is_enough_and_no_more(void **state)
{
    (void)state;
    static const size_t usual[] = {VARIABLES + (64 << 10), (size_t)8 << 20, (size_t)1 << 45};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        set_usual_stack(usual[i]);
        size_t left = start().left;
        assert_in_range(left, 256 << 10, 4 << 20);
    }
    set_usual_stack((size_t)8 << 20);
}

static void signals_are_for_others(void **state)
{
    (void)state;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct seen seen = start();
    assert_int_equal(sigismember(&seen.blocked, SIGUSR1), 1);
    assert_int_equal(sigismember(&seen.blocked, SIGTERM), 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    assert_int_equal(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
}

// Gets an address, and says whether the byte there is within its rights.
static void *use_memory(void *arg)
{
    int *ends = arg;
    unsigned char *memory = NULL;
    bool is_there = read(ends[0], &memory, sizeof memory) == sizeof memory;
    is_there = is_there && write(ends[3], memory, 1) == 1; // the kernel looks with this thread's rights
    if (!is_there) {
        close(ends[3]);
    }
    return NULL;
}

// A key that the program allocates when the thread runs, by which memory is closed to its threads but one.
static void memory_of_a_key_is_within_reach(void **state)
{
    (void)state;
    int ends[4];
    unsigned char byte = 0;
    pthread_t thread;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(ends + 2), 0);
    assert_int_equal(co_own_thread_start(&thread, use_memory, ends), 0);
    unsigned char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memory[0] = 7;
    int key = pkey_alloc(0, 0);
    if (key >= 0) { // else it is ordinary memory
        assert_int_equal(pkey_mprotect(memory, PAGE, PROT_READ | PROT_WRITE, key), 0);
    }
    assert_int_equal(write(ends[1], &memory, sizeof memory), sizeof memory);
    assert_int_equal(read(ends[2], &byte, 1), 1);
    assert_int_equal(byte, 7);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (key >= 0) {
        assert_int_equal(pkey_set(key, PKEY_DISABLE_ACCESS), 0);
        assert_int_equal(co_own_thread_start(&thread, use_memory, ends), 0);
        assert_int_equal(pkey_get(key), PKEY_DISABLE_ACCESS); // what this thread may is as before
        close(ends[1]);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pkey_free(key);
    }
    munmap(memory, PAGE);
    close(ends[0]);
    close(ends[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_is_enough_and_no_more),
        cmocka_unit_test(signals_are_for_others),
        cmocka_unit_test(memory_of_a_key_is_within_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
