// SPDX-License-Identifier: BSD-3-Clause
//
// Which way small allgathers go: words that come into force later, and the trials that tell which word to say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send/way_trials.h"

static void classes_by_bytes(void **state)
{
    (void)state;
    assert_int_equal(co_way_class(1), 0);
    for (unsigned class = 1; class < CO_WAYS_CLASSES; class ++) {
        assert_int_equal(co_way_class(((size_t)1 << class) - 1), class - 1);
        assert_int_equal(co_way_class((size_t)1 << class), class);
    }
    assert_int_equal(co_way_class(SIZE_MAX), CO_WAYS_CLASSES - 1);
}

// What is said in an operation counts for those of its class from so many operations on, and until then nothing begins
// that it counts for.
static void a_word_counts_later(void **state)
{
    (void)state;
    struct co_agreed_ways ways = {0};
    for (uint32_t number = 0; number < 200; number++) {
        assert_true(co_agreed_ways_are_known(&ways, number));
        assert_int_equal(co_agreed_way(&ways, number, 3), number < 7 + CO_WAYS_LATER ? CO_WAY_UNSAID : CO_WAY_APART);
        assert_int_equal(co_agreed_way(&ways, number, 4), CO_WAY_UNSAID);
        co_agreed_ways_begin(&ways, number, number % 2 ? 3 : 4, number == 7);
        if (number == 7) {
            assert_true(co_agreed_ways_are_known(&ways, number + 1));
            assert_false(co_agreed_ways_are_known(&ways, number + CO_WAYS_LATER));
        }
        if (number == 7 + CO_WAYS_LATER - 1) {
            assert_false(co_agreed_ways_are_known(&ways, number + 1));
            co_agreed_ways_hear(&ways, 7, CO_WAY_APART);
        }
    }
}

// Numbers wrap.
static void a_word_counts_across_the_end_of_numbers(void **state)
{
    (void)state;
    struct co_agreed_ways ways = {0};
    uint32_t number = UINT32_MAX - 3;
    co_agreed_ways_begin(&ways, number, 3, true);
    co_agreed_ways_hear(&ways, number, CO_WAY_APART);
    for (uint32_t i = 1; i < CO_WAYS_LATER; i++) {
        assert_int_equal(co_agreed_way(&ways, number + i, 3), CO_WAY_UNSAID);
        co_agreed_ways_begin(&ways, number + i, 3, false);
    }
    assert_int_equal(co_agreed_way(&ways, number + CO_WAYS_LATER, 3), CO_WAY_APART);
}

// A row of blocking allgathers of one class, of which those of each way take that long.
struct row {
    struct co_agreed_ways ways;
    struct co_way_trial trial;
    uint32_t number;
    uint64_t went[CO_WAY_END];
};

static void run(struct row *row, unsigned times, uint64_t collected_ns, uint64_t apart_ns, unsigned noise)
{
    for (unsigned i = 0; i < times; i++) {
        enum co_way way = co_agreed_way(&row->ways, row->number, 5);
        way = way == CO_WAY_UNSAID ? CO_WAY_COLLECTED : way;
        co_agreed_ways_begin(&row->ways, row->number, 5, true);
        co_agreed_ways_hear(&row->ways, row->number, co_way_trial_call(&row->trial, true));
        uint64_t ns = way == CO_WAY_APART ? apart_ns : collected_ns;
        bool is_disturbed = noise > 0 && row->number * UINT32_C(2654435761) >> 16 & 1 && row->number % noise == 0;
        co_way_trial_take(&row->trial, way, is_disturbed ? 50 * ns : ns);
        row->went[way]++;
        row->number++;
    }
}

static void the_faster_way_is_found(void **state)
{
    (void)state;
    struct row row = {.number = 0};
    run(&row, 200, 2000000, 1000000, 0);
    assert_true(row.went[CO_WAY_COLLECTED] < 140);
    row.went[CO_WAY_COLLECTED] = 0;
    run(&row, 100000, 2000000, 1000000, 3);
    assert_true(row.went[CO_WAY_COLLECTED] < 200);
}

// One spell, and from then on hardly any.
static void the_slower_way_costs_little(void **state)
{
    (void)state;
    struct row row = {.number = 0};
    run(&row, 1000, 1000000, 2000000, 3);
    assert_int_equal(row.went[CO_WAY_APART], CO_WAY_TRIAL_SPELL);
    run(&row, 100000, 1000000, 2000000, 3);
    assert_true(row.went[CO_WAY_APART] <= 10 * CO_WAY_TRIAL_SPELL);
}

// As fast is no reason.
static void no_way_is_left_for_one_that_is_as_fast(void **state)
{
    (void)state;
    struct row row = {.number = 0};
    run(&row, 20000, 1000000, 950000, 0);
    assert_int_equal(row.trial.standing, CO_WAY_COLLECTED);
}

// It may have been something else.
static void one_spell_is_no_reason(void **state)
{
    (void)state;
    struct row row = {.number = 0};
    run(&row, CO_WAY_TRIAL_WARM + CO_WAYS_LATER + CO_WAY_TRIAL_SPELL, 2000000, 1000000, 0);
    assert_int_equal(row.went[CO_WAY_APART], CO_WAY_TRIAL_SPELL);
    assert_int_equal(row.trial.wins, 1);
    run(&row, 500, 1000000, 2000000, 0);
    assert_int_equal(row.went[CO_WAY_APART], 2 * CO_WAY_TRIAL_SPELL);
}

static void short_rows_try_nothing(void **state)
{
    (void)state;
    struct row row = {.number = 0};
    run(&row, CO_WAY_TRIAL_WARM + CO_WAYS_LATER, 2000000, 1000000, 0);
    assert_int_equal(row.went[CO_WAY_APART], 0);
}

// Links that become another.
static void it_is_looked_at_again(void **state)
{
    (void)state;
    struct row row = {.number = 0};
    run(&row, 1000, 2000000, 1000000, 0);
    assert_int_equal(row.trial.standing, CO_WAY_APART);
    run(&row, 3000, 1000000, 2000000, 0);
    assert_int_equal(row.trial.standing, CO_WAY_COLLECTED);
}

// Of operations that overlap nothing is learned: nothing is tried. A spell that brings nothing ends.
static void what_overlaps_tells_nothing(void **state)
{
    (void)state;
    for (unsigned together = 1; together <= 16; together++) {
        struct co_way_trial trial = {0};
        unsigned apart = 0;
        for (unsigned i = 0; i < 100000; i++) {
            apart += co_way_trial_call(&trial, i % together == 0) == CO_WAY_APART;
        }
        assert_int_equal(trial.standing, CO_WAY_COLLECTED);
        assert_true(apart <= (together == 1 ? 10 * CO_WAY_TRIAL_SPELL : 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_by_bytes),
        cmocka_unit_test(a_word_counts_later),
        cmocka_unit_test(a_word_counts_across_the_end_of_numbers),
        cmocka_unit_test(the_faster_way_is_found),
        cmocka_unit_test(the_slower_way_costs_little),
        cmocka_unit_test(no_way_is_left_for_one_that_is_as_fast),
        cmocka_unit_test(one_spell_is_no_reason),
        cmocka_unit_test(short_rows_try_nothing),
        cmocka_unit_test(it_is_looked_at_again),
        cmocka_unit_test(what_overlaps_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
