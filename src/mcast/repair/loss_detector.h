// SPDX-License-Identifier: BSD-3-Clause
//
// Which chunks of a block to ask for, and when. Owns the cutoff timer (S1, section 3.3), which runs from the last chunk
// heard, and the re-request timer. Pure: time is an argument, nothing is sent here. Called once a poll, warm.
#ifndef CASTOFF_MCAST_REPAIR_LOSS_DETECTOR_H
#define CASTOFF_MCAST_REPAIR_LOSS_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "mcast/receive/receive_block.h"
#include "mcast/wire/wire.h"

struct co_loss_timing {
    uint64_t cutoff_ns; // floor of the silence that counts as loss
    uint64_t retry_ns;  // time within which an answer should have come
    uint64_t probe_ns;  // time after which it is worth asking for one chunk again, at most that
    uint64_t rtt_ns;    // what it takes on average, 0: not known
    uint64_t busy_ns;   // when anything came by multicast last: an answer that is not known to be late may be behind it
    uint64_t reorder_ns; // age at which a gap counts as loss while later chunks arrive
    uint64_t heard_ns;   // when the source last sent anything by multicast: then it is not silent, but busy
    bool is_in_turn;     // all send, and what has come since may be no more than the others' turns
    bool is_next;        // no earlier block of the source is incomplete: its silence is this block's
    uint32_t request;    // number of the request that would leave now
    uint32_t answered;   // number of the latest request that an answer has come to
    bool is_choked;      // too many requests wait for answers: nothing more is asked but by the clock
    bool is_deaf;        // its multicast has not come here for several blocks: ask at once
    // Where it does not: when anything came that had been asked for. As long as that does, answers are on their way.
    uint64_t repaired_ns;
    bool is_suspect; // maybe it does not: the last block came by repair alone, or nothing comes of anybody
    // Calls of its group were unequal before: whether there is such a block at all is soon asked, its owner must know.
    bool is_doubtful;
    uint32_t budget; // chunks that may be asked for and not there, of all blocks; but for what waits at the neighbour
    uint32_t under_way; // of earlier blocks
    bool is_behind;     // an earlier block is awaited: this one, if it is too, leaves asking again by the clock to that
};

struct co_nack {
    struct co_nack_range *ranges; // storage of the caller, `room` of them
    unsigned room, count;
    uint32_t lost;  // chunks that had been asked for, and have been lost again
    bool is_cut;    // others have come that had been asked for with them
    bool is_retry;  // an earlier request went unanswered
    bool is_proven; // later chunks have come, or the end was announced
};

// Chunks that are lost beyond doubt, for later ones have come or the end was announced, and it has not been said so
// yet.
uint32_t co_loss_detector_count_lost(struct co_receive_block *block, uint64_t reorder_ns, uint64_t now_ns);

// When co_loss_detector_find has something to say, UINT64_MAX never.
uint64_t co_loss_detector_due_ns(const struct co_receive_block *block, const struct co_loss_timing *timing);

// Exact missing ranges to ask for now; they count as asked. Returns their number, 0: none.
unsigned co_loss_detector_find(struct co_receive_block *block, const struct co_loss_timing *timing, uint64_t now_ns,
                               struct co_nack *request);

#endif
