// SPDX-License-Identifier: BSD-3-Clause
// An array of requests as real programs have it: Iallgathers, an Iallgatherv and Ibcasts between native receives,
// sends, persistent requests (messages and collectives, started and inactive), a native non-blocking barrier and nulls,
// in a different order on every rank. It knows what each request has to deliver and that none may complete twice. Used
// by the iallgather_mixed_* and ialltoall_mixed_* programs, main thread only.
#ifndef CO_TEST_MIXTURE_H
#define CO_TEST_MIXTURE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#define CO_MIXTURE_SLOTS 16

enum co_mixture_kind {
    CO_MIXTURE_NULL,
    CO_MIXTURE_GATHER,
    CO_MIXTURE_UNEQUAL_GATHER,
    CO_MIXTURE_BROADCAST,
    CO_MIXTURE_SEND,
    CO_MIXTURE_RECEIVE,
    CO_MIXTURE_PERSISTENT_SEND,
    CO_MIXTURE_PERSISTENT_RECEIVE,
    CO_MIXTURE_PERSISTENT_GATHER, // equal blocks in even rounds
    CO_MIXTURE_INACTIVE,
    CO_MIXTURE_INACTIVE_BROADCAST,
    CO_MIXTURE_BARRIER
};

struct co_mixture_slot {
    enum co_mixture_kind kind;
    MPI_Request handle; // as it was when the operation started
    unsigned char *send;
    unsigned char *receive;
    size_t bytes;
    int operation;
    int *counts, *places; // of unequal blocks, as long as the request
    int told[3];          // by the status: source, tag, bytes
    bool completed;
};

struct co_mixture {
    MPI_Request requests[CO_MIXTURE_SLOTS];
    struct co_mixture_slot slots[CO_MIXTURE_SLOTS];
    int round;
    int active; // operations that have not completed
};

// Whether a request of this kind has been started, and will complete.
bool co_mixture_is_active(enum co_mixture_kind kind);

// Set before the first start: all-to-alls, of equal and unequal blocks in turn, in place of the Iallgathers.
extern bool co_mixture_exchanges;

// Starts all the operations of a round; rounds differ in sizes and in the order of the slots.
// Collective over MPI_COMM_WORLD, and all ranks must complete the mixture before the next.
void co_mixture_start(struct co_mixture *mixture, int round);

// The completion call under test has reported this index. Checks the data, the state of the request,
// and, when `status` is not NULL, what it says.
void co_mixture_complete(struct co_mixture *mixture, int index, const MPI_Status *status);

// Checks that a call that reported nothing has left all requests alone.
void co_mixture_check_untouched(const struct co_mixture *mixture, const char *call);

// Waits by Request_get_status until every operation is complete, without consuming any.
void co_mixture_settle(struct co_mixture *mixture);

// Checks that everything was reported and releases the persistent requests and buffers.
void co_mixture_finish(struct co_mixture *mixture, const char *call);

// Checks that a status is an empty one.
void co_mixture_check_empty_status(const MPI_Status *status, const char *where);

#endif
