// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments, buffers and waiting of point-to-point calls. Arguments are asked of native where they are not plain: it
// judges a message to nobody as it would the call itself.
#include "pmpi/p2p/messages.h"

#include "base/buffer_cache.h"
#include "pmpi/datatype/known_types.h"
#include "pmpi/datatype/packing.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>

static bool native_accepts(const struct co_message_buffer *buffer, bool sends)
{
    int code = sends ? co_next.Send(buffer->address, buffer->count, buffer->type, MPI_PROC_NULL, 0, co_process.self)
                     : co_next.Recv(buffer->address, buffer->count, buffer->type, MPI_PROC_NULL, 0, co_process.self,
                                    MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS;
}

#define MAP_LEAST 256 // bytes: below, native packs in the time in which a shape is made for one message

// Native looks at the address, too, and refuses some that are NULL.
static bool read_type(struct co_message_buffer *buffer, bool sends)
{
    const struct co_datatype *predefined = co_datatype_predefined(buffer->type);
    const struct co_known_type *known = co_known_type_find(buffer->type);
    if (known != NULL && buffer->address != NULL && buffer->count >= 0 && co_known_type_is_accepted(known, sends)) {
        buffer->facts = known->facts;
        return true;
    }
    if (!native_accepts(buffer, sends)) {
        return false;
    }
    if (predefined != NULL) {
        buffer->facts = *predefined;
    } else if (!co_datatype_read(buffer->type, &buffer->facts)) {
        return false;
    } else {
        co_known_type_meet(buffer->type, &buffer->facts, sends);
    }
    return true;
}

bool co_message_read_program_type(struct co_message_buffer *buffer, bool sends)
{
    bool is_read = read_type(buffer, sends);
    if (is_read) {
        buffer->bytes = (size_t)buffer->count * buffer->facts.bytes;
    }
    return is_read;
}

// False: nothing is packed.
static bool begin(struct co_message_buffer *buffer)
{
    buffer->packed = NULL;
    buffer->map = NULL;
    buffer->unpacked = 0;
    buffer->held_type = co_next.datatype_null;
    return !co_message_lies_in_a_row(buffer);
}

// The shape, if there is one, is held by the caller. The map stands behind the packed bytes.
static int take_room(struct co_message_buffer *buffer, struct co_type_shape *shape, void *(*take)(size_t bytes))
{
    size_t place = (buffer->bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    buffer->packed = take(shape == NULL ? buffer->bytes : place + sizeof(struct co_type_map));
    if (buffer->packed == NULL) {
        co_type_shape_drop(shape);
        return -ENOMEM;
    }
    if (shape != NULL) {
        buffer->map = (struct co_type_map *)((unsigned char *)buffer->packed + place);
        co_type_map_begin(buffer->map, shape, (size_t)buffer->count, buffer->facts.extent);
    }
    return 0;
}

// Held by the caller, or NULL.
static struct co_type_shape *shape_of(const struct co_message_buffer *buffer)
{
    const struct co_known_type *known = co_known_type_find(buffer->type);
    if (known != NULL) {
        return known->shape == NULL ? NULL : co_type_shape_hold(known->shape);
    }
    return buffer->bytes < MAP_LEAST
               ? NULL
               : co_type_shape_open(buffer->type, &buffer->facts, co_type_shape_worth(buffer->bytes));
}

int co_message_pack(struct co_message_buffer *buffer)
{
    if (!begin(buffer)) {
        return 0;
    }
    int error = take_room(buffer, NULL, co_buffer_cache_take);
    return error == 0 ? co_pack(buffer->packed, buffer->address, (size_t)buffer->count, buffer->type, &buffer->facts)
                      : error;
}

int co_message_pack_later(struct co_message_buffer *buffer)
{
    if (!begin(buffer)) {
        return 0;
    }
    struct co_type_shape *shape = shape_of(buffer);
    return shape == NULL ? co_message_pack(buffer) : take_room(buffer, shape, co_buffer_cache_take);
}

int co_message_make_room(struct co_message_buffer *buffer, bool outlives)
{
    if (!begin(buffer)) {
        return 0;
    }
    struct co_type_shape *shape = shape_of(buffer);
    if (outlives && shape == NULL) {
        int error = co_datatype_hold(buffer->type, &buffer->held_type);
        if (error != 0) {
            return error;
        }
        buffer->type = buffer->held_type;
    }
    return take_room(buffer, shape, co_buffer_cache_take_sparse); // what comes may be short
}

void co_message_pack_part(void *arg, size_t from, size_t to)
{
    struct co_message_buffer *buffer = arg;
    co_type_map_pack(buffer->map, buffer->packed, buffer->address, from, to);
}

void co_message_unpack_part(void *arg, size_t from, size_t to)
{
    struct co_message_buffer *buffer = arg;
    co_type_map_unpack(buffer->map, buffer->address, buffer->packed, from, to);
    buffer->unpacked = to;
}

static int unpack(struct co_message_buffer *buffer, size_t bytes)
{
    if (buffer->map == NULL) {
        return co_unpack_part(buffer->address, buffer->packed, bytes, (size_t)buffer->count, buffer->type,
                              &buffer->facts);
    }
    if (buffer->unpacked < bytes) {
        co_message_unpack_part(buffer, buffer->unpacked, bytes);
    }
    return 0;
}

int co_message_unpack_packed(struct co_message_buffer *buffer, const struct co_p2p_receive *receive)
{
    int error = receive->result == -ECANCELED ? 0 : receive->result;
    if (error == 0 && buffer->packed != NULL && receive->bytes > 0) {
        error = unpack(buffer, receive->bytes < buffer->bytes ? receive->bytes : buffer->bytes);
    }
    return error == 0 && receive->bytes > buffer->bytes ? -EMSGSIZE : error;
}

void co_message_release(struct co_message_buffer *buffer)
{
    if (buffer->map != NULL) {
        co_type_map_end(buffer->map);
    }
    co_buffer_cache_give(buffer->packed);
    buffer->map = NULL;
    buffer->packed = NULL;
    if (buffer->held_type != co_next.datatype_null) {
        co_next.Type_free(&buffer->held_type);
    }
}

void co_message_fill_status(MPI_Status *status, int source, int tag, size_t bytes, bool is_cancelled)
{
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = source;
        status->MPI_TAG = tag;
        co_status_set_bytes(status, bytes, is_cancelled);
    }
}

void co_message_describe_send(const void *waited_for, char *text, size_t room)
{
    const struct co_p2p_send *send = waited_for;
    snprintf(text, room, "a message of %zu bytes to rank %d, tag %d, is not taken", send->bytes, send->destination,
             send->tag);
}

void co_message_describe_wanted(int32_t source, int32_t tag, char *text, size_t room)
{
    char from[24] = "any rank", with[24] = "any tag";
    if (source != CO_P2P_ANY) {
        snprintf(from, sizeof from, "rank %d", source);
    }
    if (tag != CO_P2P_ANY) {
        snprintf(with, sizeof with, "tag %d", tag);
    }
    snprintf(text, room, "no message from %s, %s, has come", from, with);
}

void co_message_describe_receive(const void *waited_for, char *text, size_t room)
{
    const struct co_p2p_receive *receive = waited_for;
    co_message_describe_wanted(receive->node.source, receive->node.tag, text, room);
}

void co_message_wait_sent(const struct co_p2p_send *send, const char *call)
{
    if (co_p2p_send_is_done(send)) {
        return;
    }
    struct co_wait wait = {.call = call, .for_message = true, .describe = co_message_describe_send, .waited_for = send};
    while (!co_p2p_send_is_done(send)) {
        co_engine_wait_turn(co_process.engine, &wait);
    }
}

void co_message_wait_received(const struct co_p2p_receive *receive, const char *call)
{
    if (co_p2p_receive_is_done(receive)) {
        return;
    }
    struct co_wait wait = {
        .call = call, .for_message = true, .describe = co_message_describe_receive, .waited_for = receive};
    while (!co_p2p_receive_is_done(receive)) {
        co_engine_wait_turn(co_process.engine, &wait);
    }
}
