// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that this process alone reaches is told from what others reach and from what is not there; and spans of
// ranges.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "pmpi/datatype/memory_reach.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

enum { BYTES = 1 << 16 };

static char *map(int protection, int flags, int file)
{
    char *memory = mmap(NULL, BYTES, protection, flags, file, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void what_others_reach(void **state)
{
    (void)state;
    char *memory = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    const char *of_program = "to be read alone";
    assert_false(co_unreached_is(memory, BYTES)); // never touched before
    assert_false(co_unreached_is(memory + 7, 1));
    assert_false(co_unreached_is(of_program, 5));
    munmap(memory, BYTES);
}

static void what_is_not_there(void **state)
{
    (void)state;
    char *memory = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    assert_false(co_unreached_is(memory, BYTES));
    munmap(memory, BYTES);
    assert_false(co_unreached_is(memory, BYTES));
    assert_false(co_unreached_is(NULL, 1));
    assert_false(co_unreached_is(NULL, 0));
}

static void what_it_alone_reaches(void **state)
{
    (void)state;
    int file = (int)syscall(SYS_memfd_secret, 0);
    if (file < 0) {
        skip();
    }
    assert_int_equal(ftruncate(file, BYTES), 0);
    char *memory = map(PROT_READ | PROT_WRITE, MAP_SHARED, file);
    assert_true(co_unreached_is(memory, BYTES));
    assert_true(co_unreached_is(memory + BYTES - 1, 1));
    assert_false(co_unreached_is(memory, 0));
    // The last byte alone, and what ends where nothing is.
    char *plain = mmap(memory, BYTES / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(plain, memory);
    assert_true(co_unreached_is(memory, BYTES));
    assert_false(co_unreached_is(memory, BYTES / 2));
    munmap(memory, BYTES / 2);
    assert_false(co_unreached_is(memory, BYTES));
    munmap(memory, BYTES);
    close(file);
}

static void spans(void **state)
{
    (void)state;
    static const char memory[100];
    struct co_span span = CO_SPAN_NONE;
    co_span_add(&span, memory + 90, 0);
    assert_int_equal(span.bytes, 0);
    co_span_add(&span, memory + 40, 10);
    assert_true(span.from == memory + 40 && span.bytes == 10);
    co_span_add(&span, memory + 10, 5);
    assert_true(span.from == memory + 10 && span.bytes == 40);
    co_span_add(&span, memory + 20, 5);
    assert_true(span.from == memory + 10 && span.bytes == 40);
    co_span_add(&span, memory + 60, 1);
    assert_true(span.from == memory + 10 && span.bytes == 51);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_reach),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(what_it_alone_reaches),
        cmocka_unit_test(spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
