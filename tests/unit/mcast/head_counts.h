// SPDX-License-Identifier: BSD-3-Clause
//
// How often the heads of datagrams are decoded between the transport and their end. A test that is linked with this
// wraps the functions that head_counts.c has (mk/tests.mk). All endpoints of the process together, any thread.
#ifndef CASTOFF_TESTS_HEAD_COUNTS_H
#define CASTOFF_TESTS_HEAD_COUNTS_H

#include <stdint.h>

struct head_counts {
    uint64_t datagrams; // that came to an endpoint
    uint64_t landed;    // of these, with their payload in its place
    uint64_t of_lanes;  // of these, by way of a lane
    uint64_t decoded;   // heads, of chunks and of control messages
    uint64_t twice;     // that had been decoded already
    uint64_t outside;   // heads that were decoded while no datagram was on its way in
};

// Since the last call.
struct head_counts head_counts_take(void);

#endif
