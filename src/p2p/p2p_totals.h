// SPDX-License-Identifier: BSD-3-Clause
//
// What point-to-point counts with its lock held, and how the counters of the process are told of it.
#ifndef CASTOFF_P2P_TOTALS_H
#define CASTOFF_P2P_TOTALS_H

#include <stdint.h>

#include "matching/match_key.h"

// What the report says in the end: of messages, and of the matchers of contexts that are closed.
struct co_p2p_totals {
    uint64_t sent, sent_bytes, remote, remote_bytes, credit_stalls;
    uint64_t streamed, streamed_bytes, streams_read;
    uint64_t matches[CO_MATCH_CLASSES], unexpected;
    uint64_t beyond_tables; // receives and messages
    uint64_t buffered_high; // bytes
    uint32_t receives_high, messages_high;
    uint64_t free_path, fast_path, slow_path; // lanes
};

// `told`: of them, what the counters have, which have all afterwards.
void co_p2p_totals_count(const struct co_p2p_totals *totals, struct co_p2p_totals *told);

#endif
