// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts of a communicator by size: bounds of classes, which one is due, what a round and a verdict hang on, and
// what verdicts are worth.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/decide/meeting_classes.h"

static struct co_meeting_classes classes;
static uint64_t took_ns; // by each call

static void count(size_t bytes, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++) {
        co_meeting_classes_count(&classes, bytes, took_ns);
    }
}

static void classes_are_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(co_meeting_classes_index(0), -1);
    assert_int_equal(co_meeting_classes_index(1), 0);
    assert_int_equal(co_meeting_classes_index(2), 1);
    assert_int_equal(co_meeting_classes_index(3), 1);
    assert_int_equal(co_meeting_classes_index(1023), 9);
    assert_int_equal(co_meeting_classes_index(1024), 10);
    assert_int_equal(co_meeting_classes_index((8u << 20) - 1), CO_MEETING_CLASSES - 1);
    assert_int_equal(co_meeting_classes_index(8u << 20), -1);
    assert_int_equal(co_meeting_classes_index(SIZE_MAX), -1);
    memset(&classes, 0, sizeof classes);
    count(SIZE_MAX, CO_MEETING_WARM);
    count(0, CO_MEETING_WARM);
    assert_false(co_meeting_classes_decline(&classes, SIZE_MAX) || co_meeting_classes_decline(&classes, 0));
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), -1);
}

static void the_one_with_most_calls_since_its_verdict_is_due(void **state)
{
    (void)state;
    memset(&classes, 0, sizeof classes);
    count(100, CO_MEETING_WARM - 1);
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), -1);
    count(100, 1);
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), co_meeting_classes_index(100));
    assert_int_equal(co_meeting_classes_due(&classes, ~(UINT32_C(1) << co_meeting_classes_index(100))), -1); // not open
    count(5000, CO_MEETING_WARM + 1);
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), co_meeting_classes_index(5000));
    co_meeting_classes_settle(&classes.of[co_meeting_classes_index(5000)], false);
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), co_meeting_classes_index(100));
    co_meeting_classes_settle(&classes.of[co_meeting_classes_index(100)], true);
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), -1);
    count(5000, (CO_MEETING_AGAIN - 1) * (CO_MEETING_WARM + 1)); // verdicts are looked at again
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), co_meeting_classes_index(5000));
}

static void what_has_begun_and_then_the_cheapest_comes_first(void **state)
{
    (void)state;
    memset(&classes, 0, sizeof classes);
    took_ns = 100 * CO_NS_PER_MS;
    count(4000000, 100 * CO_MEETING_WARM);
    struct co_meeting_class *large = &classes.of[co_meeting_classes_index(4000000)];
    assert_int_equal(co_meeting_class_cost_ns(large), CO_MEETING_CALLS * took_ns);
    took_ns = 1000;
    count(8, CO_MEETING_WARM);
    assert_int_equal(co_meeting_class_cost_ns(&classes.of[3]), CO_MEETING_COST_NS);
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), 3);
    large->rounds = 1;
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), co_meeting_classes_index(4000000));
    large->rounds = 0;
    co_meeting_classes_settle(&classes.of[3], false);
    assert_int_equal(co_meeting_classes_due(&classes, UINT32_MAX), co_meeting_classes_index(4000000));
    large->cost_ns = 5; // as it was found to be
    assert_int_equal(co_meeting_class_cost_ns(large), 5);
    took_ns = 0;
}

static void who_has_other_lengths_has_another_digest(void **state)
{
    (void)state;
    memset(&classes, 0, sizeof classes);
    count(100, 20);
    int digest = co_meeting_classes_digest(&classes);
    assert_true(digest >= 0);
    struct co_meeting_classes others = {0};
    for (int i = 0; i < 20; i++) {
        co_meeting_classes_count(&others, i == 7 ? 1000 : 100, 0);
    }
    assert_int_not_equal(co_meeting_classes_digest(&others), digest);
    others = classes;
    others.of[co_meeting_classes_index(100)].bytes = 101; // of one class
    assert_int_equal(co_meeting_classes_digest(&others), digest);
    others.of[co_meeting_classes_index(100)].is_lost = true;
    assert_int_not_equal(co_meeting_classes_digest(&others), digest);
}

// One round of castoff, native, native, castoff.
static bool round_of(struct co_meeting_class *class, uint64_t castoff, uint64_t castoff_again, uint64_t native,
                     uint64_t native_again)
{
    co_meeting_classes_add_time(class, CO_MEETING_CASTOFF, castoff);
    co_meeting_classes_add_time(class, CO_MEETING_NATIVE, native);
    co_meeting_classes_add_time(class, CO_MEETING_NATIVE, native_again);
    co_meeting_classes_add_time(class, CO_MEETING_CASTOFF, castoff_again);
    return co_meeting_classes_end_round(class);
}

static void clear_rounds_need_no_other(void **state)
{
    (void)state;
    struct co_meeting_class class = {0};
    assert_true(round_of(&class, 100, 110, 200, 210));
    assert_false(co_meeting_classes_judge(&class));
    assert_int_equal(class.ns[CO_MEETING_CASTOFF], 100);
    assert_int_equal(class.ns[CO_MEETING_NATIVE], 200);
    co_meeting_classes_settle(&class, false);
    assert_true(round_of(&class, 310, 300, 100, 110));
    assert_true(co_meeting_classes_judge(&class));
}

static void others_have_some_more(void **state)
{
    (void)state;
    struct co_meeting_class class = {0};
    for (int i = 1; i < CO_MEETING_ROUNDS; i++) {
        assert_false(round_of(&class, 120, 130, 100, 110));
    }
    assert_true(round_of(&class, 120, 130, 100, 110));
    assert_true(co_meeting_classes_judge(&class));
    // Noise.
    class = (struct co_meeting_class){0};
    for (int i = 0; i < CO_MEETING_ROUNDS; i++) {
        round_of(&class, 104, 104, 100, 100);
    }
    assert_false(co_meeting_classes_judge(&class));
}

// Of a busy machine.
static void short_at_best_and_long_on_average_does_not_win(void **state)
{
    (void)state;
    struct co_meeting_class class = {0};
    for (int i = 0; i < CO_MEETING_ROUNDS; i++) {
        assert_int_equal(round_of(&class, 200, 210, 100, 2000), i == CO_MEETING_ROUNDS - 1);
    }
    assert_false(co_meeting_classes_judge(&class));
}

static void what_was_lost_comes_back(void **state)
{
    (void)state;
    memset(&classes, 0, sizeof classes);
    count(4096, 16);
    struct co_meeting_class *class = &classes.of[12];
    round_of(class, 300, 300, 100, 100);
    co_meeting_classes_settle(class, co_meeting_classes_judge(class));
    count(4096, 1);
    assert_true(co_meeting_classes_decline(&classes, 4096));
    assert_int_equal(class->first_at, 17);
    assert_int_equal(class->changes, 1);
    assert_int_equal(co_meeting_classes_gained_ns(class), 200); // one call since
    count(5000, 9);
    assert_int_equal(co_meeting_classes_gained_ns(class), 10 * 200);
    round_of(class, 90, 90, 100, 100);
    co_meeting_classes_settle(class, co_meeting_classes_judge(class));
    count(4096, 1);
    assert_false(co_meeting_classes_decline(&classes, 4096));
    assert_int_equal(class->changes, 2);
    assert_int_equal(class->first_at, 17);
    assert_int_equal(class->lost_calls, 10);
}

static void meetings_are_further_apart_with_time(void **state)
{
    (void)state;
    assert_int_equal(co_meeting_classes_next(0), CO_MEETING_WARM);
    uint64_t meetings = 0, calls = 0;
    for (; calls < 100000; meetings++) {
        uint64_t next = co_meeting_classes_next(calls);
        assert_in_range(next, calls + CO_MEETING_WARM, calls + 1024); // what is new waits no longer than that
        calls = next;
    }
    assert_in_range(meetings, 90, 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_powers_of_two),
        cmocka_unit_test(the_one_with_most_calls_since_its_verdict_is_due),
        cmocka_unit_test(what_has_begun_and_then_the_cheapest_comes_first),
        cmocka_unit_test(who_has_other_lengths_has_another_digest),
        cmocka_unit_test(clear_rounds_need_no_other),
        cmocka_unit_test(others_have_some_more),
        cmocka_unit_test(short_at_best_and_long_on_average_does_not_win),
        cmocka_unit_test(what_was_lost_comes_back),
        cmocka_unit_test(meetings_are_further_apart_with_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
