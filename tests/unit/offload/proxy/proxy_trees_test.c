// SPDX-License-Identifier: BSD-3-Clause
//
// Trees of teams: whatever members share a node, and whoever is the root, each of the others gets the message once,
// from one who says so too, and it enters each node once.
#include "offload/proxy/proxy_trees.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { MEMBERS = 9, PROXIES = 5 };

// Members that the message passes, from the root on. Each says from whom it has it.
static unsigned walk(const struct co_proxy_layout *layout, uint32_t root, uint32_t me, uint32_t from, bool *has)
{
    struct co_proxy_tree tree = co_proxy_tree_of(layout, root, me);
    unsigned reached = 1;

    assert_int_equal(tree.from, from);
    assert_false(has[me]);
    has[me] = true;
    for (int i = 0; i < 2; i++) {
        reached += tree.to[i] == CO_PROXY_NOBODY ? 0 : walk(layout, root, tree.to[i], me, has);
    }
    return reached;
}

static unsigned entries(const struct co_proxy_layout *layout, const uint32_t *proxy_of, uint32_t members, uint32_t root)
{
    unsigned count = 0;
    for (uint32_t me = 0; me < members; me++) {
        struct co_proxy_tree tree = co_proxy_tree_of(layout, root, me);
        count += tree.from != CO_PROXY_NOBODY && proxy_of[tree.from] != proxy_of[me];
    }
    return count;
}

static unsigned nodes_of(const uint32_t *proxy_of, uint32_t members)
{
    bool is_there[PROXIES] = {false};
    unsigned count = 0;
    for (uint32_t i = 0; i < members; i++) {
        count += !is_there[proxy_of[i]];
        is_there[proxy_of[i]] = true;
    }
    return count;
}

// All ways to spread so many members over the proxies.
static void everybody_is_reached_once(void **state)
{
    (void)state;
    for (uint32_t members = 1; members <= 6; members++) {
        uint32_t ways = 1, proxy_of[MEMBERS];
        for (uint32_t i = 0; i < members; i++) {
            ways *= PROXIES;
        }
        for (uint32_t way = 0; way < ways; way++) {
            struct co_proxy_layout *layout;
            for (uint32_t i = 0, rest = way; i < members; i++, rest /= PROXIES) {
                proxy_of[i] = rest % PROXIES;
            }
            assert_int_equal(co_proxy_layout_make(&layout, proxy_of, members, PROXIES), 0);
            for (uint32_t root = 0; root < members; root++) {
                bool has[MEMBERS] = {false};
                assert_int_equal(walk(layout, root, root, CO_PROXY_NOBODY, has), members);
                assert_int_equal(entries(layout, proxy_of, members, root), nodes_of(proxy_of, members) - 1);
            }
            co_proxy_layout_free(layout);
        }
    }
}

// Nodes of members 0 and 3, 1 and 4 and 5, 2: a chain of nodes from the root's on, and around.
static void nodes_are_a_ring(void **state)
{
    (void)state;
    const uint32_t proxy_of[] = {3, 0, 4, 3, 0, 0};
    struct co_proxy_layout *layout;
    assert_int_equal(co_proxy_layout_make(&layout, proxy_of, 6, PROXIES), 0);

    struct co_proxy_tree tree = co_proxy_tree_of(layout, 4, 4); // the root, before the first of its node
    assert_true(tree.from == CO_PROXY_NOBODY && tree.to[0] == 2 && tree.to[1] == 1);
    tree = co_proxy_tree_of(layout, 4, 1);
    assert_true(tree.from == 4 && tree.to[0] == CO_PROXY_NOBODY && tree.to[1] == 5);
    tree = co_proxy_tree_of(layout, 4, 5);
    assert_true(tree.from == 1 && tree.to[0] == CO_PROXY_NOBODY && tree.to[1] == CO_PROXY_NOBODY);
    tree = co_proxy_tree_of(layout, 4, 2);
    assert_true(tree.from == 4 && tree.to[0] == 0 && tree.to[1] == CO_PROXY_NOBODY);
    tree = co_proxy_tree_of(layout, 4, 0); // the last node
    assert_true(tree.from == 2 && tree.to[0] == CO_PROXY_NOBODY && tree.to[1] == 3);
    tree = co_proxy_tree_of(layout, 0, 1);
    assert_true(tree.from == 0 && tree.to[0] == 2 && tree.to[1] == 4);
    co_proxy_layout_free(layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_is_reached_once),
        cmocka_unit_test(nodes_are_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
