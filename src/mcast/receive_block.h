// SPDX-License-Identifier: BSD-3-Clause
//
// One block while it arrives: which chunks are there, and when to ask for which of the missing ones. Owns the
// cutoff timer (S1, section 3.3), which runs from the last chunk received, and the re-request timer. A pure state
// machine: time is an argument, nothing is sent here. Called for each chunk (accept, hot) and once a poll (request,
// warm).
#ifndef CASTOFF_MCAST_RECEIVE_BLOCK_H
#define CASTOFF_MCAST_RECEIVE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcast/wire.h"

// Chunks asked for and not yet there, at most: what one neighbour sends unpaced.
#define CO_REQUEST_BUDGET 128

struct co_receive_block {
    uint64_t *arrived; // bitmap, storage of the owner
    size_t offset;     // of the block in the operation's buffer, bytes
    size_t bytes;
    uint32_t chunks, count; // of the block, arrived
    uint32_t next_psn;      // one past the highest PSN seen
    uint32_t asked_below;   // every chunk below is there or has been asked for
    uint32_t asked_missing; // chunks below asked_below that are not there
    uint32_t retries;       // since the last arrival
    bool in_tail;           // the cutoff has passed: chunks beyond next_psn count as lost too
    uint64_t last_ns;       // last arrival, or start
    uint64_t gap_since_ns;  // when the oldest gap that has not been asked for was noticed, 0 none
    uint64_t retry_ns;      // when to ask again
    uint64_t asked_ns;      // when asked_psn was first asked for, 0: no request is being timed
    uint32_t asked_psn;
    bool was_retried; // since asked_ns
    uint64_t slow_ns; // what the answer to slow_psn took, after a retry
    uint32_t slow_psn;
    uint64_t repaired_ns;   // last repair, 0 none: while they come, nothing is asked again
    uint64_t widest_gap_ns; // between arrivals, decaying: a slow or bursty sender is not a lossy one
};

struct co_repair_timing {
    uint64_t cutoff_ns;  // floor of the silence that counts as loss
    uint64_t retry_ns;   // time within which an answer should have come
    uint64_t reorder_ns; // age at which a gap counts as loss while later chunks arrive
    uint64_t heard_ns;   // when the source last sent anything by multicast: then it is not silent, but busy
};

// `arrived` has co_chunk_bitmap_words(chunks) zeroed words.
void co_receive_block_open(struct co_receive_block *block, uint64_t *arrived, size_t offset, size_t bytes,
                           uint32_t chunks, uint64_t now_ns);

static inline bool co_receive_block_is_complete(const struct co_receive_block *block)
{
    return block->count == block->chunks;
}

// Marks a chunk (psn < chunks). True when it is new: the caller copies it then, once.
bool co_receive_block_accept(struct co_receive_block *block, uint32_t psn, bool is_repair, uint64_t now_ns);

// A repair of `psn` has come, new or again. Returns the time that the answer to a request took, 0: this tells nothing.
// The answer to a retry tells nothing by itself, but when it comes twice the first request was only slow to be
// answered.
uint64_t co_receive_block_answer_ns(struct co_receive_block *block, uint32_t psn, bool is_new, uint64_t now_ns);

// The source says that it has sent everything: what is missing now is lost, no cutoff needed.
static inline void co_receive_block_all_sent(struct co_receive_block *block)
{
    block->next_psn = block->chunks;
}

// When co_receive_block_request has something to say, UINT64_MAX never.
uint64_t co_receive_block_due_ns(const struct co_receive_block *block, const struct co_repair_timing *timing);

// Exact missing ranges to ask for now, at most `room`; they count as asked. 0: none. *is_retry: an earlier request
// went unanswered.
unsigned co_receive_block_request(struct co_receive_block *block, const struct co_repair_timing *timing,
                                  uint64_t now_ns, struct co_fetch_range *ranges, unsigned room, bool *is_retry);

#endif
