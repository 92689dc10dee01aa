// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel: what is done for each completion of a receive (S1, section 4, has it done by the adapter). Two
// stages, each for a batch of completions:
//
//   read    completions -> arrivals; the receives behind them are linked to be posted again
//   place   arrivals of one block, in staging: checked, marked in its bitmap, the copy to their place queued
//   mark    likewise where the payload stands in its place already, by the immediate that came with it
//
// The transport calls the first, the protocol one of the others; between them it may have a tag verified. What does not
// belong to the block is left to the caller, who knows more. Freestanding: no libc, no locks, no allocation, no state
// of its own, so an adapter's processor can run it. One thread at a time for the objects of a call. The hottest code
// there is: `make bench-kernel` counts its instructions.
#ifndef CASTOFF_MCAST_DATAPATH_H
#define CASTOFF_MCAST_DATAPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As the verbs interface has it (struct ibv_wc; verbs_receive.c proves that they are the same).
struct co_completion {
    uint64_t id; // address of the struct co_receive
    uint32_t status, operation;
    uint32_t vendor_error, bytes;
    uint32_t immediate, queue_pair;
    uint32_t source, flags;
    uint16_t key_index, lid;
    uint8_t service, path;
    uint16_t unused;
};
_Static_assert(sizeof(struct co_completion) == 48, "struct ibv_wc");

#define CO_COMPLETION_RECEIVED UINT32_C(128) // operation: a message, to the memory of the receive
#define CO_COMPLETION_WRITTEN UINT32_C(129)  // operation: written to its place by the sender, who says so

// A receive and where it puts what comes. It begins as the verbs interface has it (struct ibv_recv_wr, of one place),
// and is filled in once: to post it again is to link it.
struct co_receive {
    uint64_t id;
    struct co_receive *next;
    struct co_receive_place *place;
    uint32_t places, unused;
    struct co_receive_queue *queue;
    const uint8_t *data;      // where a message begins; NULL: it has no memory
    struct co_receive_place { // struct ibv_sge
        uint64_t address;
        uint32_t bytes, key;
    } where;
};
_Static_assert(sizeof(struct co_receive) == 64, "one line for each receive");

// The receives of one queue pair. `free` are those to be posted again, linked from `first` on; `end` is where the next
// is linked to.
struct co_receive_queue {
    struct co_receive *first, **end;
    uint32_t status, operation; // 0, and that of completions as they ought to be; compared as one word
    uint32_t skip_bytes;        // in front of each message, counted by its completion
    uint32_t free;
    bool is_wanted;  // else what comes is passed over
    uint32_t failed; // completions with an error: the receive is gone
    uint32_t strays; // of another operation, or shorter than what is skipped
};
_Static_assert(offsetof(struct co_receive_queue, status) % 8 == 0 && offsetof(struct co_completion, status) % 8 == 0,
               "words");

// The free ones, linked, to be posted by the caller; NULL: none.
static inline struct co_receive *co_receive_queue_take(struct co_receive_queue *queue)
{
    *queue->end = NULL;
    queue->end = &queue->first;
    queue->free = 0;
    return queue->first;
}

// A datagram that has come.
struct co_arrival {
    const uint8_t *data;
    size_t bytes;
    uint32_t immediate; // that came with it, if one did
};

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

// Of `count` completions: in `arrivals` (room for all) those that brought something wanted, in their order; returns how
// many. Every receive is linked to its queue's free ones but those that failed.
unsigned co_datapath_read(const struct co_completion *completions, unsigned count, struct co_arrival *arrivals);

// Takes the arrivals from the first on as long as they are chunks of the flow; returns how many, duplicates included,
// and counts why it ended. What is new is marked, and its copy queued at `copies` (room for all), as many as
// flow->placed has grown by. Arrivals stay as they are until the copies have been made.
unsigned co_datapath_place(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count,
                           struct co_copy *copies);

// Likewise of chunks whose payload stands in its place, by their immediate: the PSN from first_immediate on.
unsigned co_datapath_mark(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count);

#endif
