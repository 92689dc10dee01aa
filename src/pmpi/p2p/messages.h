// SPDX-License-Identifier: BSD-3-Clause
//
// What all point-to-point calls have in common: which communicators are served, whether arguments are such that native
// would accept them, the packed form of a buffer, and waiting. Hot; any thread.
#ifndef CASTOFF_PMPI_P2P_MESSAGES_H
#define CASTOFF_PMPI_P2P_MESSAGES_H

#include "p2p/p2p.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/datatype/datatypes.h"
#include "pmpi/life/process.h"

// A message's buffer, as the program gave it.
struct co_message_buffer {
    void *address;
    int count;
    MPI_Datatype type;
    struct co_datatype facts;
    size_t bytes; // packed
    void *packed; // NULL: the bytes lie in a row where they are
    // Of a large message, by which it is packed and unpacked in parts; NULL: native does it, as a whole.
    struct co_type_map *map;
    size_t unpacked;        // bytes, by the map
    MPI_Datatype held_type; // that outlives the program's (co_datatype_hold), datatype_null: none
};

// The communicator, where castoff serves its messages, or NULL.
static inline struct co_communicator *co_message_communicator(MPI_Comm comm)
{
    if (co_process_is_off() || !co_process.serves_messages) {
        return NULL;
    }
    struct co_communicator *communicator = co_communicators_find(comm);
    return communicator != NULL && communicator->messages != NULL ? communicator : NULL;
}

bool co_message_read_program_type(struct co_message_buffer *buffer, bool sends);

// False: native raises an error.
static inline bool co_message_read_buffer(struct co_message_buffer *buffer, bool sends)
{
    const struct co_datatype *predefined = co_datatype_predefined(buffer->type);
    if (predefined == NULL || buffer->address == NULL || buffer->count < 0) {
        return co_message_read_program_type(buffer, sends);
    }
    buffer->facts = *predefined;
    buffer->bytes = (size_t)buffer->count * predefined->bytes;
    return true;
}

// A rank that is one, and a tag: else the call is native's, also for MPI_PROC_NULL.
static inline bool co_message_is_for(const struct co_communicator *communicator, int rank, int tag)
{
    return (unsigned)rank < (unsigned)communicator->seed.facts.ranks && tag >= 0;
}

// Or any of them.
static inline bool co_message_is_from(const struct co_communicator *communicator, int source, int tag)
{
    return ((unsigned)source < (unsigned)communicator->seed.facts.ranks || source == MPI_ANY_SOURCE) &&
           (tag >= 0 || tag == MPI_ANY_TAG);
}

static inline int32_t co_message_wildcard(int value, int wildcard)
{
    return value == wildcard ? CO_P2P_ANY : value;
}

// Where that is necessary, packs, or makes room for packed bytes: 0, -ENOMEM or -EIO. `outlives`: the call.
int co_message_pack(struct co_message_buffer *buffer);
int co_message_pack_later(struct co_message_buffer *buffer); // with a map: when the engine asks for the bytes
int co_message_make_room(struct co_message_buffer *buffer, bool outlives);
int co_message_unpack_packed(struct co_message_buffer *buffer, const struct co_p2p_receive *receive);

// What came, into the program's buffer. 0, -EMSGSIZE: it was longer, or as above.
static inline int co_message_unpack(struct co_message_buffer *buffer, const struct co_p2p_receive *receive)
{
    bool is_there = buffer->packed == NULL && receive->result == 0 && receive->bytes <= buffer->bytes;
    return is_there ? 0 : co_message_unpack_packed(buffer, receive);
}
void co_message_release(struct co_message_buffer *buffer);

static inline void *co_message_bytes(const struct co_message_buffer *buffer)
{
    return buffer->packed != NULL ? buffer->packed : buffer->address;
}

// The parts of a send, or a receive, that the buffer tells; it stays where it is until that is over.
void co_message_pack_part(void *buffer, size_t from, size_t to);
void co_message_unpack_part(void *buffer, size_t from, size_t to);

static inline void co_message_fill_send(struct co_p2p_send *send, struct co_message_buffer *buffer)
{
    send->data = co_message_bytes(buffer);
    send->bytes = buffer->bytes;
    send->make = buffer->map != NULL ? co_message_pack_part : NULL;
    send->make_arg = buffer;
}

static inline void co_message_fill_receive(struct co_p2p_receive *receive, struct co_message_buffer *buffer)
{
    receive->buffer = co_message_bytes(buffer);
    receive->room = buffer->bytes;
    receive->on_bytes = buffer->map != NULL ? co_message_unpack_part : NULL;
    receive->on_bytes_arg = buffer;
}

// The communicator, where it and all arguments are such that castoff sends, or receives: then the buffer is filled in.
// NULL: the call is native's.
static inline struct co_communicator *co_message_route_send(struct co_message_buffer *buffer, const void *address,
                                                            int count, MPI_Datatype type, int destination, int tag,
                                                            MPI_Comm comm)
{
    struct co_communicator *communicator = co_message_communicator(comm);
    if (communicator == NULL || !co_message_is_for(communicator, destination, tag)) {
        return NULL;
    }
    *buffer = (struct co_message_buffer){.address = (void *)(uintptr_t)address, .count = count, .type = type};
    return co_message_read_buffer(buffer, true) ? communicator : NULL;
}

static inline struct co_communicator *co_message_route_receive(struct co_message_buffer *buffer, void *address,
                                                               int count, MPI_Datatype type, int source, int tag,
                                                               MPI_Comm comm)
{
    struct co_communicator *communicator = co_message_communicator(comm);
    if (communicator == NULL || !co_message_is_from(communicator, source, tag)) {
        return NULL;
    }
    *buffer = (struct co_message_buffer){.address = address, .count = count, .type = type};
    return co_message_read_buffer(buffer, false) ? communicator : NULL;
}

// A message there and one back, by one call.
struct co_message_exchange {
    struct co_communicator *communicator;
    struct co_message_buffer out, in;
    int destination, send_tag, source, receive_tag; // MPI_PROC_NULL: that half is empty
    const char *call;
};

// False: the call is native's, which is also asked where both halves are empty.
static inline bool co_message_route_exchange(struct co_message_exchange *exchange, MPI_Comm comm)
{
    struct co_communicator *communicator = exchange->communicator = co_message_communicator(comm);
    bool sends = exchange->destination != MPI_PROC_NULL, receives = exchange->source != MPI_PROC_NULL;
    return communicator != NULL && (sends || receives) &&
           co_message_is_for(communicator, sends ? exchange->destination : 0, exchange->send_tag) &&
           co_message_is_from(communicator, receives ? exchange->source : 0, exchange->receive_tag) &&
           co_message_read_buffer(&exchange->out, true) && co_message_read_buffer(&exchange->in, false);
}

static inline bool co_message_lies_in_a_row(const struct co_message_buffer *buffer)
{
    return buffer->facts.is_contiguous || buffer->bytes == 0;
}

// A send that needs neither packing nor waiting, and is over.
static inline bool co_message_leaves_now(const struct co_message_buffer *buffer, int destination, int tag,
                                         const struct co_communicator *communicator)
{
    return co_message_lies_in_a_row(buffer) &&
           co_p2p_send_now(communicator->messages, destination, tag, buffer->address, buffer->bytes);
}

// The usual one, of a predefined type, before anything is made ready for others. False: nothing has happened.
static inline bool co_message_leaves_at_once(const void *address, int count, MPI_Datatype type, int destination,
                                             int tag, MPI_Comm comm)
{
    const struct co_communicator *communicator = co_message_communicator(comm);
    const struct co_datatype *predefined = co_datatype_predefined(type);
    return communicator != NULL && co_message_is_for(communicator, destination, tag) && predefined != NULL &&
           predefined->is_contiguous && address != NULL && count >= 0 &&
           co_p2p_send_now(communicator->messages, destination, tag, address, (size_t)count * predefined->bytes);
}

// All but MPI_ERROR.
void co_message_fill_status(MPI_Status *status, int source, int tag, size_t bytes, bool is_cancelled);

// What such an operation waits for: struct co_p2p_send, struct co_p2p_receive.
void co_message_describe_send(const void *send, char *text, size_t room);
void co_message_describe_receive(const void *receive, char *text, size_t room);
// What a call without a message waits for, for the stall watchdog.
void co_message_describe_wanted(int32_t source, int32_t tag, char *text, size_t room);

void co_message_wait_sent(const struct co_p2p_send *send, const char *call);
void co_message_wait_received(const struct co_p2p_receive *receive, const char *call);

#endif
