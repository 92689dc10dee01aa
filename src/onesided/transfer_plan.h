// SPDX-License-Identifier: BSD-3-Clause
//
// How a buffer is cut into chunks, one RDMA write each, and what a sender makes of what its members miss. The same
// bytes make the same chunks at all ends, so nobody has to say how. Pure.
#ifndef CASTOFF_ONESIDED_TRANSFER_PLAN_H
#define CASTOFF_ONESIDED_TRANSFER_PLAN_H

#include "onesided/control_wire.h"

#define CO_TRANSFER_CHUNK_MIN 65536

// Of 1 to CO_TRANSFER_BYTES_MAX bytes.
uint32_t co_transfer_chunk_bytes(uint64_t bytes);
uint32_t co_transfer_chunks(uint64_t bytes);
// Of the last chunk less than of the others.
uint32_t co_transfer_bytes_of(uint64_t bytes, uint32_t chunk);

// Whether what the coordinator sets up, SETUP or GO, is what this end has asked for: the sender with just its buffer
// and so many members, a member with one at most as long as its buffer.
bool co_transfer_setup_fits(const struct co_coordination_setup *setup, bool is_sender, uint64_t buffer_bytes,
                            uint32_t members);

// Immediate data: the chunk, and by eight bits the transfer, so that what comes late from the one before is told apart.
uint32_t co_transfer_immediate(uint32_t transfer, uint32_t chunk);
// False: of another transfer, or no chunk of this one.
bool co_transfer_take_immediate(uint32_t immediate, uint32_t transfer, uint32_t chunks, uint32_t *chunk);

// Fills ranges and counts of `out` from a bitmap of what has come.
void co_transfer_list_missing(struct co_coordination_missing *out, const uint64_t *bitmap, uint32_t chunks);

// How long to wait after each chunk. Nothing tells the sender of a queue that is full but what is missing afterwards.
struct co_transfer_pace {
    uint64_t pause_ns; // after a chunk
};

// After a round in which `sent` chunks took `took_ns`, and in what some member has there were so many gaps: not chunks,
// since one gap may be a hop or a member that was away.
void co_transfer_pace_learn(struct co_transfer_pace *pace, uint32_t sent, uint64_t took_ns, uint32_t gaps);

#endif
