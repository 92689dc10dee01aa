// SPDX-License-Identifier: BSD-3-Clause
//
// What one block has and lacks: chunks are marked as they come, and what its source says of its end is noted.
#include "mcast/receive/receive_block.h"

#include <assert.h>

#include "base/chunk_bitmap.h"

void co_receive_block_open(struct co_receive_block *block, uint64_t *arrived, size_t offset, size_t bytes,
                           uint32_t chunks, uint64_t now_ns)
{
    *block = (struct co_receive_block){
        .arrived = arrived, .offset = offset, .bytes = bytes, .chunks = chunks, .last_ns = now_ns};
}

// A first transmission beyond the highest PSN proves that the tail was late, not lost: take back its requests.
static void leave_tail(struct co_receive_block *block, uint32_t psn)
{
    block->in_tail = false;
    if (block->asked_below > psn) {
        block->asked_below = psn;
        block->asked_missing = co_chunk_bitmap_count_clear(block->arrived, 0, psn);
    }
    if (block->check_psn > psn) {
        block->check_psn = 0;
    }
}

static void hear(struct co_receive_block *block, uint64_t now_ns)
{
    if (now_ns > block->last_ns) {
        uint64_t gap = block->is_heard ? now_ns - block->last_ns : 0;
        uint64_t decayed = block->widest_gap_ns - block->widest_gap_ns / 8;
        block->widest_gap_ns = gap > decayed ? gap : decayed;
        block->last_ns = now_ns;
    }
    block->is_heard = true;
    block->is_ack_requested = false;
}

struct co_chunk_marks co_receive_block_marks(const struct co_receive_block *block)
{
    return (struct co_chunk_marks){.arrived = block->arrived,
                                   .count = block->count,
                                   .next_psn = block->next_psn,
                                   .asked_below = block->asked_below,
                                   .asked_missing = block->asked_missing};
}

static void take_marks(struct co_receive_block *block, const struct co_chunk_marks *marks)
{
    block->count = (uint32_t)marks->count;
    block->next_psn = (uint32_t)marks->next_psn;
    block->asked_missing = (uint32_t)marks->asked_missing;
}

void co_receive_block_marked(struct co_receive_block *block, const struct co_chunk_marks *marks, uint64_t now_ns)
{
    assert(!block->in_tail && block->asked_below == marks->asked_below);
    if (marks->count > block->count) {
        take_marks(block, marks);
        hear(block, now_ns);
    }
}

bool co_receive_block_accept(struct co_receive_block *block, uint32_t psn, bool is_repair, uint64_t now_ns)
{
    struct co_chunk_marks marks = co_receive_block_marks(block);
    uint32_t highest = block->next_psn;
    if (!co_datapath_mark_chunk(&marks, psn)) {
        return false;
    }
    take_marks(block, &marks);
    if (block->in_tail && !is_repair && psn >= highest) {
        leave_tail(block, psn);
    }
    if (is_repair) {
        block->repaired_ns = now_ns;
        block->retries = 0;
    } else {
        hear(block, now_ns);
    }
    return true;
}

void co_receive_block_all_sent(struct co_receive_block *block, uint64_t now_ns)
{
    if (block->in_tail && block->next_psn < block->chunks && block->repaired_ns == 0) {
        block->retry_ns = now_ns;
        block->retries =
            block->retries < CO_LOSS_DETECTOR_PROBES ? CO_LOSS_DETECTOR_PROBES : block->retries; // all of it
    }
    block->next_psn = block->chunks;
}

void co_receive_block_told(struct co_receive_block *block, uint32_t sent, uint64_t now_ns)
{
    if (sent >= block->chunks) {
        co_receive_block_all_sent(block, now_ns);
    } else if (sent > block->next_psn) {
        leave_tail(block, block->next_psn);
        block->next_psn = sent;
        block->gap_since_ns = block->last_ns = now_ns;
    }
}
