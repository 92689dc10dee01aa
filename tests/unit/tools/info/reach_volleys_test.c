// SPDX-License-Identifier: BSD-3-Clause
//
// A session over hosts that are played here, which hear each other: volleys find those that are slow or lose.
#include "reach_hosts.h"

// Each host has two turns where nothing is amiss, and who sends to one that is slow, or loses what it sends, has more.
static void volleys_find_who_is_unlike(void **state)
{
    (void)state;
    count = 5;
    play();
    assert_true(session.is_over);
    assert_int_equal(volleys, 2 * count);
    assert_int_equal(lacking(CO_REACH_WHOLE) + lacking(CO_REACH_QUICK), 0);
    assert_true(co_reach_heard(&session.table, CO_REACH_QUICK, 4, 1));
    tear_down(NULL);
    set_up(NULL);
    count = 5;
    rates_in[4] = 10000;
    permille_out[2] = 30;
    play();
    assert_true(session.is_over);
    assert_int_equal(volleys, 2 * count + 4 * (count - 1) + 2);
    assert_int_equal(lacking(CO_REACH_QUICK), 4);
    assert_int_equal(lacking(CO_REACH_WHOLE), 4);
    assert_true(co_reach_lacks(&session.table, CO_REACH_QUICK, 0, 4));
    assert_true(co_reach_lacks(&session.table, CO_REACH_WHOLE, 2, 0));
}

// Something else is to be mended first.
static void no_volley_where_something_is_not_heard(void **state)
{
    (void)state;
    cut[0][1] = true;
    play();
    assert_true(session.is_over);
    assert_int_equal(volleys, 0);
    assert_int_equal(lacking(CO_REACH_WHOLE) + lacking(CO_REACH_QUICK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(volleys_find_who_is_unlike),
        TEST(no_volley_where_something_is_not_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
