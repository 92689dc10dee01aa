// SPDX-License-Identifier: BSD-3-Clause
//
// A receive with a type map unpacks by it. For others castoff learns, while native can still be asked, where the bytes
// of the receive's type belong, and puts them there itself. The few types that it cannot learn (an element that spans
// more than 16 MiB) are left to the next call that completes or tests a request, or to MPI_Finalize. Rare; any thread.
#include "pmpi/p2p/freed_receives.h"

#include "pmpi/datatype/unpack_table.h"
#include "pmpi/p2p/message_pool.h"

_Atomic(struct co_message_operation *) co_freed_receives_ended;

static void release(struct co_message_operation *message)
{
    co_unpack_table_close(message->unpack_table);
    co_message_release(&message->buffer);
    co_message_pool_give(message);
}

// Both with the lock of point-to-point held, perhaps in native's progress loop.
static void has_ended(struct co_p2p_receive *receive)
{
    struct co_message_operation *message = (struct co_message_operation *)receive;
    if (message->buffer.map != NULL) {
        co_message_unpack(&message->buffer, receive);
    } else if (message->unpack_table != NULL && receive->result == 0) {
        co_unpack_table_apply(message->unpack_table, message->buffer.address, message->buffer.packed,
                              receive->bytes < receive->room ? receive->bytes : receive->room);
    }
    release(message); // it holds no type
}

static void has_ended_unlearned(struct co_p2p_receive *receive)
{
    struct co_message_operation *message = (struct co_message_operation *)receive;
    message->next_ended = co_load_relaxed(&co_freed_receives_ended); // relaxed: compared below
    // release F1: the message and its bytes
    while (!atomic_compare_exchange_weak_explicit(&co_freed_receives_ended, &message->next_ended, message,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

void co_freed_receives_unpack(void)
{
    // acquire F1
    struct co_message_operation *message =
        atomic_exchange_explicit(&co_freed_receives_ended, NULL, memory_order_acquire);
    while (message != NULL) {
        struct co_message_operation *next = message->next_ended;
        co_message_unpack(&message->buffer, &message->p2p.receive); // its error is nobody's
        release(message);
        message = next;
    }
}

bool co_freed_receive_detach(void *operation)
{
    struct co_message_operation *message = operation;
    bool is_packed = message->buffer.packed != NULL;
    MPI_Datatype held_type = message->buffer.held_type;
    bool is_learned = is_packed && message->buffer.map == NULL;
    message->unpack_table = is_learned ? co_unpack_table_open(message->buffer.type, &message->buffer.facts) : NULL;
    if (is_learned && message->unpack_table == NULL) {
        return co_p2p_receive_detach(&message->p2p.receive, has_ended_unlearned);
    }
    // Once it is detached it may be gone; and its type is native's to free, which has_ended must not do.
    message->buffer.held_type = co_next.datatype_null;
    if (!co_p2p_receive_detach(&message->p2p.receive, has_ended)) {
        message->buffer.held_type = held_type;
        co_unpack_table_close(message->unpack_table);
        return false;
    }
    if (held_type != co_next.datatype_null) {
        co_next.Type_free(&held_type);
    }
    return true;
}
