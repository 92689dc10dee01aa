// SPDX-License-Identifier: BSD-3-Clause
//
// Who is gone by what is said of him: a kernel that refuses again and again, and neither a firewall's moment, nor a
// stranger's flood, nor anything at all of a peer that speaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/liveness/refusals.h"

#define MS CO_NS_PER_MS

// Of refusals every so often, from `first` on: when the peer is gone, 0: not by `last`.
static uint64_t gone_ns(struct co_refusals *refusals, uint64_t first, uint64_t every, uint64_t last)
{
    for (uint64_t now = first; now <= last; now += every) {
        if (co_refusals_add(refusals, now)) {
            return now;
        }
    }
    return 0;
}

static void one_refusal_is_nothing(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    assert_false(co_refusals_add(&refusals, 5 * MS));
    assert_true(co_refusals_is_doubtful(&refusals));
}

static void a_flood_of_a_moment_is_nothing(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    assert_int_equal(gone_ns(&refusals, 5 * MS, CO_NS_PER_US, 55 * MS), 0);         // 50,000 of them in 50 ms
    assert_int_equal(gone_ns(&refusals, 55 * MS, MS, 5 * MS + CO_NS_PER_S - 1), 0); // and on for almost a second
}

static void a_second_of_refusals_is_the_end(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    assert_int_equal(gone_ns(&refusals, 5 * MS, CO_REFUSALS_ASK_NS, 10 * CO_NS_PER_S), 5 * MS + CO_NS_PER_S);
    // A kernel that says so once a second is heard, too.
    refusals = (struct co_refusals){0};
    assert_int_equal(gone_ns(&refusals, 5 * MS, CO_NS_PER_S, 10 * CO_NS_PER_S),
                     5 * MS + (CO_REFUSALS_LEAST - 1) * CO_NS_PER_S);
}

static void two_moments_are_no_second(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    assert_int_equal(gone_ns(&refusals, 5 * MS, MS, 55 * MS), 0);
    assert_int_equal(gone_ns(&refusals, 1500 * MS, MS, 1550 * MS), 0); // a hundred, and yet two
}

// Two moments apart are no second of refusals.
static void few_are_nothing_however_far_apart(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    assert_false(co_refusals_add(&refusals, 5 * MS));
    assert_false(co_refusals_add(&refusals, 1500 * MS));
    assert_int_equal(
        gone_ns(&refusals, 1500 * MS + CO_REFUSALS_PAUSE_NS + 1, CO_REFUSALS_PAUSE_NS + 1, 40 * CO_NS_PER_S), 0);
    // Nor are they in hours.
    refusals = (struct co_refusals){0};
    assert_int_equal(gone_ns(&refusals, 5 * MS, CO_REFUSALS_FORGET_NS + 1, 100 * CO_REFUSALS_FORGET_NS), 0);
}

// A host says it once a second, to each of 64 ranks that ask from another one in turn: none hears it twice in a minute.
static void many_far_apart_are_the_end(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    for (uint64_t every = CO_REFUSALS_PAUSE_NS + 1; every < CO_REFUSALS_FORGET_NS; every += 10 * CO_NS_PER_S) {
        assert_int_equal(gone_ns(&refusals, 5 * MS, every, 32 * every), 5 * MS + (CO_REFUSALS_ROWS - 1) * every);
        co_refusals_heard(&refusals);
    }
    // But for a word in between.
    assert_int_equal(gone_ns(&refusals, 5 * MS, 64 * CO_NS_PER_S, 5 * MS + 14 * 64 * CO_NS_PER_S), 0);
    co_refusals_heard(&refusals);
    assert_false(co_refusals_add(&refusals, 5 * MS + 15 * 64 * CO_NS_PER_S));
}

static void a_word_ends_a_row(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    uint64_t now = 5 * MS;
    for (int i = 0; i < 20; i++) { // a word in each second, and it lives for ever
        assert_int_equal(gone_ns(&refusals, now, MS, now + 990 * MS), 0);
        co_refusals_heard(&refusals);
        assert_false(co_refusals_is_doubtful(&refusals));
        now += CO_NS_PER_S;
    }
    assert_int_equal(gone_ns(&refusals, now, CO_REFUSALS_ASK_NS, now + 10 * CO_NS_PER_S), now + CO_NS_PER_S);
}

static void who_is_in_doubt_is_asked(void **state)
{
    (void)state;
    struct co_refusals refusals = {0};
    assert_false(co_refusals_is_to_be_asked(&refusals, 5 * MS));
    co_refusals_add(&refusals, 5 * MS);
    unsigned questions = 0;
    for (uint64_t now = 5 * MS; now < 5 * MS + CO_NS_PER_S; now += MS) {
        questions += co_refusals_is_to_be_asked(&refusals, now);
    }
    assert_int_equal(questions, 10);
    assert_true(co_refusals_is_doubtful(&refusals));
    questions = 0;
    for (uint64_t now = 6 * MS + CO_REFUSALS_PAUSE_NS; now < 6 * MS + CO_REFUSALS_PAUSE_NS + 10 * CO_NS_PER_S;
         now += MS) {
        questions += co_refusals_is_to_be_asked(&refusals, now);
    }
    assert_int_equal(questions, 10); // it is not forgotten
    assert_true(co_refusals_is_doubtful(&refusals));
    assert_false(co_refusals_is_to_be_asked(&refusals, 6 * MS + CO_REFUSALS_FORGET_NS)); // nothing came of it
    assert_false(co_refusals_is_doubtful(&refusals));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_refusal_is_nothing),
        cmocka_unit_test(a_flood_of_a_moment_is_nothing),
        cmocka_unit_test(a_second_of_refusals_is_the_end),
        cmocka_unit_test(two_moments_are_no_second),
        cmocka_unit_test(few_are_nothing_however_far_apart),
        cmocka_unit_test(many_far_apart_are_the_end),
        cmocka_unit_test(a_word_ends_a_row),
        cmocka_unit_test(who_is_in_doubt_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
