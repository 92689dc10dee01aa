// SPDX-License-Identifier: BSD-3-Clause
//
// A session over hosts that are played here: it takes the network that jobs would take, sends until all is heard or
// nothing more comes, whatever is lost on the way, and does not mind who else writes to its output.
#include "reach_hosts.h"

static void all_hear_all(void **state)
{
    static const int counts[] = {2, 5, 16, 64}, losses[] = {0, 10, 500};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof losses / sizeof losses[0]; j++) {
            tear_down(NULL);
            set_up(NULL);
            count = counts[i];
            loss_permille = losses[j];
            play();
            assert_true(session.is_over);
            assert_string_equal(session.why, "");
            for (int kind = 0; kind < CO_REACH_KINDS; kind++) {
                assert_int_equal(lacking(kind), 0);
            }
            assert_true(co_reach_heard(&session.table, CO_REACH_MULTICAST_FULL, count - 1, 0));
            assert_string_equal(facts[1].host, "h1");
            assert_true(losses[j] > 0 || session.table.rounds == 1);
        }
    }
}

static void what_is_cut_is_lacking_and_no_more(void **state)
{
    (void)state;
    count = 16;
    loss_permille = 50;
    for (int to = 0; to < count; to++) {
        cut[5][to] = true;
    }
    play();
    assert_true(session.is_over);
    assert_int_equal(lacking(CO_REACH_UNICAST), 15);
    assert_int_equal(lacking(CO_REACH_MULTICAST), 15);
    assert_int_equal(lacking(CO_REACH_UNICAST_FULL), 0); // where small ones do not come, none are sent
    assert_true(co_reach_lacks(&session.table, CO_REACH_UNICAST, 5, 9));
    assert_true(session.table.rounds >= 9); // as long as somebody hears more, and eight more
    assert_int_equal(session.table.hosts[3].dropped, 5);
    assert_int_equal(session.table.hosts[3].filtered, -1);
}

static void sizes_in_between_are_looked_for(void **state)
{
    (void)state;
    carried = 1420;
    play();
    assert_int_equal(lacking(CO_REACH_UNICAST), 0);
    assert_int_equal(lacking(CO_REACH_UNICAST_FULL), 6);
    assert_int_equal(lacking(CO_REACH_1450), 6);
    assert_int_equal(lacking(CO_REACH_1400), 0);
    assert_int_equal(session.table.full_bytes, 1500);
}

static void interfaces_say_what_large_is(void **state)
{
    (void)state;
    mtus[0] = mtus[1] = 9000;
    carried = 1500;
    play();
    assert_int_equal(lacking(CO_REACH_UNICAST_FULL), 0);
    assert_int_equal(lacking(CO_REACH_LARGE), 2); // between those two
    tear_down(NULL);
    set_up(NULL);
    mtus[2] = 1400;
    play();
    assert_int_equal(session.table.full_bytes, 1400);
    assert_int_equal(lacking(CO_REACH_LARGE), 0);
}

static void the_network_is_one_that_all_are_on(void **state)
{
    (void)state;
    ways[1] = "22";
    ways[2] = "02";
    play();
    assert_int_equal(session.near_ip, 0x0a4e0001);
    tear_down(NULL);
    set_up(NULL);
    ways[1] = "10";
    ways[2] = "20";
    play();
    assert_int_equal(session.near_ip, 0x0a4d0001);
    assert_int_equal(session.table.hosts[1].way, 1); // by routers
    assert_int_equal(session.table.hosts[2].way, 2);
    tear_down(NULL);
    set_up(NULL);
    ways[1] = "01";
    ways[2] = "10";
    play();
    assert_int_equal(session.near_ip, 0);
    assert_true(session.is_over);
}

static void a_host_that_says_nothing_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(co_reach_session_missing(&session), -1);
    co_reach_session_line(&session, "castoff_reach hello 0 3 1 0a4d0001");
    assert_int_equal(co_reach_session_missing(&session), 2);
    co_reach_session_line(&session, "castoff_reach hello 2 3 1 0a4d0001");
    co_reach_session_line(&session, "castoff_reach hello 2 3 1 0a4d0001");
    assert_int_equal(co_reach_session_missing(&session), 1);
    assert_false(session.is_over);
}

static void odd_lines_do_no_harm(void **state)
{
    static const char *const odd[] = {"",
                                      "castoff_reach",
                                      "castoff_reach hello",
                                      "castoff_reach hello -1 3 1 -",
                                      "castoff_reach hello 4 3 1 -",
                                      "castoff_reach heard 0 0 0 0 0 0111",
                                      "{\"castoff_facts\":1}"};
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        tear_down(NULL);
        set_up(NULL);
        co_reach_session_line(&session, odd[i]);
        assert_true(!session.is_over || session.why[0] != '\0');
    }
    tear_down(NULL);
    set_up(NULL);
    co_reach_session_line(&session, "castoff_reach hello 0 513 1 -");
    assert_true(session.is_over && strstr(session.why, "512") != NULL);
    tear_down(NULL);
    set_up(NULL);
    co_reach_session_line(&session, "castoff_reach hello 0 0 1 -"); // nobody has told it
    assert_true(session.is_over && session.why[0] != '\0');
}

static void facts_of_no_host_are_nobodys(void **state)
{
    static const int64_t odd[] = {INT64_C(1) << 32, (INT64_C(1) << 32) + 1, -1, 3, INT64_MIN, INT64_MAX};
    (void)state;
    for (int rank = 0; rank < count; rank++) {
        answer(rank, "hello", "");
    }
    for (int rank = 0; rank < count; rank++) {
        answer(rank, "ways", "");
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        answer_facts_as(1, odd[i]);
        assert_int_equal(co_reach_session_missing(&session), count);
    }
    answer_facts_as(1, 1);
    assert_int_equal(co_reach_session_missing(&session), count - 1);
}

static void one_host_is_over_at_once(void **state)
{
    (void)state;
    count = 1;
    play();
    assert_true(session.is_over);
    assert_int_equal(session.table.count, 1);
    assert_int_equal(sent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_hear_all),
        TEST(what_is_cut_is_lacking_and_no_more),
        TEST(sizes_in_between_are_looked_for),
        TEST(interfaces_say_what_large_is),
        TEST(the_network_is_one_that_all_are_on),
        TEST(a_host_that_says_nothing_is_waited_for),
        TEST(odd_lines_do_no_harm),
        TEST(facts_of_no_host_are_nobodys),
        TEST(one_host_is_over_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
