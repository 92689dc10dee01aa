// SPDX-License-Identifier: BSD-3-Clause
//
// Round-trip estimate as of RFC 6298 (smoothed mean and deviation), in nanoseconds. Pure, warm.
#ifndef CASTOFF_MCAST_ACK_RTT_H
#define CASTOFF_MCAST_ACK_RTT_H

#include <stdint.h>

struct co_rtt {
    uint64_t smoothed_ns, deviation_ns; // 0: no sample yet
};

static inline void co_rtt_sample(struct co_rtt *trip, uint64_t sample_ns)
{
    if (trip->smoothed_ns == 0) {
        trip->smoothed_ns = sample_ns > 0 ? sample_ns : 1;
        trip->deviation_ns = sample_ns / 2;
        return;
    }
    uint64_t error = sample_ns > trip->smoothed_ns ? sample_ns - trip->smoothed_ns : trip->smoothed_ns - sample_ns;
    trip->deviation_ns = trip->deviation_ns - trip->deviation_ns / 4 + error / 4;
    trip->smoothed_ns = trip->smoothed_ns - trip->smoothed_ns / 8 + sample_ns / 8;
}

// Time after which an answer is overdue, within [least_ns, most_ns].
static inline uint64_t co_rtt_timeout_ns(const struct co_rtt *trip, uint64_t least_ns, uint64_t most_ns)
{
    uint64_t timeout = trip->smoothed_ns + 4 * trip->deviation_ns;
    return timeout < least_ns ? least_ns : timeout > most_ns ? most_ns : timeout;
}

#endif
