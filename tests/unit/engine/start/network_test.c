// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks of a node share its staging: together they never have more than the setting, and nobody has nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/start/network.h"
#include "engine/start/network_verbs.h"

static void ranks_share_what_the_node_may_spend(void **state)
{
    (void)state;
    static const size_t settings[] = {256 << 10, 8 << 20};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(co_network_staging_bytes(settings[i], 0, 1), settings[i]);
        for (int ranks = 2; ranks <= 256; ranks++) {
            size_t sum = 0;
            for (int rank = 0; rank < ranks; rank++) {
                assert_true(co_network_staging_bytes(settings[i], rank, ranks) > 0);
                sum += co_network_staging_bytes(settings[i], rank, ranks);
            }
            assert_true(sum <= settings[i] && sum > settings[i] - (size_t)ranks);
            assert_int_equal(co_network_staging_bytes(settings[i], 0, ranks), settings[i] / 2);
        }
    }
}

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_share_what_the_node_may_spend),
                                       cmocka_unit_test(neighbours_on_the_ring_of_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
