// SPDX-License-Identifier: BSD-3-Clause
//
// A control connection; see the header. The tag is that of datagrams (base/auth/auth.h), always by ChaCha20-Poly1305:
// the two ends need not have the same processor, and here nothing is in a hurry.
#include "onesided/control_session.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/zeroed_pages.h"
#include "base/auth/auth.h"

enum {
    HELLO_BYTES = 32,
    NONCE_AT = 16,
    NONCE_BYTES = 16,
    MESSAGE_MAX = CO_COORDINATION_HEAD_BYTES + CO_COORDINATION_BODY_MAX + CO_COORDINATION_TAG_BYTES,
    IN_ROOM = 2 * MESSAGE_MAX,
    OUT_ROOM = 16 * MESSAGE_MAX,
    FROM_CLIENT = 0,
    FROM_SERVER = 1,
    ENDS = 2
};

static const char magic[8] = {'c', 'a', 's', 't', 'o', 'f', 'f', 'G'};

struct co_session {
    bool is_client, is_trusted;
    struct co_auth *auth; // NULL until the peer's HELLO has come
    uint8_t secret[CO_SECRET_BYTES];
    uint8_t own_hello[HELLO_BYTES];
    uint64_t said, heard; // messages
    size_t in_bytes, out_at, out_bytes;
    uint8_t in[IN_ROOM];
    uint8_t out[OUT_ROOM];
};

static void make_hello(uint8_t hello[HELLO_BYTES])
{
    memset(hello, 0, HELLO_BYTES);
    memcpy(hello, magic, sizeof magic);
    hello[8] = CO_COORDINATION_VERSION & 0xff;
    hello[9] = CO_COORDINATION_VERSION >> 8;
    randombytes_buf(hello + NONCE_AT, NONCE_BYTES);
}

static void queue_hello(struct co_session *session)
{
    memcpy(session->out + session->out_bytes, session->own_hello, HELLO_BYTES);
    session->out_bytes += HELLO_BYTES;
}

int co_session_open(struct co_session **out, bool is_client, const uint8_t secret[CO_SECRET_BYTES])
{
    if (sodium_init() < 0) {
        return -ENOSYS;
    }
    struct co_session *session = co_zeroed_pages_take_secret(sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    session->is_client = is_client;
    memcpy(session->secret, secret, CO_SECRET_BYTES);
    make_hello(session->own_hello);
    if (is_client) {
        queue_hello(session); // the other end answers, so that it says nothing to who is no peer of ours
    }
    *out = session;
    return 0;
}

void co_session_close(struct co_session *session)
{
    if (session != NULL) {
        co_auth_close(session->auth);
        sodium_memzero(session->secret, sizeof session->secret);
        co_zeroed_pages_give(session, sizeof *session);
    }
}

size_t co_session_feed(struct co_session *session, const uint8_t *data, size_t bytes)
{
    size_t room = IN_ROOM - session->in_bytes, taken = bytes < room ? bytes : room;
    memcpy(session->in + session->in_bytes, data, taken);
    session->in_bytes += taken;
    return taken;
}

static void drop_in(struct co_session *session, size_t bytes)
{
    session->in_bytes -= bytes;
    memmove(session->in, session->in + bytes, session->in_bytes);
}

// Of both HELLOs whole: where somebody on the way has changed a byte of one, versions above all, no tag holds.
static int make_key(struct co_session *session, const uint8_t peer_hello[HELLO_BYTES])
{
    struct {
        char label[16];
        uint8_t client[HELLO_BYTES], server[HELLO_BYTES];
    } from = {.label = "castoff control"};
    uint8_t key[CO_AUTH_KEY_BYTES];
    memcpy(session->is_client ? from.client : from.server, session->own_hello, HELLO_BYTES);
    memcpy(session->is_client ? from.server : from.client, peer_hello, HELLO_BYTES);
    crypto_generichash(key, sizeof key, (const uint8_t *)&from, sizeof from, session->secret, CO_SECRET_BYTES);
    int error = co_auth_open(&session->auth, key, ENDS, CO_AUTH_KEYED);
    sodium_memzero(key, sizeof key);
    if (error == 0) {
        co_auth_use_portable(session->auth);
    }
    return error;
}

// 1: it has come; 0: not whole yet.
static int take_hello(struct co_session *session, char *why, size_t why_room)
{
    size_t compare = session->in_bytes < sizeof magic ? session->in_bytes : sizeof magic;
    if (memcmp(session->in, magic, compare) != 0) {
        snprintf(why, why_room, "the other end is no castoff coordinator, hop or program");
        return -EPROTO;
    }
    if (session->in_bytes < HELLO_BYTES) {
        return 0;
    }
    unsigned version = session->in[8] | (unsigned)session->in[9] << 8;
    int error = make_key(session, session->in);
    if (error != 0) {
        snprintf(why, why_room, "no memory for a connection");
        return error;
    }
    if (!session->is_client) {
        queue_hello(session); // also to another version, which can then tell its user
    }
    drop_in(session, HELLO_BYTES);
    if (version != CO_COORDINATION_VERSION) {
        snprintf(why, why_room, "the other end speaks version %u of the protocol, this one %u", version,
                 CO_COORDINATION_VERSION);
        return -EPROTONOSUPPORT;
    }
    return 1;
}

static void make_nonce(uint8_t nonce[CO_AUTH_NONCE_BYTES], uint64_t number)
{
    memset(nonce, 0, CO_AUTH_NONCE_BYTES);
    for (int i = 0; i < 8; i++) {
        nonce[i] = (uint8_t)(number >> 8 * i);
    }
}

static bool tag_holds(struct co_session *session, size_t covered)
{
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    make_nonce(nonce, session->heard);
    return co_auth_verify(session->auth, CO_AUTH_CONTROL, session->is_client ? FROM_SERVER : FROM_CLIENT, 0, nonce,
                          session->in, covered);
}

int co_session_next(struct co_session *session, struct co_coordination_message *message, char *why, size_t why_room)
{
    if (session->auth == NULL) {
        int result = take_hello(session, why, why_room);
        if (result <= 0) {
            return result;
        }
    }
    const uint8_t *head = session->in;
    if (session->in_bytes < CO_COORDINATION_HEAD_BYTES) {
        return 0;
    }
    size_t body = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    if (body > CO_COORDINATION_BODY_MAX) {
        snprintf(why, why_room, "a message of %zu bytes, more than there are", body);
        return -EPROTO;
    }
    size_t covered = CO_COORDINATION_HEAD_BYTES + body;
    if (session->in_bytes < covered + CO_COORDINATION_TAG_BYTES) {
        return 0;
    }
    if (!tag_holds(session, covered)) {
        snprintf(why, why_room,
                 session->is_trusted ? "a message was changed on its way" : "the other end has another secret");
        return -EACCES;
    }
    session->heard++;
    session->is_trusted = true;
    message->kind = (uint16_t)(head[4] | head[5] << 8);
    int error = co_coordination_read(message, session->in + CO_COORDINATION_HEAD_BYTES, body);
    drop_in(session, covered + CO_COORDINATION_TAG_BYTES);
    if (error != 0) {
        snprintf(why, why_room, "message %u makes no sense", message->kind);
        return error;
    }
    return 1;
}

bool co_session_is_open(const struct co_session *session)
{
    return session->auth != NULL;
}

bool co_session_is_trusted(const struct co_session *session)
{
    return session->is_trusted;
}

static bool make_room(struct co_session *session)
{
    if (OUT_ROOM - session->out_bytes < MESSAGE_MAX) {
        memmove(session->out, session->out + session->out_at, session->out_bytes - session->out_at);
        session->out_bytes -= session->out_at;
        session->out_at = 0;
    }
    return OUT_ROOM - session->out_bytes >= MESSAGE_MAX;
}

int co_session_send(struct co_session *session, struct co_coordination_message *message)
{
    if (session->auth == NULL) {
        return -ENOTCONN;
    }
    if (!make_room(session)) {
        return -ENOBUFS;
    }
    uint8_t *head = session->out + session->out_bytes, nonce[CO_AUTH_NONCE_BYTES];
    size_t body = co_coordination_write(head + CO_COORDINATION_HEAD_BYTES, message);
    for (int i = 0; i < 4; i++) {
        head[i] = (uint8_t)(body >> 8 * i);
    }
    head[4] = (uint8_t)message->kind;
    head[5] = (uint8_t)(message->kind >> 8);
    head[6] = head[7] = 0;
    make_nonce(nonce, session->said++);
    co_auth_seal(session->auth, CO_AUTH_CONTROL, session->is_client ? FROM_CLIENT : FROM_SERVER, 0, nonce, head,
                 CO_COORDINATION_HEAD_BYTES + body, NULL, 0, head + CO_COORDINATION_HEAD_BYTES + body);
    session->out_bytes += CO_COORDINATION_HEAD_BYTES + body + CO_COORDINATION_TAG_BYTES;
    return 0;
}

size_t co_session_out(const struct co_session *session, const uint8_t **data)
{
    *data = session->out + session->out_at;
    return session->out_bytes - session->out_at;
}

void co_session_sent(struct co_session *session, size_t bytes)
{
    session->out_at += bytes;
    if (session->out_at == session->out_bytes) {
        session->out_at = session->out_bytes = 0;
    }
}
