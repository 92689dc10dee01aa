// SPDX-License-Identifier: BSD-3-Clause
//
// Settings: every default parses, the grammar of each type, what is said about wrong ones, and the hash that ranks
// compare. Each test sets its own environment and forgets it afterwards.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"

static int clean(void **state)
{
    (void)state;
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        unsetenv(co_setting_row(i)->name);
    }
    unsetenv("CASTOFF_BCST");
    co_settings_forget();
    return 0;
}

static void load(const char *name, const char *value)
{
    setenv(name, value, 1);
    co_settings_forget();
    co_settings_load();
}

static void defaults_parse_and_rows_are_sound(void **state)
{
    (void)state;
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        const struct co_setting_row *row = co_setting_row(i);
        int64_t number = -7;
        assert_int_equal(co_setting_parse(row, row->value, &number), 0);
        assert_int_equal(strncmp(row->name, "CASTOFF_", 8), 0);
        assert_true(strlen(row->help) > 10 && strlen(row->help) < 140);
        assert_true((row->type == CO_SETTING_CHOICE || row->type == CO_SETTING_LIST) == (row->choices != NULL));
        assert_true(row->min <= row->max);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(row->name, co_setting_row(j)->name);
        }
    }
}

static void unset_and_empty_mean_the_default(void **state)
{
    (void)state;
    load("CASTOFF_UDP_MTU", "");
    assert_int_equal(co_setting_number(CO_SET_UDP_MTU), 1500);
    assert_int_equal(co_setting_number(CO_SET_BCAST), CO_AUTO);
    assert_int_equal(co_setting_number(CO_SET_PROBE), 500000000);
    assert_string_equal(co_setting_text(CO_SET_UDP_GROUP), "239.192.0.0/16");
    assert_string_equal(co_setting_text(CO_SET_REPORT), "");
    assert_true(co_setting_is_default(CO_SET_UDP_MTU));
    assert_null(co_settings_complaint(0));
}

static void no_and_0_are_no_path(void **state)
{
    (void)state;
    static const char *const words[] = {"0", "no", "off", "False"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        load("CASTOFF_REPORT", words[i]);
        assert_string_equal(co_setting_text(CO_SET_REPORT), "");
        assert_true(co_setting_is_default(CO_SET_REPORT));
        load("CASTOFF_PROXY_CORES", "0"); // a core
        assert_string_equal(co_setting_text(CO_SET_PROXY_CORES), "0");
        assert_null(co_settings_complaint(0));
    }
    load("CASTOFF_REPORT", "no.json");
    assert_string_equal(co_setting_text(CO_SET_REPORT), "no.json");
}

static void values_are_taken_once(void **state)
{
    (void)state;
    load("CASTOFF_BCAST", "no");
    setenv("CASTOFF_BCAST", "yes", 1);
    co_settings_load();
    assert_int_equal(co_setting_number(CO_SET_BCAST), CO_NO);
    assert_string_equal(co_setting_text(CO_SET_BCAST), "no");
    assert_false(co_setting_is_default(CO_SET_BCAST));
}

static void the_default_in_other_words_is_the_default(void **state)
{
    (void)state;
    load("CASTOFF_SHM_TEAM", "65536");
    assert_true(co_setting_is_default(CO_SET_SHM_TEAM));
    assert_string_equal(co_setting_text(CO_SET_SHM_TEAM), "65536");
}

static const struct co_setting_row of_bool = {.type = CO_SETTING_BOOL, .value = "no"};
static const struct co_setting_row of_int = {.type = CO_SETTING_INT, .value = "3", .min = -5, .max = 10};
static const struct co_setting_row of_size = {.type = CO_SETTING_SIZE, .value = "auto"};
static const struct co_setting_row of_time = {.type = CO_SETTING_TIME, .value = "1s", .min = 0, .max = 5000000000};
static const struct co_setting_row of_choice = {.type = CO_SETTING_CHOICE, .value = "a", .choices = "a|bc|d"};
static const struct co_setting_row of_list = {.type = CO_SETTING_LIST, .value = "a", .choices = "a|bc|d"};
static const struct co_setting_row of_groups = {.type = CO_SETTING_GROUPS, .value = "239.0.0.0/8"};
static const struct co_setting_row of_faults = {.type = CO_SETTING_FAULT, .value = ""};
static const struct co_setting_row of_text = {.type = CO_SETTING_TEXT, .value = ""};

static const struct {
    const struct co_setting_row *row;
    const char *text;
    int result;
    int64_t number;
} grammar[] = {
    {&of_faults, "", 0, 0},
    {&of_faults, "drop=0.01,seed=7", 0, 0},
    {&of_faults, "drop=2", -EINVAL, 0},
    {&of_faults, "rain", -EINVAL, 0},
    {&of_bool, "yes", 0, 1},
    {&of_bool, "ON", 0, 1},
    {&of_bool, "true", 0, 1},
    {&of_bool, "1", 0, 1},
    {&of_bool, "no", 0, 0},
    {&of_bool, "off", 0, 0},
    {&of_bool, "False", 0, 0},
    {&of_bool, "0", 0, 0},
    {&of_bool, "2", -EINVAL, 0},
    {&of_bool, "", -EINVAL, 0},
    {&of_bool, "yes ", -EINVAL, 0},
    {&of_int, "10", 0, 10},
    {&of_int, "-5", 0, -5},
    {&of_int, "007", 0, 7},
    {&of_int, "11", -ERANGE, 0},
    {&of_int, "-6", -ERANGE, 0},
    {&of_int, "99999999999999999999", -ERANGE, 0},
    {&of_int, "0x10", -EINVAL, 0},
    {&of_int, "1e3", -EINVAL, 0},
    {&of_int, "+1", -EINVAL, 0},
    {&of_int, " 1", -EINVAL, 0},
    {&of_int, "1K", -EINVAL, 0},
    {&of_int, "-", -EINVAL, 0},
    {&of_int, "auto", -EINVAL, 0},
    {&of_int, "", -EINVAL, 0},
    {&of_size, "auto", 0, -1},
    {&of_size, "0", 0, 0},
    {&of_size, "5", 0, 5},
    {&of_size, "5K", 0, 5 << 10},
    {&of_size, "5m", 0, 5 << 20},
    {&of_size, "5G", 0, INT64_C(5) << 30},
    {&of_size, "5KB", -EINVAL, 0},
    {&of_size, "1.5M", -EINVAL, 0},
    {&of_size, "-1", -ERANGE, 0},
    {&of_size, "9223372036854775807", 0, INT64_MAX},
    {&of_size, "9223372036854775807K", -ERANGE, 0},
    {&of_time, "0", 0, 0},
    {&of_time, "0s", 0, 0},
    {&of_time, "3ns", 0, 3},
    {&of_time, "3us", 0, 3000},
    {&of_time, "3ms", 0, 3000000},
    {&of_time, "3s", 0, 3000000000},
    {&of_time, "6s", -ERANGE, 0},
    {&of_time, "3", -EINVAL, 0},
    {&of_time, "3m", -EINVAL, 0},
    {&of_time, "auto", -EINVAL, 0},
    {&of_choice, "a", 0, 0},
    {&of_choice, "bc", 0, 1},
    {&of_choice, "D", 0, 2},
    {&of_choice, "b", -EINVAL, 0},
    {&of_choice, "a|bc", -EINVAL, 0},
    {&of_choice, "", -EINVAL, 0},
    {&of_list, "a", 0, 1},
    {&of_list, "BC,d", 0, 6},
    {&of_list, ",d,,d,", 0, 4},
    {&of_list, ",", -EINVAL, 0},
    {&of_list, "a,b", -EINVAL, 0},
    {&of_list, "a bc", -EINVAL, 0},
    {&of_groups, "239.1.0.0/16", 0, 0},
    {&of_groups, "239.1.2.3", 0, 0},
    {&of_groups, "224.0.0.0/4", 0, 0},
    {&of_groups, "224.0.0.0/3", -EINVAL, 0},
    {&of_groups, "239.1.0.0/33", -EINVAL, 0},
    {&of_groups, "239.1.0.0/", -EINVAL, 0},
    {&of_groups, "239.1.0.0/ 8", -EINVAL, 0},
    {&of_groups, "239.1.0.0/-8", -EINVAL, 0},
    {&of_groups, "239.1.0.0/8x", -EINVAL, 0},
    {&of_groups, "239.1.0/16", -EINVAL, 0},
    {&of_groups, "10.0.0.0/8", -EINVAL, 0},
    {&of_groups, "239.111.222.1111111/16", -EINVAL, 0},
    {&of_groups, "group", -EINVAL, 0},
    {&of_groups, "", -EINVAL, 0},
    {&of_text, "anything at all", 0, 0},
};

static void the_grammar_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof grammar / sizeof grammar[0]; i++) {
        int64_t number = 77;
        int result = co_setting_parse(grammar[i].row, grammar[i].text, &number);
        if (result != grammar[i].result || number != (result == 0 ? grammar[i].number : 77)) {
            fail_msg("'%s' gave %d, %lld", grammar[i].text, result, (long long)number);
        }
    }
}

static void wrong_values_keep_the_default_and_are_explained(void **state)
{
    static const struct {
        const char *name, *value, *complaint;
    } cases[] = {
        {"CASTOFF_REPORT", "1", "CASTOFF_REPORT=1: not a path; a file of that name is ./1 (using none)"},
        {"CASTOFF_LOG_FILE", "Yes", "CASTOFF_LOG_FILE=Yes: not a path; a file of that name is ./Yes (using none)"},
        {"CASTOFF_BCAST", "ye", "CASTOFF_BCAST=ye: not one of auto, yes, no; did you mean yes? (using auto)"},
        {"CASTOFF_BCAST", "certainly", "CASTOFF_BCAST=certainly: not one of auto, yes, no (using auto)"},
        {"CASTOFF_PROGRESS", "thraeds",
         "CASTOFF_PROGRESS=thraeds: not one of auto, caller, threads; did you mean threads? (using auto)"},
        {"CASTOFF_PROGRESS", "call",
         "CASTOFF_PROGRESS=call: not one of auto, caller, threads; did you mean caller? (using auto)"},
        {"CASTOFF_ENABLE", "flase", "CASTOFF_ENABLE=flase: neither yes nor no; did you mean false? (using yes)"},
        {"CASTOFF_UDP_TTL", "300", "CASTOFF_UDP_TTL=300: outside 0 to 255 (using 1)"},
        {"CASTOFF_UDP_TTL", "one", "CASTOFF_UDP_TTL=one: not a whole number from 0 to 255 (using 1)"},
        {"CASTOFF_SHM_TEAM", "1", "CASTOFF_SHM_TEAM=1: outside 16K to 16M (using 64K)"},
        {"CASTOFF_SHM_TEAM", "lots", "CASTOFF_SHM_TEAM=lots: not a size such as 64K from 16K to 16M (using 64K)"},
        {"CASTOFF_PROBE", "500",
         "CASTOFF_PROBE=500: not a time such as 200us from 1ms to 60s; did you mean 500ms? (using 500ms)"},
        {"CASTOFF_LOG_SUBSYS", "udp,egnine",
         "CASTOFF_LOG_SUBSYS=udp,egnine: egnine is not one of base, pmpi, engine, mcast, udp, shm, verbs, p2p, all; did you mean "
         "engine? (using all)"},
        {"CASTOFF_LOG_SUBSYS", ",",
         "CASTOFF_LOG_SUBSYS=,: none of base, pmpi, engine, mcast, udp, shm, verbs, p2p, all (using all)"},
        {"CASTOFF_UDP_GROUP", "10.0.0.0/8",
         "CASTOFF_UDP_GROUP=10.0.0.0/8: not a range of multicast addresses such as 239.192.0.0/16 (using "
         "239.192.0.0/16)"},
        {"CASTOFF_FAULT", "drop=0.1,frob=1",
         "CASTOFF_FAULT=drop=0.1,frob=1: 'frob=1' is no fault such as drop=0.01; none is injected"},
        {"CASTOFF_BCAST", "a\033[2J\nb", "CASTOFF_BCAST=a?[2J?b: not one of auto, yes, no (using auto)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clean(state);
        load(cases[i].name, cases[i].value);
        assert_non_null(co_settings_complaint(0));
        assert_string_equal(co_settings_complaint(0), cases[i].complaint);
        assert_null(co_settings_complaint(1));
    }
    assert_int_equal(co_setting_number(CO_SET_BCAST), CO_AUTO);
    assert_true(co_setting_is_default(CO_SET_BCAST));
}

static void a_long_wrong_value_is_cut(void **state)
{
    char value[5000];

    (void)state;
    memset(value, 'z', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    load("CASTOFF_BCAST", value);
    assert_true(strlen(co_settings_complaint(0)) < 200);
    assert_non_null(strstr(co_settings_complaint(0), "zzz...: not one of"));
}

static void unknown_names_get_a_hint(void **state)
{
    (void)state;
    load("CASTOFF_BCST", "yes");
    assert_string_equal(co_settings_complaint(0), "unknown setting CASTOFF_BCST; did you mean CASTOFF_BCAST?");
    assert_null(co_settings_complaint(1));
    load("CASTOFF_BCST", "");
    assert_null(co_settings_complaint(0));
    unsetenv("CASTOFF_BCST");
    load("CASTOFF_QUITE_ELSEWHERE", "1");
    assert_string_equal(co_settings_complaint(0),
                        "unknown setting CASTOFF_QUITE_ELSEWHERE; castoff info lists the known ones");
    unsetenv("CASTOFF_QUITE_ELSEWHERE");
}

static void names_of_laboratory_and_tests_are_nobodys_business(void **state)
{
    (void)state;
    setenv("CASTOFF_LAB_DIR", "/tmp", 1);
    load("CASTOFF_TEST_SEED", "1");
    assert_null(co_settings_complaint(0));
    load("CASTOFF_LABEL", "1");
    assert_non_null(co_settings_complaint(0));
    unsetenv("CASTOFF_LAB_DIR");
    unsetenv("CASTOFF_TEST_SEED");
    unsetenv("CASTOFF_LABEL");
}

static void complaints_have_an_end(void **state)
{
    char name[32];
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "CASTOFF_NONSENSE_%d", i);
        setenv(name, "1", 1);
    }
    load("CASTOFF_BCAST", "maybe");
    // The values come first: they are the ones that matter when there are too many.
    assert_non_null(strstr(co_settings_complaint(0), "CASTOFF_BCAST=maybe"));
    while (co_settings_complaint(count)) {
        count++;
    }
    assert_in_range(count, 5, 50);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "CASTOFF_NONSENSE_%d", i);
        unsetenv(name);
    }
}

static uint64_t hash_with(const char *name, const char *value)
{
    clean(NULL);
    load(name, value);
    return co_settings_hash();
}

static void the_hash_is_that_of_the_values_in_force(void **state)
{
    uint64_t plain = hash_with("CASTOFF_BCAST", "");

    (void)state;
    assert_int_equal(hash_with("CASTOFF_BCAST", "auto"), plain);
    assert_int_equal(hash_with("CASTOFF_BCAST", "nonsense"), plain);
    assert_int_equal(hash_with("CASTOFF_SHM_TEAM", "65536"), plain);
    assert_int_equal(hash_with("CASTOFF_LOG", "debug"), plain);       // need not agree
    assert_int_equal(hash_with("CASTOFF_UDP_INTERFACE", "x"), plain); // neither
    assert_int_not_equal(hash_with("CASTOFF_BCAST", "yes"), plain);
    assert_int_not_equal(hash_with("CASTOFF_BCAST", "yes"), hash_with("CASTOFF_ALLGATHER", "yes"));
    assert_int_not_equal(hash_with("CASTOFF_TUNE", "a"), hash_with("CASTOFF_FAULT", "drop=1"));
    assert_int_not_equal(hash_with("CASTOFF_TUNE", "a"), hash_with("CASTOFF_TUNE", "b"));
}

static void every_agreed_setting_counts_in_the_hash(void **state)
{
    uint64_t plain = hash_with("CASTOFF_BCAST", "");

    (void)state;
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        const struct co_setting_row *row = co_setting_row(i);
        static const char *const tries[] = {"no",      "yes",  "3",     "100K",         "7ms",
                                            "threads", "none", "error", "239.1.0.0/16", "drop=0.5"};
        for (size_t j = 0; j < sizeof tries / sizeof tries[0]; j++) {
            uint64_t hash = hash_with(row->name, tries[j]);
            assert_true((hash != plain) == (row->agreed && !co_setting_is_default(i)));
        }
    }
}

static void the_environment_of_others_is_visible(void **state)
{
    (void)state;
    setenv("NOT_OURS", "value", 1);
    assert_string_equal(co_environment("NOT_OURS"), "value");
    unsetenv("NOT_OURS");
    assert_null(co_environment("NOT_OURS"));
}

static void a_start_may_replace_a_value(void **state)
{
    (void)state;
    load("CASTOFF_P2P", "yes");
    uint64_t asked = co_settings_hash();
    co_setting_replace(CO_SET_P2P, "no");
    assert_int_equal(co_setting_number(CO_SET_P2P), CO_NO);
    assert_string_equal(co_setting_text(CO_SET_P2P), "no");
    assert_false(co_setting_is_default(CO_SET_P2P));
    assert_true(co_settings_hash() != asked);
    assert_string_equal(co_environment("CASTOFF_P2P"), "yes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults_parse_and_rows_are_sound, clean),
        cmocka_unit_test_setup(unset_and_empty_mean_the_default, clean),
        cmocka_unit_test_setup(no_and_0_are_no_path, clean),
        cmocka_unit_test_setup(values_are_taken_once, clean),
        cmocka_unit_test_setup(the_default_in_other_words_is_the_default, clean),
        cmocka_unit_test_setup(the_grammar_holds, clean),
        cmocka_unit_test_setup(wrong_values_keep_the_default_and_are_explained, clean),
        cmocka_unit_test_setup(a_long_wrong_value_is_cut, clean),
        cmocka_unit_test_setup(unknown_names_get_a_hint, clean),
        cmocka_unit_test_setup(names_of_laboratory_and_tests_are_nobodys_business, clean),
        cmocka_unit_test_setup(complaints_have_an_end, clean),
        cmocka_unit_test_setup(the_hash_is_that_of_the_values_in_force, clean),
        cmocka_unit_test_setup(every_agreed_setting_counts_in_the_hash, clean),
        cmocka_unit_test_setup(a_start_may_replace_a_value, clean),
        cmocka_unit_test_setup(the_environment_of_others_is_visible, clean),
    };

    return cmocka_run_group_tests_name("settings", tests, clean, clean);
}
