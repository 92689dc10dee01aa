// SPDX-License-Identifier: BSD-3-Clause
//
// One set of tests for what src/mcast/transport/transport.h promises, run on every transport. A rig opens endpoints
// of one kind on one network and knows how to wait on it. Used by transport_test.c.
#ifndef CASTOFF_TESTS_TRANSPORT_CONTRACT_H
#define CASTOFF_TESTS_TRANSPORT_CONTRACT_H

#include <stdbool.h>

#include "mcast/transport/loopback.h"
#include "mcast/transport/transport.h"

#define RIG_ENDS 3

struct transport_rig {
    const char *name;
    // Opens ends[0 ... RIG_ENDS - 1] as world ranks, all connected; none has joined a group. False: not possible here.
    bool (*open)(struct transport_rig *rig);
    bool is_virtual;         // time is the hub's, no descriptors
    unsigned budget_slack;   // datagrams by which poll may exceed its budget
    const char *fault;       // plan of a lossy transport around each end, or NULL
    unsigned mtu;            // udp
    bool plain;              // udp without offload
    struct co_loopback_hub *hub;
    struct co_transport *ends[RIG_ENDS];
};

// Adds nothing to what `open` did; frees all.
void transport_rig_close(struct transport_rig *rig);

// Runs all tests of the contract on one rig; returns how many failed.
int transport_contract_run(struct transport_rig *rig);

#endif
