// SPDX-License-Identifier: BSD-3-Clause
//
// What native 4.1 charges (measured): 8 to 15 bytes beside each message, and up to 8 once, for alignment. Small
// messages it takes even without a buffer, so they are taken here, too: one that neither finds room nor can leave at
// once goes like a standard send, which bounds a flood. Any thread.
#include "pmpi/p2p/buffered.h"

#include "base/memory/memory_copy.h"
#include "pmpi/p2p/message_requests.h"
#include "pmpi/datatype/packing.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT sizeof(void *)
#define TRIES 64                // looks for messages that have left, before a send is refused
#define FREE_OF_CHARGE 4040     // largest message that native sends to a peer without a buffer
#define FREE_OF_CHARGE_SELF 968 // to ourselves

static _Atomic size_t room, used; // of the attached buffer

struct buffered {
    struct co_p2p_send send; // first
    size_t cost;
    unsigned char bytes[];
};

// What a request for one says.
struct ticket {
    int own_rank, tag;
    size_t bytes;
};

void co_buffered_attach(const void *address, size_t bytes)
{
    size_t skipped = ALIGNMENT - (uintptr_t)address % ALIGNMENT;
    co_store_relaxed(&room, bytes > skipped ? bytes - skipped : 0); // relaxed: attaching and sending do not overlap
}

static void describe(const void *waited_for, char *text, size_t text_room)
{
    (void)waited_for;
    snprintf(text, text_room, "buffered messages of %zu bytes have not left", co_load_relaxed(&used)); // relaxed: text
}

void co_buffered_drain(void)
{
    struct co_wait wait = {.call = "MPI_Buffer_detach", .for_message = true, .describe = describe};
    while (co_load_acquire(&used) != 0) { // acquire B1
        co_engine_wait_turn(co_process.engine, &wait);
    }
}

static bool reserve_now(size_t cost)
{
    size_t before = co_load_relaxed(&used); // relaxed: a number, nothing hangs on it
    do {
        if (before + cost > co_load_relaxed(&room)) { // relaxed: as above
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&used, &before, before + cost, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

// With the lock of point-to-point held.
static void has_left(struct co_p2p_send *send)
{
    struct buffered *message = (struct buffered *)send;
    co_sub_acq_rel(&used, message->cost); // release B1
    free(message);
}

static bool is_free_of_charge(const struct co_message_buffer *buffer, int destination,
                              const struct co_communicator *communicator)
{
    return buffer->bytes <= (destination == communicator->seed.rank ? FREE_OF_CHARGE_SELF : FREE_OF_CHARGE);
}

// What has been received may have left without our looking, or while another thread was looking. What needs no buffer
// is not worth a look.
static bool reserve(size_t cost, bool is_free)
{
    bool is_reserved = reserve_now(cost);
    int tries = is_free ? 0 : TRIES;
    for (; !is_reserved && co_load_relaxed(&used) > 0 && tries > 0; tries--) { // relaxed: a number
        if (co_engine_progress(co_process.engine) == 0) {
            sched_yield();
        }
        is_reserved = reserve_now(cost);
    }
    return is_reserved;
}

static int copy(struct buffered *message, const struct co_message_buffer *buffer)
{
    if (buffer->bytes > 0 && !buffer->facts.is_contiguous) {
        return co_pack(message->bytes, buffer->address, (size_t)buffer->count, buffer->type, &buffer->facts);
    }
    co_memory_copy(message->bytes, buffer->address, buffer->bytes);
    return 0;
}

// A copy on its way, for which there is room. 0 or -errno.
static int send_copy(const struct co_message_buffer *buffer, int destination, int tag,
                     struct co_communicator *communicator, size_t cost)
{
    struct buffered *message = malloc(sizeof *message + buffer->bytes);
    int error = message == NULL ? -ENOMEM : copy(message, buffer);
    if (error != 0) {
        free(message);
        co_sub_acq_rel(&used, cost); // release B1
        return error;
    }
    message->cost = cost;
    message->send = (struct co_p2p_send){.context = communicator->messages,
                                         .data = message->bytes,
                                         .bytes = buffer->bytes,
                                         .destination = destination,
                                         .tag = tag,
                                         .in_background = true,
                                         .on_done = has_left};
    co_p2p_send(&message->send);
    return 0;
}

static int send_and_wait(const struct co_message_buffer *buffer, int destination, int tag,
                         struct co_communicator *communicator)
{
    struct co_message_buffer own = *buffer;
    int error = co_message_pack(&own);
    if (error == 0) {
        struct co_p2p_send send = {.context = communicator->messages, .destination = destination, .tag = tag};
        co_message_fill_send(&send, &own);
        co_p2p_send(&send);
        co_message_wait_sent(&send, "MPI_Bsend");
        error = send.result;
    }
    co_message_release(&own);
    return error;
}

static size_t cost_of(const struct co_message_buffer *buffer)
{
    return (buffer->bytes + 2 * ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

int co_buffered_send(const struct co_message_buffer *buffer, int destination, int tag,
                     struct co_communicator *communicator)
{
    size_t cost = cost_of(buffer);
    bool is_free = is_free_of_charge(buffer, destination, communicator);
    if (reserve(cost, is_free)) {
        return send_copy(buffer, destination, tag, communicator, cost);
    }
    return is_free ? send_and_wait(buffer, destination, tag, communicator) : -ENOBUFS;
}

static bool is_done(const void *operation)
{
    (void)operation;
    return true;
}

static int settle(void *operation)
{
    (void)operation;
    return 0;
}

static void fill_status(const void *operation, MPI_Status *status)
{
    const struct ticket *ticket = operation;
    co_message_fill_status(status, ticket->own_rank, ticket->tag, ticket->bytes, false);
}

static void cancel(void *operation)
{
    (void)operation; // a send is never cancelled, as natively
}

static const struct co_request_kind kind = {.call = "MPI_Ibsend",
                                            .is_message = true,
                                            .is_done = is_done,
                                            .settle = settle,
                                            .fill_status = fill_status,
                                            .release = free,
                                            .cancel = cancel};

int co_buffered_start(struct co_mpi_request *request, const struct co_message_buffer *buffer, int destination, int tag,
                      struct co_communicator *communicator)
{
    size_t cost = cost_of(buffer);
    bool is_free = is_free_of_charge(buffer, destination, communicator);
    if (!reserve(cost, is_free)) {
        return is_free ? co_message_start_send(request, buffer, destination, tag, communicator, false) : -ENOBUFS;
    }
    struct ticket *ticket = malloc(sizeof *ticket);
    if (ticket == NULL) {
        co_sub_acq_rel(&used, cost); // release B1
        return -ENOMEM;
    }
    int error = send_copy(buffer, destination, tag, communicator, cost);
    if (error != 0) {
        free(ticket);
        return error;
    }
    *ticket = (struct ticket){communicator->seed.rank, tag, buffer->bytes};
    co_request_start(request, &kind, ticket, communicator);
    return 0;
}
