// SPDX-License-Identifier: BSD-3-Clause
//
// An eavesdropper for the protocol tests: a transport that notes the last datagrams sent through it, and an attacker
// who sends them again, whole or damaged, or makes up his own.
#ifndef CASTOFF_TESTS_MCAST_TAPE_H
#define CASTOFF_TESTS_MCAST_TAPE_H

#include "transport/fault/lossy.h"
#include "transport/transport.h"

// Takes ownership of `below`.
struct co_transport *tape_open(struct co_transport *below);

// Forgets what was noted.
void tape_forget(void);

// One datagram from `attacker` to somebody, chosen by `random`.
void tape_attack(struct co_transport *attacker, unsigned random, int members, unsigned subgroups);

#endif
