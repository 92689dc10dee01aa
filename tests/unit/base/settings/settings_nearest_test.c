// SPDX-License-Identifier: BSD-3-Clause
//
// Edit distance and "did you mean": slips of the keys are found, unrelated words are not offered.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "base/settings/settings_nearest.h"

static void distances(void **state)
{
    char long_word[200];

    (void)state;
    assert_int_equal(co_word_distance("", ""), 0);
    assert_int_equal(co_word_distance("", "abc"), 3);
    assert_int_equal(co_word_distance("abc", ""), 3);
    assert_int_equal(co_word_distance("kitten", "sitting"), 3);
    assert_int_equal(co_word_distance("ABC", "abc"), 0);
    assert_int_equal(co_word_distance("abcd", "abdc"), 1); // a swap
    assert_int_equal(co_word_distance("abcd", "acd"), 1);
    assert_int_equal(co_word_distance("abcd", "abxcd"), 1);
    assert_int_equal(co_word_distance("ca", "abc"), 3); // a swapped pair is not edited again
    memset(long_word, 'x', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_int_equal(co_word_distance(long_word, "x"), CO_WORD_MAX);
    assert_int_equal(co_word_distance("x", long_word), CO_WORD_MAX);
    long_word[CO_WORD_MAX - 1] = '\0';
    assert_int_equal(co_word_distance(long_word, "x"), CO_WORD_MAX - 2);
}

static void words_of_a_list(void **state)
{
    (void)state;
    assert_int_equal(co_word_nearest("bench", "mpirun|run|ab|bench|info"), 3);
    assert_int_equal(co_word_nearest("benhc", "mpirun|run|ab|bench|info"), 3);
    assert_int_equal(co_word_nearest("INFOO", "mpirun|run|ab|bench|info"), 4);
    assert_int_equal(co_word_nearest("mpi", "mpirun|run|ab|bench|info"), 0);
    assert_int_equal(co_word_nearest("t", "true|threads"), -1); // begins both
    assert_int_equal(co_word_nearest("", "a|b"), -1);
    assert_int_equal(co_word_nearest("x", "y|n"), -1); // nothing of it would be left
    assert_int_equal(co_word_nearest("anything", ""), -1);
    assert_int_equal(co_word_nearest("elephant", "mpirun|run|ab|bench|info"), -1);
}

static void names_of_settings(void **state)
{
    (void)state;
    assert_string_equal(co_settings_nearest("CASTOFF_LOGG"), "CASTOFF_LOG");
    assert_string_equal(co_settings_nearest("CASTOFF_LOG_SUBSYSTEM"), "CASTOFF_LOG_SUBSYS");
    assert_string_equal(co_settings_nearest("CASTOFF_IALLGATHR"), "CASTOFF_IALLGATHER");
    assert_string_equal(co_settings_nearest("CASTOFF_MCAST_STAGGING"), "CASTOFF_MCAST_STAGING");
    assert_string_equal(co_settings_nearest("CASTOFF_bcast"), "CASTOFF_BCAST");
    assert_null(co_settings_nearest("CASTOFF_ELEPHANTS"));
    assert_null(co_settings_nearest("CASTOFF_"));
    assert_null(co_settings_nearest("CASTOFF_QQ"));
    assert_null(co_settings_nearest("ELSEWHERE"));
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        assert_string_equal(co_settings_nearest(co_setting_row(i)->name), co_setting_row(i)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances),
        cmocka_unit_test(words_of_a_list),
        cmocka_unit_test(names_of_settings),
    };

    return cmocka_run_group_tests_name("settings_nearest", tests, NULL, NULL);
}
