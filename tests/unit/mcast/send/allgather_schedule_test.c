// SPDX-License-Identifier: BSD-3-Clause
//
// The sequence of an allgather: for every number of members and chains each member sends once, all chains together
// cover everybody, and their lengths differ by at most one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include <cmocka.h>

#include "mcast/send/allgather_schedule.h"

static void count(void **state)
{
    (void)state;
    assert_int_equal(co_chain_count(8, 0), 8);
    assert_int_equal(co_chain_count(8, 1), 1);
    assert_int_equal(co_chain_count(8, 3), 3); // what does not divide stays as it is
    assert_int_equal(co_chain_count(8, 8), 8);
    assert_int_equal(co_chain_count(8, 9), 8);
    assert_int_equal(co_chain_count(1, UINT32_MAX), 1);
}

// Follows the chain from its first member; returns its length and marks who was in it.
static int follow(int first, int members, int chains, bool *seen)
{
    int length = 0;
    for (int member = first, before = -1; member >= 0;) {
        assert_true(member < members);
        assert_false(seen[member]);
        seen[member] = true;
        assert_int_equal(co_chain_predecessor(member, members, chains), before);
        before = member;
        member = co_chain_successor(member, members, chains);
        length++;
    }
    return length;
}

static void every_shape(void **state)
{
    (void)state;
    for (int members = 1; members <= 70; members++) {
        for (int chains = 1; chains <= members; chains++) {
            bool seen[70] = {false};
            int shortest = members, longest = 0, covered = 0, first_ones = 0;
            for (int chain = 0; chain < chains; chain++) {
                int length = follow(co_chain_first(chain, members, chains), members, chains, seen);
                shortest = length < shortest ? length : shortest;
                longest = length > longest ? length : longest;
                covered += length;
            }
            for (int member = 0; member < members; member++) {
                first_ones += co_chain_predecessor(member, members, chains) < 0;
            }
            assert_int_equal(covered, members);
            assert_int_equal(first_ones, chains);
            assert_in_range(longest - shortest, 0, 1);
        }
    }
}

static void large_groups_do_not_overflow(void **state)
{
    (void)state;
    assert_int_equal(co_chain_first(59999, 60000, 60000), 59999);
    assert_int_equal(co_chain_predecessor(59999, 60000, 60000), -1);
    assert_int_equal(co_chain_predecessor(59999, 60000, 50000), 59998);
    assert_int_equal(co_chain_successor(59999, 60000, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(large_groups_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
