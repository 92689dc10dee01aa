// SPDX-License-Identifier: BSD-3-Clause
//
// Round-trip estimate as of RFC 6298 (smoothed mean and deviation), in nanoseconds. Pure, warm.
#ifndef CASTOFF_MCAST_ACK_RTT_H
#define CASTOFF_MCAST_ACK_RTT_H

#include <stdint.h>

struct co_rtt {
    uint64_t smoothed_ns, deviation_ns; // 0: no sample yet
};

static inline void co_rtt_sample(struct co_rtt *rtt, uint64_t sample_ns)
{
    if (rtt->smoothed_ns == 0) {
        rtt->smoothed_ns = sample_ns > 0 ? sample_ns : 1;
        rtt->deviation_ns = sample_ns / 2;
        return;
    }
    uint64_t error = sample_ns > rtt->smoothed_ns ? sample_ns - rtt->smoothed_ns : rtt->smoothed_ns - sample_ns;
    rtt->deviation_ns = rtt->deviation_ns - rtt->deviation_ns / 4 + error / 4;
    rtt->smoothed_ns = rtt->smoothed_ns - rtt->smoothed_ns / 8 + sample_ns / 8;
}

// Time after which an answer is overdue, within [least_ns, most_ns].
static inline uint64_t co_rtt_timeout_ns(const struct co_rtt *rtt, uint64_t least_ns, uint64_t most_ns)
{
    uint64_t timeout = rtt->smoothed_ns + 4 * rtt->deviation_ns;
    return timeout < least_ns ? least_ns : timeout > most_ns ? most_ns : timeout;
}

#endif
