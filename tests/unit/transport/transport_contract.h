// SPDX-License-Identifier: BSD-3-Clause
//
// One set of tests for what src/transport/transport.h promises, run on every transport. Used by
// transport_test.c.
#ifndef CASTOFF_TESTS_TRANSPORT_CONTRACT_H
#define CASTOFF_TESTS_TRANSPORT_CONTRACT_H

#include "transport_rig.h"

// Runs all tests of the contract on one rig; returns how many failed.
int transport_contract_run(struct transport_rig *rig);
int transport_contract_offers_run(struct transport_rig *rig); // part of it

#define ON_RIG(test)                                                                                                   \
    {                                                                                                                  \
#test, test, rig_set_up, rig_take_down, rig                                                                    \
    }

#endif
