// SPDX-License-Identifier: BSD-3-Clause
//
// Frames between proxies; see the header. The head is not tagged as such: kind and length are part of the nonce, so
// that a body is tagged where it stands, and both hold if the tag does.
#include "offload/carrier/carrier_frame.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "offload/little_endian.h"

enum { KIND_AT = 4, ZERO_AT = 5, ENDS = 2, FROM_CLIENT = 0, FROM_SERVER = 1 };

int co_carrier_stream_open(struct co_carrier_stream *stream, const uint8_t key[CO_AUTH_KEY_BYTES], bool is_client,
                           enum co_carrier_connection connection, enum co_auth_form bulk_form, bool has_aes)
{
    *stream = (struct co_carrier_stream){.connection = connection, .is_client = is_client};
    int error = co_auth_open(&stream->auth, key, ENDS, connection == CO_CARRIER_CONTROL ? CO_AUTH_KEYED : bulk_form);
    if (error == 0 && !has_aes) {
        co_auth_use_portable(stream->auth);
    }
    return error;
}

void co_carrier_stream_close(struct co_carrier_stream *stream)
{
    co_auth_close(stream->auth);
    stream->auth = NULL;
}

static enum co_auth_domain domain_of(const struct co_carrier_stream *stream)
{
    return stream->connection == CO_CARRIER_CONTROL ? CO_AUTH_CONTROL : CO_AUTH_CHUNK;
}

static void nonce_make(uint8_t nonce[CO_AUTH_NONCE_BYTES], uint64_t number, enum co_carrier_frame_kind kind,
                       size_t body_bytes)
{
    co_little_endian_put(nonce, number, 8);
    nonce[8] = (uint8_t)kind;
    co_little_endian_put(nonce + 9, body_bytes, 3);
    static_assert(CO_CARRIER_BULK_BYTES_MAX < 1 << 24, "the length fits the nonce");
}

size_t co_carrier_frame_seal(struct co_carrier_stream *stream, enum co_carrier_frame_kind kind, const void *body,
                             size_t body_bytes, uint8_t head[CO_CARRIER_HEAD_BYTES], uint8_t tag[CO_AUTH_TAG_MAX])
{
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    memset(head, 0, CO_CARRIER_HEAD_BYTES);
    co_little_endian_put(head, body_bytes, 4);
    head[KIND_AT] = (uint8_t)kind;
    nonce_make(nonce, stream->said++, kind, body_bytes);
    co_auth_seal(stream->auth, domain_of(stream), stream->is_client ? FROM_CLIENT : FROM_SERVER, 0, nonce, body,
                 body_bytes, NULL, 0, tag);
    return co_auth_tag_bytes(stream->auth);
}

// What may stand in a head on this connection.
static bool head_is_good(const struct co_carrier_stream *stream, enum co_carrier_frame_kind kind, size_t body_bytes)
{
    bool is_control = stream->connection == CO_CARRIER_CONTROL;

    switch (kind) {
    case CO_CARRIER_FRAME_RECORD:
        return body_bytes > 0 && body_bytes <= (is_control ? CO_CARRIER_CONTROL_BYTES_MAX : CO_CARRIER_BULK_BYTES_MAX);
    case CO_CARRIER_FRAME_PING:
    case CO_CARRIER_FRAME_PONG:
        return is_control && body_bytes == 0;
    case CO_CARRIER_FRAME_LEAVE:
        return body_bytes == 0;
    default:
        return false;
    }
}

int co_carrier_frame_next(struct co_carrier_stream *stream, const uint8_t *data, size_t bytes,
                          struct co_carrier_frame *frame)
{
    uint8_t nonce[CO_AUTH_NONCE_BYTES];

    if (bytes < CO_CARRIER_HEAD_BYTES) {
        frame->bytes = CO_CARRIER_HEAD_BYTES;
        return stream->has_left && bytes > 0 ? -EPROTO : 0;
    }
    size_t body_bytes = (size_t)co_little_endian_get(data, 4);
    enum co_carrier_frame_kind kind = (enum co_carrier_frame_kind)data[KIND_AT];
    if (stream->has_left || !head_is_good(stream, kind, body_bytes) ||
        co_little_endian_get(data + ZERO_AT, CO_CARRIER_HEAD_BYTES - ZERO_AT) != 0) {
        return -EPROTO;
    }
    size_t whole = CO_CARRIER_HEAD_BYTES + body_bytes + co_auth_tag_bytes(stream->auth);
    if (bytes < whole) {
        frame->bytes = whole;
        return 0;
    }
    nonce_make(nonce, stream->heard, kind, body_bytes);
    if (!co_auth_verify(stream->auth, domain_of(stream), stream->is_client ? FROM_SERVER : FROM_CLIENT, 0, nonce,
                        data + CO_CARRIER_HEAD_BYTES, body_bytes)) {
        return -EBADMSG;
    }
    stream->heard++;
    stream->has_left = kind == CO_CARRIER_FRAME_LEAVE;
    *frame = (struct co_carrier_frame){kind, data + CO_CARRIER_HEAD_BYTES, body_bytes, whole};
    return 1;
}
