// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of datagram transports as tests: what a transport may offer beyond bytes. Where it does not, it must say
// so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport_contract.h"

static void immediates_arrive_where_they_are_carried(void **state)
{
    struct transport_rig *rig = *state;

    rig_join(rig, 1, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(rig_send(rig, 0, i == 0 ? rig_group(2) : rig_peer(1), 40, 8, 64, 32), 8);
        rig_receive(rig, 1, 8);
        for (unsigned k = 0; k < 8; k++) {
            bool is_carried = rig->ends[1]->has_immediate;
            assert_int_equal(rig_inbox.immediates[k], is_carried ? rig_immediate(rig_inbox.numbers[k]) : 0);
        }
    }
}

int transport_contract_offers_run(struct transport_rig *rig)
{
    const struct CMUnitTest tests[] = {
        ON_RIG(immediates_arrive_where_they_are_carried),
    };
    return cmocka_run_group_tests_name(rig->name, tests, NULL, NULL);
}
