// SPDX-License-Identifier: BSD-3-Clause
//
// The tree of credit: for every size, radix and source each member has a way to the source, parents and children
// agree on each other, and no two children share a slot.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include <cmocka.h>

#include "mcast/credit_tree.h"

static int children_by_parent[40][40]; // [parent][slot]: child + 1

static void check_member(int member, int source, int members, int radix)
{
    int parent = co_credit_parent(member, source, members, radix);
    if (member == source) {
        assert_int_equal(parent, -1);
        return;
    }
    assert_in_range(parent, 0, members - 1);
    int slot = co_credit_child_slot(member, source, members, radix);
    assert_in_range(slot, 0, co_credit_children(parent, source, members, radix) - 1);
    assert_int_equal(children_by_parent[parent][slot], 0);
    children_by_parent[parent][slot] = member + 1;
    int steps = 0;
    for (int at = member; at != source; at = co_credit_parent(at, source, members, radix)) {
        assert_true(++steps < members);
    }
    if (members <= radix + 1) {
        assert_int_equal(parent, source); // small groups are flat
    }
}

static void check_tree(int source, int members, int radix)
{
    int children = 0;
    for (int i = 0; i < members; i++) {
        for (int slot = 0; slot < radix; slot++) {
            children_by_parent[i][slot] = 0;
        }
    }
    for (int member = 0; member < members; member++) {
        check_member(member, source, members, radix);
    }
    for (int parent = 0; parent < members; parent++) {
        int count = co_credit_children(parent, source, members, radix);
        assert_in_range(count, 0, radix < members - 1 ? radix : members - 1);
        for (int slot = 0; slot < count; slot++) {
            assert_true(children_by_parent[parent][slot] > 0);
        }
        children += count;
    }
    assert_int_equal(children, members - 1);
}

static void every_shape(void **state)
{
    (void)state;
    for (int members = 1; members <= 40; members++) {
        for (int radix = 2; radix <= 16; radix++) {
            for (int source = 0; source < members; source++) {
                check_tree(source, members, radix);
            }
        }
    }
}

static void position_starts_at_the_source(void **state)
{
    (void)state;
    assert_int_equal(co_credit_position(5, 5, 7), 0);
    assert_int_equal(co_credit_position(6, 5, 7), 1);
    assert_int_equal(co_credit_position(0, 5, 7), 2);
    assert_int_equal(co_credit_position(4, 5, 7), 6);
}

static void largest_group(void **state)
{
    (void)state;
    int members = UINT16_MAX, radix = INT16_MAX;
    assert_int_equal(co_credit_children(1, 0, members, radix), radix);
    assert_int_equal(co_credit_children(members - 1, 0, members, radix), 0);
    assert_int_equal(co_credit_parent(members - 1, 0, members, radix), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),
        cmocka_unit_test(position_starts_at_the_source),
        cmocka_unit_test(largest_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
