// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes to a proxy that a stranger or another proxy connects to, and to one that has connected: without the key
// nobody is believed; a HELLO with a right code (one that was heard before) gets no further; of frames with right tags
// those are heard, whole and in order, that may come, and nothing behind the first one that may not.
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "offload/carrier/carrier_frame.h"
#include "offload/carrier/carrier_handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { CODE_AT = 48, HEAD = CO_CARRIER_HEAD_BYTES, FRAMES = 50 };

static const struct co_carrier_identity server_is = {.key = {7}, .self = 1, .proxies = 4, .bulk_form = CO_AUTH_KEYED};
static const struct co_carrier_identity client_is = {.key = {7}, .self = 2, .proxies = 4, .bulk_form = CO_AUTH_KEYED};

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

// Exactly as long, so that reading on is seen.
static int take(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                const uint8_t **data, size_t *bytes)
{
    uint8_t answer[CO_CARRIER_GREETING_MAX], *word;
    size_t wanted = co_carrier_handshake_wants(handshake), answer_bytes;
    const char *why = NULL;

    if (*bytes < wanted) {
        return 0;
    }
    word = malloc(wanted);
    memcpy(word, *data, wanted);
    int result = co_carrier_handshake_take(handshake, identity, word, answer, &answer_bytes, &why);
    must(answer_bytes <= sizeof answer && (result >= 0 || why != NULL));
    free(word);
    *data += wanted;
    *bytes -= wanted;
    return result;
}

static void strangers(const uint8_t *data, size_t bytes, bool is_client)
{
    struct co_carrier_handshake handshake;
    if (is_client) {
        co_carrier_handshake_begin_client(&handshake, &client_is, 1, CO_CARRIER_BULK);
    } else {
        co_carrier_handshake_begin_server(&handshake);
    }
    must(take(&handshake, is_client ? &client_is : &server_is, &data, &bytes) <= 0);
    must(!handshake.is_greeted);
}

// The input is what the code is over.
static void heard_before(const uint8_t *data, size_t bytes)
{
    uint8_t from[16 + CODE_AT] = "castoff hello  ", word[CO_CARRIER_HELLO_BYTES] = {0};
    const uint8_t *at = word;
    size_t left = sizeof word, body = bytes < CODE_AT ? bytes : CODE_AT;
    struct co_carrier_handshake handshake;

    memcpy(word, data, body);
    memcpy(from + 16, word, CODE_AT);
    crypto_generichash(word + CODE_AT, 16, from, sizeof from, server_is.key, CO_AUTH_KEY_BYTES);
    co_carrier_handshake_begin_server(&handshake);
    if (take(&handshake, &server_is, &at, &left) == 0) {
        must(handshake.is_greeted && handshake.peer > 1 && handshake.peer < 4 &&
             handshake.connection < CO_CARRIER_CONNECTIONS);
        data += body;
        bytes -= body;
        must(take(&handshake, &server_is, &data, &bytes) <= 0);
    }
}

static void streams_open(struct co_carrier_stream streams[2], uint8_t how)
{
    static const uint8_t key[CO_AUTH_KEY_BYTES] = {5};
    for (int i = 0; i < 2; i++) {
        must(co_carrier_stream_open(&streams[i], key, i == 0, how & 1 ? CO_CARRIER_BULK : CO_CARRIER_CONTROL,
                                    CO_AUTH_KEYED, false) == 0);
    }
}

static void streams_close(struct co_carrier_stream streams[2])
{
    co_carrier_stream_close(&streams[0]);
    co_carrier_stream_close(&streams[1]);
}

static void any_frames(const uint8_t *data, size_t bytes, uint8_t how)
{
    struct co_carrier_stream streams[2];
    struct co_carrier_frame frame;
    uint8_t *copy = malloc(bytes + 1);

    streams_open(streams, how);
    memcpy(copy, data, bytes);
    must(co_carrier_frame_next(&streams[1], copy, bytes, &frame) <= 0);
    streams_close(streams);
    free(copy);
}

static bool may_come(uint8_t how, uint8_t kind, size_t bytes)
{
    bool is_bulk = (how & 1) != 0;
    switch (kind) {
    case CO_CARRIER_FRAME_RECORD:
        return bytes > 0;
    case CO_CARRIER_FRAME_PING:
    case CO_CARRIER_FRAME_PONG:
        return !is_bulk && bytes == 0;
    default:
        return kind == CO_CARRIER_FRAME_LEAVE && bytes == 0;
    }
}

// Each frame of the input is kind, length, body, and has a right tag.
static void right_frames(const uint8_t *data, size_t bytes, uint8_t how)
{
    struct co_carrier_stream streams[2];
    struct co_carrier_frame frame;
    bool has_left = false;
    int result = 1;

    streams_open(streams, how);
    for (int i = 0; i < FRAMES && bytes >= 2 && result == 1; i++) {
        size_t body = data[1] < bytes - 2 ? data[1] : bytes - 2;
        uint8_t head[HEAD], tag[CO_AUTH_TAG_MAX], *wire;
        size_t tag_bytes =
            co_carrier_frame_seal(&streams[0], (enum co_carrier_frame_kind)data[0], data + 2, body, head, tag);
        wire = malloc(HEAD + body + tag_bytes);
        memcpy(wire, head, HEAD);
        memcpy(wire + HEAD, data + 2, body);
        memcpy(wire + HEAD + body, tag, tag_bytes);
        must(has_left || !may_come(how, data[0], body) ||
             co_carrier_frame_next(&streams[1], wire, HEAD + body + tag_bytes - 1, &frame) == 0);
        result = co_carrier_frame_next(&streams[1], wire, HEAD + body + tag_bytes, &frame);
        must((result == 1) == (!has_left && may_come(how, data[0], body)));
        must(result != 1 || (frame.kind == data[0] && frame.body_bytes == body &&
                             frame.bytes == HEAD + body + tag_bytes && memcmp(frame.body, data + 2, body) == 0));
        has_left = has_left || data[0] == CO_CARRIER_FRAME_LEAVE;
        free(wire);
        data += 2 + body;
        bytes -= 2 + body;
    }
    streams_close(streams);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0 || sodium_init() < 0) {
        return 0;
    }
    uint8_t how = data[0];
    data++;
    bytes--;
    switch (how >> 1 & 3) {
    case 0:
        strangers(data, bytes, how & 1);
        break;
    case 1:
        heard_before(data, bytes);
        break;
    case 2:
        any_frames(data, bytes, how);
        break;
    default:
        right_frames(data, bytes, how);
    }
    return 0;
}
