// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel, second stage: what is done for each chunk that has come (S1, section 4, has it done by the
// adapter), a batch at a time. The first one reads the completions of receives (transport/verbs/verbs_completions.h).
//
//   place   arrivals of one block, in staging: checked, marked in its bitmap, the copy to their place queued
//   mark    likewise where the payload stands in its place already, by the immediate that came with it
//
// What does not belong to the block is left to the caller, who knows more. Freestanding: no libc, no locks, no
// allocation, no state of its own, so an adapter's processor can run it. One thread at a time for the objects of a
// call. The hottest code there is: `make bench-kernel` counts its instructions.
#ifndef CASTOFF_MCAST_RECEIVE_DATAPATH_H
#define CASTOFF_MCAST_RECEIVE_DATAPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/arrival.h"

// What the arrival of a chunk changes of its block.
struct co_chunk_marks {
    uint64_t *arrived;    // bitmap
    size_t count;         // arrived
    size_t next_psn;      // one past the highest PSN seen
    size_t asked_below;   // every chunk below is there or has been asked for
    size_t asked_missing; // chunks below asked_below that are not there
};

// Marks a chunk. True when it is new.
static inline bool co_datapath_mark_chunk(struct co_chunk_marks *marks, size_t psn)
{
    uint64_t mask = UINT64_C(1) << (psn % 64);
    if (__builtin_expect((marks->arrived[psn / 64] & mask) != 0, 0)) {
        return false;
    }
    marks->arrived[psn / 64] |= mask;
    marks->count++;
    if (__builtin_expect(psn < marks->asked_below, 0)) {
        marks->asked_missing--;
    }
    if (__builtin_expect(psn >= marks->next_psn, 1)) {
        marks->next_psn = psn + 1;
    }
    return true;
}

struct co_copy {
    const uint8_t *from;
    uint8_t *to;
    uint32_t bytes;
};

// Why a batch was not taken to its end.
enum co_flow_end {
    CO_FLOW_ALL,    // it was
    CO_FLOW_LENGTH, // no chunk of this block is that long
    CO_FLOW_HEAD,   // of another block, or no chunk, or not at an address that is a multiple of 8
    CO_FLOW_RANGE,  // the block has no such chunk, or that one has another length
    CO_FLOW_TAG,    // the tag did not verify
    CO_FLOW_ENDS
};

typedef bool co_genuine_fn(void *arg, const struct co_arrival *arrival);

// The chunks of one block. A chunk's head is 24 bytes, alike for all but for the PSN (docs/wire-format.md).
struct co_flow {
    uint64_t head_begin;  // its first 8 bytes, as they stand there
    uint32_t operation;   // the next 4; then comes the PSN, little-endian
    uint32_t full_chunks; // PSNs below are of datagrams of full_bytes; there is at most one more
    uint64_t head_end;    // its last 8 bytes
    uint32_t chunks;
    uint32_t full_bytes, last_bytes; // of a datagram, that of the last chunk: head, payload, tail
    uint32_t beside_bytes;           // of each that are no payload
    uint32_t chunk_bytes;            // from one chunk's place to the next one's
    int64_t first_immediate;         // of PSN 0, even if that has come already and the number is none
    uint8_t *to;                     // place of PSN 0
    // The seam for what verifies tags: called when all else is right, before anything is marked. NULL: there are none.
    co_genuine_fn *is_genuine;
    void *arg;
    struct co_chunk_marks marks;
    // Of the calls so far.
    uint32_t placed, duplicates;
    uint32_t ends[CO_FLOW_ENDS]; // calls by their end
};

#define CO_FLOW_HEAD_BYTES 24
#define CO_FLOW_PSN_AT 12

// Takes the arrivals from the first on as long as they are chunks of the flow; returns how many, duplicates included,
// and counts why it ended. What is new is marked, and its copy queued at `copies` (room for all), as many as
// flow->placed has grown by. Arrivals stay as they are until the copies have been made.
unsigned co_datapath_place(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count,
                           struct co_copy *copies);

// Likewise of chunks whose payload stands in its place, by their immediate: the PSN from first_immediate on.
unsigned co_datapath_mark(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count);

#endif
