// SPDX-License-Identifier: BSD-3-Clause
//
// The totals of point-to-point as counters. Rare.
#include "p2p/p2p_totals.h"

#include <stddef.h>

#include "base/counters.h"

void co_p2p_totals_count(const struct co_p2p_totals *totals, struct co_p2p_totals *told)
{
#define TOTAL(field) offsetof(struct co_p2p_totals, field)
    static const struct {
        enum co_counter_id id;
        size_t at;
    } counted[] = {
        {CO_COUNT_MATCHED_EXACT, TOTAL(matches[CO_MATCH_EXACT])},
        {CO_COUNT_MATCHED_ANY_SOURCE, TOTAL(matches[CO_MATCH_ANY_SOURCE])},
        {CO_COUNT_MATCHED_ANY_TAG, TOTAL(matches[CO_MATCH_ANY_TAG])},
        {CO_COUNT_MATCHED_ANY_BOTH, TOTAL(matches[CO_MATCH_ANY_BOTH])},
        {CO_COUNT_MESSAGES_SENT, TOTAL(sent)},
        {CO_COUNT_MESSAGE_BYTES, TOTAL(sent_bytes)},
        {CO_COUNT_MESSAGES_REMOTE, TOTAL(remote)},
        {CO_COUNT_REMOTE_BYTES, TOTAL(remote_bytes)},
        {CO_COUNT_MESSAGES_STREAMED, TOTAL(streamed)},
        {CO_COUNT_STREAMED_BYTES, TOTAL(streamed_bytes)},
        {CO_COUNT_STREAMS_READ, TOTAL(streams_read)},
        {CO_COUNT_CREDIT_STALLS, TOTAL(credit_stalls)},
        {CO_COUNT_MESSAGES_UNEXPECTED, TOTAL(unexpected)},
        {CO_COUNT_BEYOND_TABLES, TOTAL(beyond_tables)},
        {CO_COUNT_LANES_FREE, TOTAL(free_path)},
        {CO_COUNT_LANES_FAST, TOTAL(fast_path)},
        {CO_COUNT_LANES_SLOW, TOTAL(slow_path)},
    };
#undef TOTAL
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        uint64_t now = *(const uint64_t *)((const char *)totals + counted[i].at);
        uint64_t *before = (uint64_t *)((char *)told + counted[i].at);
        if (now != *before) {
            co_counter_add(counted[i].id, now - *before);
            *before = now;
        }
    }
    co_counter_raise(CO_COUNT_BUFFERED_HIGH, totals->buffered_high);
    co_counter_raise(CO_COUNT_UNEXPECTED_HIGH, totals->messages_high);
    co_counter_raise(CO_COUNT_POSTED_HIGH, totals->receives_high);
}
