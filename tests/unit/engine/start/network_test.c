// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks of a node share its staging: together they never have more than the setting, and nobody has nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/start/network.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_share_what_the_node_may_spend)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
