// SPDX-License-Identifier: BSD-3-Clause
//
// The libraries that a program needs, as its file says.
#include "tools/launch/needed.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void what_a_program_needs_is_read(void **state)
{
    static const char *const here[] = {"libnothing.so.1", "libc.so.6", NULL}, *const part[] = {"libc.so", NULL};
    (void)state;
    assert_true(co_needed_has("/proc/self/exe", here));
    assert_false(co_needed_has("/proc/self/exe", part));
    assert_false(co_needed_has("/proc/self/exe", here + 2));
}

// Cut anywhere, a program is read without a step beyond its end, and tells at most what it told as a whole.
static void a_program_that_is_cut_short_is_read(void **state)
{
    static const char *const here[] = {"libc.so.6", NULL};
    static char bytes[4096];
    char path[] = "/tmp/castoff-needed.XXXXXX";
    int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
    (void)state;
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(read(from, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(write(to, bytes, sizeof bytes), sizeof bytes);
    for (off_t length = sizeof bytes; length > 0; length -= 7) {
        assert_int_equal(ftruncate(to, length), 0);
        co_needed_has(path, here);
    }
    assert_int_equal(ftruncate(to, 100), 0);
    assert_false(co_needed_has(path, here));
    close(from);
    close(to);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_program_needs_is_read),
                                       cmocka_unit_test(a_program_that_is_cut_short_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
