// SPDX-License-Identifier: BSD-3-Clause
//
// What is known of pairs of hosts after volleys: who is slow, who loses, wherever that host is and whatever noise there
// is, and that nobody is when one was interrupted.
#include "tools/volley/volley_plan.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mix_bits.h"

enum { MOST = 32 };

static struct co_volley_plan plan;
static int64_t in_kbits[MOST], out_kbits[MOST];
static int in_permille[MOST], out_permille[MOST];
static uint64_t drawn;
static int volleys, interrupted; // that one comes a tenth as fast, and half of it overflows

static int draw(int below)
{
    drawn = co_mix_bits(drawn + 1);
    return (int)(drawn % (uint64_t)below);
}

static void make(int count)
{
    assert_int_equal(co_volley_plan_make(&plan, count), 0);
    for (int i = 0; i < count; i++) {
        in_kbits[i] = out_kbits[i] = 200000;
        in_permille[i] = out_permille[i] = 0;
    }
    volleys = 0;
    interrupted = -1;
}

static void play(void)
{
    while (co_volley_plan_next(&plan, 1500)) {
        const struct co_volley *now = &plan.now;
        assert_true(now->from >= 0 && now->from < plan.count && now->count <= CO_VOLLEY_MOST);
        for (int to = 0; to < plan.count; to++) {
            int64_t kbits = in_kbits[to] < out_kbits[now->from] ? in_kbits[to] : out_kbits[now->from];
            struct co_volley_seen seen = {.sent = now->count, .kbits = kbits + draw((int)(kbits / 4))};
            for (int i = 0; i < now->count; i++) {
                seen.arrived += draw(1000) >= in_permille[to] && draw(1000) >= out_permille[now->from];
            }
            if (volleys == interrupted) {
                seen.kbits /= 10;
                seen.overflowed = seen.arrived / 2;
                seen.arrived -= seen.overflowed;
            }
            assert_true(now->kbits < in_kbits[to]);
            if (to != now->from) {
                co_volley_plan_take(&plan, to, &seen);
            }
        }
        volleys++;
    }
}

static int count_of(enum co_volley_grade grade, bool of_speed)
{
    int found = 0;
    for (int i = 0; i < plan.count * plan.count; i++) {
        int from = i / plan.count, to = i % plan.count;
        found += from != to && (of_speed ? co_volley_speed(&plan, from, to) : co_volley_loss(&plan, from, to)) == grade;
    }
    return found;
}

static void all_are_alike(void **state)
{
    (void)state;
    for (int count = 2; count <= MOST; count *= 2) {
        make(count);
        play();
        assert_int_equal(volleys, 2 * count);
        assert_int_equal(count_of(CO_VOLLEY_GOOD, true), count * (count - 1));
        assert_int_equal(count_of(CO_VOLLEY_GOOD, false), count * (count - 1));
        co_volley_plan_release(&plan);
    }
}

// Slow in both directions, of three hosts and more: all its pairs, and no other one.
static void one_is_slow(void **state)
{
    (void)state;
    for (int count = 3; count <= MOST; count += 5) {
        for (int host = 0; host < count; host += count - 1) {
            make(count);
            in_kbits[host] = out_kbits[host] = 10000;
            play();
            assert_int_equal(count_of(CO_VOLLEY_BAD, true), 2 * (count - 1));
            assert_int_equal(co_volley_speed(&plan, host, 1), CO_VOLLEY_BAD);
            assert_true(co_volley_usual_kbits(&plan, host, -1) < 15000);
            assert_true(co_volley_usual_kbits(&plan, -1, -1) > 190000);
            co_volley_plan_release(&plan);
        }
    }
}

static void one_loses(void **state)
{
    (void)state;
    make(8);
    out_permille[0] = 30;
    in_permille[7] = 30;
    play();
    assert_int_equal(count_of(CO_VOLLEY_BAD, false), 13);
    assert_int_equal(count_of(CO_VOLLEY_GOOD, false), 43);
    assert_true(co_volley_usual_loss(&plan, 0, -1) > 0.02 && co_volley_usual_loss(&plan, 0, -1) < 0.04);
    assert_true(co_volley_usual_loss(&plan, -1, 7) > 0.02 && co_volley_usual_loss(&plan, -1, 7) < 0.04);
    assert_true(co_volley_usual_loss(&plan, -1, -1) < 0.001);
    co_volley_plan_release(&plan);
}

// Waiting for a processor, while it sends or while it takes, makes nobody slow; what overflows is not lost on the way.
static void one_is_interrupted(void **state)
{
    (void)state;
    for (int at = 0; at < 16; at++) {
        make(8);
        interrupted = at;
        play();
        assert_int_equal(count_of(CO_VOLLEY_GOOD, true), 56);
        assert_int_equal(count_of(CO_VOLLEY_GOOD, false), 56);
        co_volley_plan_release(&plan);
    }
}

// Who has answered nothing is neither slow nor lossy.
static void nothing_is_known(void **state)
{
    (void)state;
    make(3);
    while (co_volley_plan_next(&plan, 1500)) {
        assert_true(++volleys <= 24);
        co_volley_plan_take(&plan, 1, &(struct co_volley_seen){.sent = 0});
    }
    assert_int_equal(count_of(CO_VOLLEY_UNCLEAR, true), 6);
    assert_int_equal(count_of(CO_VOLLEY_UNCLEAR, false), 6);
    co_volley_plan_release(&plan);
}

// A host may write what it likes: it takes nothing back of what was counted, nor is it infinitely fast.
static void odd_numbers_do_no_harm(void **state)
{
    static const struct co_volley_seen odd[] = {
        {.sent = INT_MIN, .arrived = INT_MAX, .overflowed = 1, .kbits = INT64_MAX},
        {.sent = INT_MAX, .arrived = -1, .overflowed = -1, .kbits = INT64_MIN},
        {.sent = -600, .arrived = -600, .overflowed = INT_MIN, .kbits = -1}};
    (void)state;
    make(3);
    for (bool goes_on = co_volley_plan_next(&plan, 1500); goes_on; goes_on = co_volley_plan_next(&plan, 1500)) {
        for (int to = 0; to < 3; to++) {
            if (to != plan.now.from) {
                co_volley_plan_take(&plan, to, &odd[plan.now.number % 3]);
            }
        }
    }
    for (int i = 0; i < 9; i++) {
        assert_true(plan.pairs[i].sent >= 0 && plan.pairs[i].lost >= 0 && plan.pairs[i].lost <= plan.pairs[i].sent);
        assert_true(plan.pairs[i].kbits >= 0 && plan.pairs[i].kbits < INT64_MAX / 8);
    }
    co_volley_plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_alike),    cmocka_unit_test(one_is_slow),
                                       cmocka_unit_test(one_loses),        cmocka_unit_test(one_is_interrupted),
                                       cmocka_unit_test(nothing_is_known), cmocka_unit_test(odd_numbers_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
