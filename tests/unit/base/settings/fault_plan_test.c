// SPDX-License-Identifier: BSD-3-Clause
//
// The text form of fault plans: every word, its bounds, what is refused and by which word, and the way back to text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/fault_plan.h"

static struct co_fault_plan parsed(const char *text)
{
    struct co_fault_plan plan;
    char why[128] = "";

    assert_int_equal(co_fault_plan_parse(&plan, text, why, sizeof why), 0);
    assert_string_equal(why, "");
    return plan;
}

static void refused(const char *text, const char *word)
{
    struct co_fault_plan plan, before;
    char why[128] = "";

    memset(&plan, 0x5a, sizeof plan);
    before = plan;
    assert_int_equal(co_fault_plan_parse(&plan, text, why, sizeof why), -22);
    assert_string_equal(why, word);
    assert_memory_equal(&plan, &before, sizeof plan);
}

static void empty_text_is_no_fault(void **state)
{
    (void)state;
    struct co_fault_plan plan = parsed("");

    assert_true(plan.drop == 0 && plan.duplicate == 0 && plan.reorder == 0 && plan.delay == 0);
    assert_true(plan.corrupt == 0 && plan.truncate == 0);
    assert_false(plan.blackhole);
    assert_int_equal(plan.kinds, CO_FAULT_ALL);
    assert_int_equal(plan.victim, -1);
    assert_int_equal(plan.script_count, 0);
}

static void every_word_is_understood(void **state)
{
    (void)state;
    struct co_fault_plan plan = parsed(
        "drop=0.01,miss=.25,dup=1,reorder=.5,delay=0.25:2ms,corrupt=0.001,truncate=1.0,seed=18446744073709551615,"
        "kind=data+control,blackhole=1,blackhole_after=100,rank=2,script=3:17:18,"
        "first=4294967293");
    assert_int_equal(plan.first_number, UINT64_C(4294967293));

    assert_true(plan.drop == 0.01 && plan.duplicate == 1 && plan.reorder == 0.5 && plan.delay == 0.25);
    assert_true(plan.corrupt == 0.001 && plan.truncate == 1 && plan.miss == 0.25);
    assert_int_equal(plan.delay_ns, 2000000);
    assert_true(plan.seed == UINT64_MAX);
    assert_int_equal(plan.kinds, CO_FAULT_DATA | CO_FAULT_CONTROL);
    assert_true(plan.blackhole);
    assert_int_equal(plan.blackhole_after, 100);
    assert_int_equal(plan.victim, 2);
    assert_int_equal(plan.script_count, 3);
    assert_int_equal(plan.script[0], 3);
    assert_int_equal(plan.script[2], 18);
}

static void blackhole_after_is_enough(void **state)
{
    (void)state;
    struct co_fault_plan plan = parsed("blackhole_after=7");

    assert_true(plan.blackhole);
    assert_int_equal(plan.blackhole_after, 7);
    assert_false(parsed("blackhole=0").blackhole);
}

static void wrong_words_are_named(void **state)
{
    (void)state;
    static const char *const words[] = {
        "drop",
        "drop=",
        "drop=1.1",
        "drop=-0.1",
        "drop=2",
        "drop=0.1x",
        "drop=nan",
        "drop=1e-3",
        "drop=.",
        "dorp=0.1",
        "delay=0.1:",
        "delay=0.1:2",
        "delay=0.1:0",
        "delay=0.1:2min",
        "delay=0.1:-2ms",
        "delay=0.1:61s",
        "kind=",
        "kind=dta",
        "kind=data+x",
        "seed=",
        "seed=-1",
        "seed=0x10",
        "blackhole=2",
        "blackhole=yes",
        "rank=-1",
        "rank=x",
        "script=",
        "script=1:x",
        "script=1:-2",
        "rank=2147483648",
        "=1",
        "blackhole_x=1",
        "reorder=1.01",
        "truncate=three",
        "seed=99999999999999999999",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "dup=0.5,%s,reorder=0.5", words[i]);
        refused(text, words[i]);
    }
}

static void scripts_are_bounded(void **state)
{
    (void)state;
    char text[1024] = "script=0", why[16];
    struct co_fault_plan plan;
    size_t length = strlen(text);

    for (int i = 1; i < CO_FAULT_SCRIPT_MAX; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, ":%d", i);
    }
    assert_int_equal(co_fault_plan_parse(&plan, text, why, sizeof why), 0);
    assert_int_equal(plan.script_count, CO_FAULT_SCRIPT_MAX);
    snprintf(text + length, sizeof text - length, ":64");
    assert_int_equal(co_fault_plan_parse(&plan, text, why, sizeof why), -22);
    assert_int_equal(strlen(why), sizeof why - 1); // cut, not overrun
}

static void numbers_are_exact_to_their_ends(void **state)
{
    (void)state;
    struct co_fault_plan plan = parsed("corrupt=0.000000001,delay=1:1ns,script=0:5:18446744073709551615,seed=0,rank=0");
    assert_true(plan.corrupt == 1e-9 && plan.delay == 1);
    assert_int_equal(plan.delay_ns, 1);
    assert_true(plan.script[0] == 0 && plan.script[1] == 5 && plan.script[2] == UINT64_MAX);
    assert_true(plan.seed == 0);
    assert_int_equal(plan.victim, 0);
    plan = parsed("reorder=0.1,delay=0:5000ns,kind=repair");
    assert_true(plan.reorder == 0.1 && plan.delay == 0);
    assert_int_equal(plan.delay_ns, 5000);
    assert_int_equal(plan.kinds, CO_FAULT_REPAIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_text_is_no_fault),    cmocka_unit_test(every_word_is_understood),
        cmocka_unit_test(blackhole_after_is_enough), cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(scripts_are_bounded),       cmocka_unit_test(numbers_are_exact_to_their_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
