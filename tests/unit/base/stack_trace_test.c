// SPDX-License-Identifier: BSD-3-Clause
//
// Stacks: named frames in order, text that is cut at a line, the call site outside the own file, and what is said
// without the module. The module lies two folders above the test program.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/stack_trace.h"

static char build[4096];
static char text[8192];

static int find_build(void **state)
{
    ssize_t length = readlink("/proc/self/exe", build, sizeof build - 1);

    (void)state;
    if (length <= 0) {
        return -1;
    }
    build[length] = '\0';
    for (int i = 0; i < 3; i++) {
        *strrchr(build, '/') = '\0';
    }
    return 0;
}

static int use_build(void **state)
{
    (void)state;
    co_stack_trace_directory_set(build);
    return 0;
}

// Not inlined and not a tail call, so that both have a frame.
static __attribute__((noinline)) size_t inner_function(size_t size)
{
    size_t length = co_stack_trace_print(text, size);

    __asm__ volatile("" ::: "memory");
    return length;
}

static __attribute__((noinline)) size_t outer_function(size_t size)
{
    size_t length = inner_function(size);

    __asm__ volatile("" ::: "memory");
    return length;
}

static void frames_are_named_in_order(void **state)
{
    (void)state;
    size_t length = outer_function(sizeof text);
    assert_int_equal(length, strlen(text));
    const char *inner = strstr(text, "  #0 inner_function+0x");
    const char *outer = strstr(text, "\n  #1 outer_function+0x");
    const char *caller = strstr(text, "\n  #2 frames_are_named_in_order+0x");
    assert_ptr_equal(inner, text);
    assert_non_null(outer);
    assert_non_null(caller);
    assert_true(inner < outer && outer < caller);
    assert_non_null(strstr(text, "(stack_trace_test)\n"));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void a_text_that_does_not_fit_ends_at_a_line(void **state)
{
    (void)state;
    size_t whole = outer_function(sizeof text);
    size_t first_line = strcspn(text, "\n") + 1;
    assert_int_equal(outer_function(first_line + 1), first_line);
    assert_int_equal(strlen(text), first_line);
    assert_int_equal(outer_function(first_line), 0);
    assert_string_equal(text, "");
    assert_int_equal(outer_function(first_line + 20), first_line);
    assert_true(whole > first_line + 20);
}

static uintptr_t site;

static int ask_for_site(const void *one, const void *other)
{
    (void)one;
    (void)other;
    site = co_stack_trace_call_site();
    return 0;
}

// Here the own file is the test program; the C library calls into it.
static void the_call_site_is_outside_the_own_file(void **state)
{
    int items[2] = {7, 8};

    (void)state;
    qsort(items, 2, sizeof items[0], ask_for_site);
    assert_true(site != 0);
    assert_in_range(co_stack_trace_address_print(site, text, sizeof text), 1, sizeof text - 1);
    assert_non_null(strstr(text, "libc.so"));
    assert_null(strstr(text, "stack_trace_test"));
}

static void addresses_are_put_in_words(void **state)
{
    (void)state;
    assert_int_equal(co_stack_trace_address_print(0, text, sizeof text), 7);
    assert_string_equal(text, "unknown");
    co_stack_trace_address_print((uintptr_t)outer_function + 4, text, sizeof text);
    assert_string_equal(text, "outer_function+0x4 (stack_trace_test)");
    co_stack_trace_address_print(16, text, sizeof text);
    assert_string_equal(text, "0x10");
    assert_int_equal(co_stack_trace_address_print((uintptr_t)outer_function + 4, text, 6), 5);
    assert_string_equal(text, "outer");
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    FILE *source = fopen(from, "r"), *copy = fopen(to, "w");
    assert_non_null(source);
    assert_non_null(copy);
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, source)) > 0;) {
        assert_int_equal(fwrite(bytes, 1, count, copy), count);
    }
    fclose(source);
    assert_int_equal(fclose(copy), 0);
}

// A library may have any name; it is neither the terminal's business nor another line.
static void a_name_cannot_forge_a_line(void **state)
{
    char folder[] = "/tmp/castoff-stack-XXXXXX", module[sizeof build + 32], path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(module, sizeof module, "%s/libcastoff-stack.so", build);
    snprintf(path, sizeof path, "%s/odd\x1b[2J\n  #9 \x9b.so", folder);
    copy_file(module, path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    co_stack_trace_address_print((uintptr_t)dlsym(library, "co_stack_module") + 1, text, sizeof text);
    dlclose(library);
    unlink(path);
    rmdir(folder);
    assert_non_null(strstr(text, "odd\\x1b[2J\\x0a  #9 \\x9b.so"));
}

static void without_the_module_it_says_why(void **state)
{
    (void)state;
    co_stack_trace_directory_set("/nonexistent");
    outer_function(sizeof text);
    assert_int_equal(strncmp(text, "no stack: /nonexistent/libcastoff-stack.so", 42), 0);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_int_equal(co_stack_trace_call_site(), 0);
    co_stack_trace_address_print((uintptr_t)outer_function + 4, text, sizeof text);
    assert_int_equal(strncmp(text, "stack_trace_test+0x", 19), 0);
    assert_int_equal(outer_function(8), 7);
    assert_string_equal(text, "no stac");
    // The default is the folder of the own file, where a unit test has no module.
    co_stack_trace_directory_set(NULL);
    outer_function(sizeof text);
    assert_non_null(strstr(text, "/tests/unit/libcastoff-stack.so"));
}

static void *print_own_stack(void *argument)
{
    char own[4096];

    co_stack_trace_print(own, sizeof own);
    *(int *)argument = strstr(own, "print_own_stack+0x") != NULL;
    return NULL;
}

static void several_threads_may_begin(void **state)
{
    pthread_t threads[4];
    int good[4] = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, print_own_stack, &good[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(good[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(frames_are_named_in_order, use_build),
        cmocka_unit_test_setup(a_text_that_does_not_fit_ends_at_a_line, use_build),
        cmocka_unit_test_setup(the_call_site_is_outside_the_own_file, use_build),
        cmocka_unit_test_setup(addresses_are_put_in_words, use_build),
        cmocka_unit_test_setup(a_name_cannot_forge_a_line, use_build),
        cmocka_unit_test_setup(several_threads_may_begin, use_build),
        cmocka_unit_test_setup(without_the_module_it_says_why, use_build),
    };

    return cmocka_run_group_tests_name("stack_trace", tests, find_build, NULL);
}
