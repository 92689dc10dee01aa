// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel, first stage: completions of receives become arrivals, a batch at a time, and the receives behind
// them are linked to be posted again. The second one places what has arrived (mcast/receive/datapath.h). Freestanding
// as that one: no libc, no locks, no allocation, no state of its own. One thread at a time for the objects of a call;
// hot.
#ifndef CASTOFF_TRANSPORT_VERBS_COMPLETIONS_H
#define CASTOFF_TRANSPORT_VERBS_COMPLETIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/arrival.h"

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

// Of `count` completions: in `arrivals` (room for all) those that brought something wanted, in their order; returns how
// many. Every receive is linked to its queue's free ones but those that failed.
unsigned co_verbs_completions_read(const struct co_completion *completions, unsigned count,
                                   struct co_arrival *arrivals);

#endif
