// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors are counted as they are, with and without a limit that is near.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/descriptors.h"

static void set_limit(rlim_t limit)
{
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    now.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
}

static void what_is_left_can_be_opened(void **state)
{
    (void)state;
    enum { LIMIT = 40 };
    int opened[LIMIT], count = 0;
    set_limit(LIMIT);
    assert_int_equal(co_descriptors_limit(), LIMIT);
    int left = co_descriptors_left(LIMIT);
    assert_true(left > 0 && left <= LIMIT - 3);
    while (count < LIMIT && (opened[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
        assert_int_equal(co_descriptors_left(LIMIT), left - count);
    }
    assert_int_equal(count, left);
    close(opened[0]); // a hole below
    assert_int_equal(co_descriptors_left(LIMIT), 1);
    for (int i = 1; i < count; i++) {
        close(opened[i]);
    }
}

static void no_more_are_counted_than_wanted(void **state)
{
    (void)state;
    assert_int_equal(co_descriptors_left(0), 0);
    assert_int_equal(co_descriptors_left(7), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_can_be_opened),
        cmocka_unit_test(no_more_are_counted_than_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
