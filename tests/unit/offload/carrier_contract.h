// SPDX-License-Identifier: BSD-3-Clause
//
// One set of tests for what src/offload/carrier.h promises, run on every carrier.
#ifndef CASTOFF_TESTS_OFFLOAD_CARRIER_CONTRACT_H
#define CASTOFF_TESTS_OFFLOAD_CARRIER_CONTRACT_H

#include <stdint.h>

#include "offload/carrier.h"

// A carrier of proxy 0, whose peer is proxy 1.
struct carrier_rig {
    struct co_carrier *carrier;
    void *context;
    // The next record that has come to proxy 1 on that connection: its bytes, copied to `record` (of 70000), or 0: none
    // comes.
    size_t (*next)(void *context, enum co_carrier_connection connection, uint8_t *record);
};

// Fails as cmocka does.
void carrier_contract_check(const struct carrier_rig *rig);

#endif
