// SPDX-License-Identifier: BSD-3-Clause
//
// UDP transports on the loopback interface for the tests of src/transport/udp_*.c.
#ifndef CASTOFF_TESTS_UDP_ON_LOOPBACK_H
#define CASTOFF_TESTS_UDP_ON_LOOPBACK_H

#include "transport/udp/udp.h"

// A job that no other test has, now or in another process.
uint64_t udp_fresh_tag(void);
// Four groups, packets of 1500 bytes.
struct co_udp_config udp_on_loopback(uint64_t tag);
// Fails the test with the reason when it cannot be opened.
struct co_transport *udp_opened(const struct co_udp_config *config, struct co_udp_address *address);

#endif
