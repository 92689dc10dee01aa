// SPDX-License-Identifier: BSD-3-Clause
//
// What stands around records on a connection between proxies that have shown each other the key: a head with kind and
// length, and a tag by the number of the frame in its direction (docs/wire-format.md has the drawing). Bytes in, frames
// out, without a socket. One thread; hot.
#ifndef CASTOFF_OFFLOAD_CARRIER_CARRIER_FRAME_H
#define CASTOFF_OFFLOAD_CARRIER_CARRIER_FRAME_H

#include <stdint.h>

#include "base/auth/auth.h"
#include "offload/carrier.h"
#include "offload/offload_record.h"

#define CO_CARRIER_HEAD_BYTES 8
#define CO_CARRIER_CONTROL_BYTES_MAX                                                                                   \
    (CO_OFFLOAD_RECORD_HEAD_BYTES + CO_OFFLOAD_RECORD_ENTRIES_MAX * CO_OFFLOAD_RECORD_ENTRY_BYTES) // of a record
#define CO_CARRIER_BULK_BYTES_MAX CO_OFFLOAD_RECORD_BYTES_MAX
#define CO_CARRIER_FRAME_MAX (CO_CARRIER_HEAD_BYTES + CO_CARRIER_BULK_BYTES_MAX + CO_AUTH_TAG_MAX)

enum co_carrier_frame_kind {
    CO_CARRIER_FRAME_RECORD = 1,
    CO_CARRIER_FRAME_PING,  // control, without a body: answered by PONG
    CO_CARRIER_FRAME_PONG,  // control, without a body
    CO_CARRIER_FRAME_LEAVE, // without a body: the last one on its connection
    CO_CARRIER_FRAME_END
};

struct co_carrier_stream {
    struct co_auth *auth;
    enum co_carrier_connection connection;
    bool is_client;       // has connected
    bool has_left;        // LEAVE was the last that came
    uint64_t said, heard; // frames
};

struct co_carrier_frame {
    enum co_carrier_frame_kind kind;
    const uint8_t *body;
    size_t body_bytes;
    size_t bytes; // with head and tag
};

// By the key of the connection. Control is keyed whatever `bulk_form` is. -ENOMEM, -ENOSYS.
int co_carrier_stream_open(struct co_carrier_stream *stream, const uint8_t key[CO_AUTH_KEY_BYTES], bool is_client,
                           enum co_carrier_connection connection, enum co_auth_form bulk_form, bool has_aes);
void co_carrier_stream_close(struct co_carrier_stream *stream);

// Head and tag of the next frame, for a body that stands between them on the wire. Returns the bytes of the tag.
size_t co_carrier_frame_seal(struct co_carrier_stream *stream, enum co_carrier_frame_kind kind, const void *body,
                             size_t body_bytes, uint8_t head[CO_CARRIER_HEAD_BYTES], uint8_t tag[CO_AUTH_TAG_MAX]);

// The frame that begins there. 1, and it is heard; 0: it is not whole, and goes on to `bytes` at least; -EPROTO: no
// frame is like this, or comes after LEAVE; -EBADMSG: its tag is wrong.
int co_carrier_frame_next(struct co_carrier_stream *stream, const uint8_t *data, size_t bytes,
                          struct co_carrier_frame *frame);

#endif
