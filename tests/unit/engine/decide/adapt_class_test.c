// SPDX-License-Identifier: BSD-3-Clause
//
// Classes of calls: their bounds, those that are never tried, more of them than there is room for; and what may be
// spent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/decide/adapt.h"

static void what_cannot_change_is_not_tried(void **state)
{
    (void)state;
    static struct co_adapt adapt;
    struct co_adapt_word word;
    unsigned key = co_adapt_key(1, 100);
    co_adapt_open(&adapt, key, 4);
    for (uint64_t number = 5; number < 400;) {
        struct co_adapt_call call = {.number = number, .key = key, .prior = CO_ADAPT_CASTOFF};
        co_adapt_say(&adapt, &call, 1000 * number, 1000000, &word);
        struct co_adapt_step step = co_adapt_hear(&adapt, &call, &word, 1);
        assert_false(step.is_trial);
        assert_int_equal(step.way, CO_ADAPT_PRIOR);
        assert_true(step.next >= number + CO_ADAPT_APART);
        while (++number < step.next) {
            assert_int_equal(co_adapt_count(&adapt, key), CO_ADAPT_PRIOR);
        }
    }
}

// A size at which something else decides lies within a class that is on trial.
static void what_cannot_change_any_more_is_not_tried(void **state)
{
    (void)state;
    static struct co_adapt adapt;
    struct co_adapt_word word;
    unsigned key = co_adapt_key(1, 100);
    co_adapt_open(&adapt, key, 4);
    for (uint64_t number = 5; number < 20; number++) {
        struct co_adapt_call call = {.number = number, .key = key, .can_change = number != 7};
        co_adapt_say(&adapt, &call, 1000 * number, 1000000, &word);
        struct co_adapt_step step = co_adapt_hear(&adapt, &call, &word, 1);
        assert_true(step.is_trial == (number < 7));
        co_adapt_note_call(&adapt, 100, false);
    }
    assert_int_equal(co_adapt_way_of(&adapt, key), CO_ADAPT_PRIOR);
}

static void more_classes_than_there_is_room_for_keep_the_prior(void **state)
{
    (void)state;
    static struct co_adapt adapt;
    co_adapt_open(&adapt, co_adapt_key(0, 0), 0);
    for (unsigned key = 0; key < CO_ADAPT_KEYS; key++) {
        assert_int_equal(co_adapt_count(&adapt, key), CO_ADAPT_PRIOR);
    }
    assert_int_equal(adapt.used, CO_ADAPT_CLASSES);
    assert_int_equal(adapt.classes[CO_ADAPT_CLASSES].calls, CO_ADAPT_KEYS - CO_ADAPT_CLASSES);
    struct co_adapt_word word;
    for (uint64_t number = 5; number < 100; number++) {
        struct co_adapt_call call = {.number = number, .key = CO_ADAPT_KEYS - 1, .can_change = true};
        co_adapt_say(&adapt, &call, 1000 * number, 1000000, &word);
        assert_false(co_adapt_hear(&adapt, &call, &word, 1).is_trial);
    }
}

static void keys_hold_quarters_of_an_octave(void **state)
{
    (void)state;
    unsigned before = co_adapt_key(0, 0);
    for (size_t bytes = 1; bytes < 100000; bytes++) {
        unsigned key = co_adapt_key(0, bytes);
        size_t from = co_adapt_key_bytes(key);
        assert_true(key == before || key == before + 1);
        assert_true(from <= bytes && bytes - from <= from / 4);
        assert_int_equal(co_adapt_key(0, from), key);
        before = key;
    }
    assert_true(co_adapt_key(1, SIZE_MAX) < CO_ADAPT_KEYS);
    assert_int_equal(co_adapt_key_bytes(co_adapt_key(1, 65536)), 65536);
    assert_int_equal(co_adapt_key_call(co_adapt_key(1, 65536)), 1);
}

static void the_budget_grows_with_time_and_gains(void **state)
{
    (void)state;
    assert_int_equal(co_adapt_left(0, 0, 0), 10000000);
    assert_int_equal(co_adapt_left(0, 9000000, 0), 1000000);
    assert_int_equal(co_adapt_left(0, 11000000, 0), 0);
    assert_int_equal(co_adapt_left(UINT64_C(5000000000), 11000000, 7), 39000007);
}

// A root that is always ahead is held up 40 ms in the beginning, and then one part in a hundred.
static void a_root_waits_ever_less(void **state)
{
    (void)state;
    uint64_t most = CO_ADAPT_PATIENCE_NS, waited = 0, second = UINT64_C(1000000000);
    for (int i = 0; i < 10; i++) {
        waited += co_adapt_patience(second / 10, waited);
    }
    assert_true(waited == 2 * most);
    assert_true(co_adapt_patience(second, waited) == 0);
    assert_true(co_adapt_patience(second, waited - 1000) == 1000);
    assert_true(co_adapt_patience(5 * second, waited) == 50000000 - waited);
    assert_true(co_adapt_patience(100 * second, waited) == most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_change_is_not_tried),
        cmocka_unit_test(what_cannot_change_any_more_is_not_tried),
        cmocka_unit_test(more_classes_than_there_is_room_for_keep_the_prior),
        cmocka_unit_test(keys_hold_quarters_of_an_octave),
        cmocka_unit_test(the_budget_grows_with_time_and_gains),
        cmocka_unit_test(a_root_waits_ever_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
