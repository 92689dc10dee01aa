// SPDX-License-Identifier: BSD-3-Clause
//
// What readers see of the settings: numbers in the spelling that the parser takes, the manual rows, and env.example,
// which must be what the table says. Run in the top folder, or with CASTOFF_TEST_TOP naming it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "base/settings/settings_print.h"

static char *printed(void (*print)(FILE *))
{
    static char text[65536];
    FILE *stream = fmemopen(text, sizeof text, "w");

    assert_non_null(stream);
    print(stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void numbers_read_back(void **state)
{
    static const int64_t numbers[] = {
        1, 1000, 1023, 1024, 1500, 65536, 1 << 20, 1000000, INT64_C(3) << 30, INT64_C(60000000000)};
    static const enum co_setting_type types[] = {CO_SETTING_INT, CO_SETTING_SIZE, CO_SETTING_TIME};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (size_t j = 0; j < sizeof numbers / sizeof numbers[0]; j++) {
            struct co_setting_row row = {.type = types[i], .value = ""};
            char text[CO_SETTING_NUMBER_MAX];
            int64_t number = 0;
            co_setting_number_print(text, types[i], numbers[j]);
            assert_int_equal(co_setting_parse(&row, text, &number), 0);
            assert_true(number == numbers[j]);
        }
    }
}

static void numbers_are_short(void **state)
{
    char text[CO_SETTING_NUMBER_MAX];

    (void)state;
    co_setting_number_print(text, CO_SETTING_SIZE, 65536);
    assert_string_equal(text, "64K");
    co_setting_number_print(text, CO_SETTING_TIME, 200000);
    assert_string_equal(text, "200us");
    co_setting_number_print(text, CO_SETTING_TIME, 0);
    assert_string_equal(text, "0");
    co_setting_number_print(text, CO_SETTING_BOOL, 1);
    assert_string_equal(text, "yes");
}

static void ranges_are_in_words(void **state)
{
    char range[128];

    (void)state;
    co_setting_range_print(range, CO_SET_BCAST);
    assert_string_equal(range, "auto, yes or no");
    co_setting_range_print(range, CO_SET_SHM_TEAM);
    assert_string_equal(range, "16K to 16M");
    co_setting_range_print(range, CO_SET_PROBE);
    assert_string_equal(range, "1ms to 60s");
    co_setting_range_print(range, CO_SET_ENABLE);
    assert_string_equal(range, "yes or no");
    co_setting_range_print(range, CO_SET_REPORT);
    assert_string_equal(range, "a path");
}

static void env_example_is_up_to_date(void **state)
{
    const char *top = co_environment("CASTOFF_TEST_TOP");
    char path[1024];
    static char stored[65536];
    const char *wanted = printed(co_settings_print_template);

    (void)state;
    snprintf(path, sizeof path, "%s/env.example", top ? top : ".");
    FILE *stream = fopen(path, "r");
    if (!stream) {
        fail_msg("%s is missing: run make env.example", path);
    }
    stored[fread(stored, 1, sizeof stored - 1, stream)] = '\0';
    fclose(stream);
    if (strcmp(stored, wanted) != 0) {
        fail_msg("%s is not what the settings table says: run make env.example", path);
    }
}

static void the_template_changes_nothing(void **state)
{
    char *text = printed(co_settings_print_template);
    int rows = 0;

    (void)state;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_int_equal(line[0], '#');                     // read by a shell as it is, it sets nothing
        rows += strncmp(line, "#export CASTOFF_", 16) == 0; // without the # it must reach mpirun
    }
    assert_int_equal(rows, CO_SETTING_COUNT);
}

static void print_all(FILE *stream)
{
    co_settings_print_values(stream, true);
}

static void print_users(FILE *stream)
{
    co_settings_print_values(stream, false);
}

// Some 18 that people need; of the others those that somebody has set.
static void experts_have_the_rest(void **state)
{
    char *text;
    int users = 0;

    (void)state;
    for (int id = 0; id < CO_SETTING_COUNT; id++) {
        users += co_setting_row((enum co_setting_id)id)->tier == CO_SETTING_USER;
    }
    assert_in_range(users, 15, 20);
    setenv("CASTOFF_UDP_MTU", "9216", 1);
    co_settings_forget();
    co_settings_load();
    text = printed(print_users);
    assert_non_null(strstr(text, "\n  CASTOFF_BCAST "));
    assert_non_null(strstr(text, "\n* CASTOFF_UDP_MTU "));
    assert_null(strstr(text, "CASTOFF_UDP_TTL"));
    unsetenv("CASTOFF_UDP_MTU");
    co_settings_forget();
}

static void values_mark_what_was_set(void **state)
{
    char *text;

    (void)state;
    setenv("CASTOFF_UDP_MTU", "9216", 1);
    co_settings_forget();
    co_settings_load();
    text = printed(print_all);
    const char *line = strstr(text, "\n* CASTOFF_UDP_MTU ");
    assert_non_null(line);
    assert_int_equal(strncmp(line + 1 + strcspn(line + 1, "9"), "9K ", 3), 0);
    assert_non_null(strstr(text, "\n  CASTOFF_UDP_TTL "));
    unsetenv("CASTOFF_UDP_MTU");
    co_settings_forget();
}

// The environment is anybody's: nothing of it steers the terminal, or looks like another row.
static void values_cannot_forge_a_row(void **state)
{
    char *text;

    (void)state;
    setenv("CASTOFF_REPORT",
           "r\x1b[2J\n* CASTOFF_BCAST no\x9b"
           "2J\xc2\x9b\x7f",
           1);
    co_settings_forget();
    co_settings_load();
    text = printed(print_all);
    assert_non_null(strstr(text, " r\\x1b[2J\\x0a* CASTOFF_BCAST no\\x9b2J\\xc2\\x9b\\x7f  "));
    assert_null(strpbrk(text, "\x1b\x7f\x9b"));
    unsetenv("CASTOFF_REPORT");
    co_settings_forget();
}

static void manual_rows_are_escaped(void **state)
{
    char *text = printed(co_settings_print_man);

    (void)state;
    assert_non_null(strstr(text, ".TP\n.B CASTOFF_BCAST\n"));
    assert_non_null(strstr(text, "Allowed: auto, yes or no; default: auto; the same on all ranks.\n"));
    for (const char *hyphen = strchr(text, '-'); hyphen; hyphen = strchr(hyphen + 1, '-')) {
        assert_int_equal(hyphen[-1], '\\');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(ranges_are_in_words),
        cmocka_unit_test(env_example_is_up_to_date),
        cmocka_unit_test(the_template_changes_nothing),
        cmocka_unit_test(experts_have_the_rest),
        cmocka_unit_test(values_mark_what_was_set),
        cmocka_unit_test(values_cannot_forge_a_row),
        cmocka_unit_test(manual_rows_are_escaped),
    };

    return cmocka_run_group_tests_name("settings_print", tests, NULL, NULL);
}
