// SPDX-License-Identifier: BSD-3-Clause
//
// The tree of credit: for every size, radix and source each member has a short way to the source, parents and children
// agree on each other, and whatever the source a member reports to few others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include <cmocka.h>

#include "mcast/ack/credit_tree.h"

enum { MEMBERS_MAX = 70 };

static int binary_digits(int members)
{
    int digits = 0;
    while (1 << digits < members) {
        digits++;
    }
    return digits;
}

static void check_way(const struct co_credit_tree *tree, int member, int source)
{
    int steps = 0;
    for (int at = member; at != source; at = co_credit_parent(tree, at, source)) {
        assert_in_range(at, 0, tree->members - 1);
        assert_true(++steps <= co_credit_digits(tree->members, tree->base));
    }
    assert_int_equal(co_credit_parent(tree, source, source), -1);
}

static void check_children(const struct co_credit_tree *tree, int parent, int source, bool *seen)
{
    int count = 0, position = co_credit_position(tree, parent, source);
    assert_int_equal(co_credit_member(tree, position, source), parent);
    struct co_credit_children at = co_credit_children(position);
    for (; co_credit_next(tree, &at); count++) {
        int child = co_credit_member(tree, at.child, source);
        assert_int_equal(co_credit_parent(tree, child, source), parent);
        assert_false(seen[child]);
        seen[child] = true;
    }
    assert_in_range(count, 0, tree->children_most);
}

static void check_tree(const struct co_credit_tree *tree, int source)
{
    bool seen[MEMBERS_MAX] = {false};
    for (int member = 0; member < tree->members; member++) {
        check_way(tree, member, source);
        check_children(tree, member, source, seen);
    }
    for (int member = 0; member < tree->members; member++) {
        assert_int_equal(seen[member], member != source);
    }
}

// Of which sources a member tells another.
static void check_sources(const struct co_credit_tree *tree, int member)
{
    int parents = 0, sources = 0;
    for (int other = 0; other < tree->members; other++) {
        int before = sources;
        struct co_credit_sources at = co_credit_sources(tree, member, other);
        for (; at.position < tree->members; at.position += at.step) {
            int source = co_credit_position(tree, member, at.position);
            assert_int_equal(co_credit_parent(tree, member, source), other);
            sources++;
        }
        parents += sources > before;
    }
    assert_int_equal(sources, tree->members - 1);
    assert_in_range(parents, 0, tree->children_most);
}

static void every_shape(void **state)
{
    (void)state;
    for (int members = 1; members <= MEMBERS_MAX; members++) {
        for (int radix = 2; radix <= 20; radix++) {
            struct co_credit_tree tree = co_credit_tree_of(members, radix);
            int least = binary_digits(members);
            assert_in_range(tree.children_most, 0, radix > least ? radix : least);
            assert_true(members > radix + 1 || co_credit_digits(members, tree.base) <= 1); // small groups are flat
            for (int member = 0; member < members; member++) {
                check_tree(&tree, member);
                check_sources(&tree, member);
            }
        }
    }
}

static void few_children_and_short_ways(void **state)
{
    (void)state;
    static const struct {
        int members, base, digits, children;
    } shapes[] = {{17, 17, 1, 16}, {18, 5, 2, 8}, {64, 8, 2, 14}, {188, 6, 3, 15}, {1024, 4, 5, 15}, {4096, 3, 8, 16}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct co_credit_tree tree = co_credit_tree_of(shapes[i].members, 16);
        assert_int_equal(tree.base, shapes[i].base);
        assert_int_equal(co_credit_digits(tree.members, tree.base), shapes[i].digits);
        assert_int_equal(tree.children_most, shapes[i].children);
    }
}

static void largest_group(void **state)
{
    (void)state;
    for (int radix = 2; radix <= INT16_MAX; radix = radix * 2 + 1) {
        struct co_credit_tree tree = co_credit_tree_of(UINT16_MAX, radix);
        for (int member = 0; member < tree.members; member += 1009) {
            check_way(&tree, member, 77);
        }
        check_way(&tree, 76, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),
        cmocka_unit_test(few_children_and_short_ways),
        cmocka_unit_test(largest_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
