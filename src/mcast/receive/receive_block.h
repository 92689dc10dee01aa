// SPDX-License-Identifier: BSD-3-Clause
//
// One block while it arrives: which chunks are there, what its source says of its end, and what has been asked for.
// When to ask for which of the missing ones is the loss detector's (repair/loss_detector.h). A pure state machine: time
// is an argument. Called for each chunk, hot.
#ifndef CASTOFF_MCAST_RECEIVE_RECEIVE_BLOCK_H
#define CASTOFF_MCAST_RECEIVE_RECEIVE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcast/receive/datapath.h"
#include "mcast/wire/wire.h"

// So many retries are for one chunk: the answer shows what else has been lost.
#define CO_LOSS_DETECTOR_PROBES 2

struct co_receive_block {
    uint64_t *arrived; // bitmap, storage of the owner
    size_t offset;     // of the block in the operation's buffer, bytes
    size_t bytes;
    uint32_t chunks, count; // of the block, arrived
    uint32_t next_psn;      // one past the highest PSN seen
    uint32_t asked_below;   // every chunk below is there or has been asked for
    uint32_t asked_missing; // chunks below asked_below that are not there
    uint32_t retries;       // since the last repair
    bool in_tail;           // the cutoff has passed: chunks beyond next_psn count as lost too
    bool is_loss_told;      // of all that was asked for; since then it was for single chunks
    bool is_heard;          // at least one first transmission has come
    bool is_ack_requested;  // since the last of them the source has said that it waits for credit
    // Loss is counted when it is noticed, not when it is asked for, which may be long after.
    uint32_t counted_below; // what is missing below has been counted
    uint32_t noticed_below; // and this much was there, or was not, at noticed_ns
    uint32_t shown;         // one past the highest PSN, or how many have come: the more, as the turns count them
    uint32_t heard_at;      // chunks that had come, of whatever block, when it was heard last, or began
    uint64_t noticed_ns;
    uint64_t last_ns;      // last first transmission, or start: repairs say nothing about the sender
    uint64_t gap_since_ns; // when the oldest gap that has not been asked for was noticed, 0 none
    uint64_t retry_ns;     // when to ask again
    uint32_t last_request; // number of the last request for chunks of this block
    uint64_t requested_ns; // when it left
    // Requests of a group are numbered, and the neighbour answers in order: once the answer to a later one than
    // check_request has come, of whatever block, what is still missing below check_psn has been lost again.
    uint32_t check_psn; // 0: nothing is watched
    uint32_t check_request;
    uint32_t check_missing; // was missing below when that left
    uint64_t check_ns;      // which was then
    bool is_deferred;       // some of what was asked for waits at the neighbour, who has it no more than we
    uint64_t repaired_ns;   // last repair, 0 none: while they come, nothing is asked again
    uint64_t widest_gap_ns; // between first transmissions, decaying: a slow or bursty sender is not a lossy one
};

// `arrived` has co_chunk_bitmap_words(chunks) zeroed words.
void co_receive_block_open(struct co_receive_block *block, uint64_t *arrived, size_t offset, size_t bytes,
                           uint32_t chunks, uint64_t now_ns);

static inline bool co_receive_block_is_complete(const struct co_receive_block *block)
{
    return block->count == block->chunks;
}

// Long enough for its end to be announced, and for a guess about it to be answered by a word.
static inline bool co_receive_block_is_long(const struct co_receive_block *block)
{
    return block->chunks >= CO_WIRE_ANNOUNCED_CHUNKS;
}

// Asked for, and yet it is not even known whether its source has begun.
static inline bool co_receive_block_is_awaited(const struct co_receive_block *block)
{
    return block->asked_missing > 0 && block->next_psn == 0;
}

static inline uint32_t co_receive_block_under_way(const struct co_receive_block *block)
{
    return block->is_deferred ? 0 : block->asked_missing;
}

// Marks a chunk (psn < chunks). True when it is new: the caller copies it then, once.
bool co_receive_block_accept(struct co_receive_block *block, uint32_t psn, bool is_repair, uint64_t now_ns);

// Many first transmissions at once, of a block that is not in its tail: the datapath kernel marks them in what the
// first gives, and the second takes that back. The same as accepting one after the other now. Nothing else may happen
// to the block in between.
struct co_chunk_marks co_receive_block_marks(const struct co_receive_block *block);
void co_receive_block_marked(struct co_receive_block *block, const struct co_chunk_marks *marks, uint64_t now_ns);

// The source says that it has sent everything: what is missing now is lost, no cutoff needed. Who had guessed so, and
// was not answered, asks again.
void co_receive_block_all_sent(struct co_receive_block *block, uint64_t now_ns);

// So many of the chunks are known to be sent, and have had their time to come: what is missing of them is lost, and
// what had been guessed about all others may still come.
void co_receive_block_told(struct co_receive_block *block, uint32_t sent, uint64_t now_ns);

// The source's earlier block is complete: its silence counts from now on.
static inline void co_receive_block_is_next(struct co_receive_block *block, uint64_t now_ns)
{
    block->last_ns = now_ns > block->last_ns ? now_ns : block->last_ns;
}

// Its source is heard again: of a block of which nothing has been asked for yet silence has to tell once more.
static inline void co_receive_block_awaits(struct co_receive_block *block, uint64_t now_ns)
{
    if (block->in_tail && !block->is_heard && block->asked_below == 0) {
        block->in_tail = false;
        co_receive_block_is_next(block, now_ns);
    }
}

#endif
