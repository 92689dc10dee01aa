// SPDX-License-Identifier: BSD-3-Clause
//
// Whom a rank is connected to for repair: its neighbours on the ring of nodes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/start/network_verbs.h"

// Whoever is right of a rank has it on the left: their connections meet.
static void neighbours_on_the_ring_of_nodes(void **state)
{
    (void)state;
    static const int node[] = {0, 1, 0, 2, 3, 3, 1, 3, 2}, place[] = {0, 0, 1, 0, 0, 1, 1, 2, 1}, ranks = 9;
    static const int right[] = {1, 3, 6, 4, 0, 2, 8, -1, 5}; // only node 3 has a third rank
    for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(co_network_neighbour(node, place, ranks, 4, rank, 1), right[rank]);
        if (right[rank] >= 0) {
            assert_int_equal(co_network_neighbour(node, place, ranks, 4, right[rank], -1), rank);
        }
    }
    static const int pair[] = {0, 1}, first[] = {0, 0};
    assert_int_equal(co_network_neighbour(pair, first, 2, 2, 0, 1), 1); // both sides lead to the same one
    assert_int_equal(co_network_neighbour(pair, first, 2, 2, 0, -1), 1);
    assert_int_equal(co_network_neighbour(first, pair, 2, 1, 0, 1), -1);
    static const int gap_node[] = {0, 0, 1, 2, 2}, gap_place[] = {0, 1, 0, 0, 1};
    assert_int_equal(co_network_neighbour(gap_node, gap_place, 5, 3, 1, 1), 4); // past node 1, which has one rank
    assert_int_equal(co_network_neighbour(gap_node, gap_place, 5, 3, 4, -1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_on_the_ring_of_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
