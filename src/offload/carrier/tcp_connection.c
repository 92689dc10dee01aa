// SPDX-License-Identifier: BSD-3-Clause
//
// Connections of the TCP carrier; see the header.
#define _GNU_SOURCE
#include "offload/carrier/tcp_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/tcp_socket.h"
#include "offload/little_endian.h"

enum {
    IN_ROOM = 120 * 1024,      // the largest frame, and as much as goes with it in one call
    UNSENT_BYTES = 128 * 1024, // of bulk in the kernel, behind what the path has taken
    LENGTH_BYTES = 4,
    PARTS = 3
};
_Static_assert(IN_ROOM >= CO_CARRIER_FRAME_MAX, "a frame fits");

void co_carrier_tcp_connection_init(struct co_carrier_tcp_connection *connection, enum co_carrier_connection which,
                                    int epoll, uint64_t id)
{
    *connection = (struct co_carrier_tcp_connection){.connection = which, .socket = -1, .epoll = epoll, .id = id};
}

// What there is to wait for.
static int watch(struct co_carrier_tcp_connection *connection)
{
    bool is_connecting = connection->phase == CO_CARRIER_CONNECTING;
    bool is_standing = connection->phase == CO_CARRIER_STANDING;
    uint32_t wanted = EPOLLERR; // that one is always there

    if (!is_connecting && !(is_standing && connection->is_held)) {
        wanted |= EPOLLIN;
    }
    if (is_connecting || (is_standing && connection->out.bytes > 0)) {
        wanted |= EPOLLOUT;
    }
    struct epoll_event event = {.events = wanted, .data.u64 = connection->id};
    if (connection->socket < 0 || wanted == connection->watched) {
        return 0;
    }
    if (epoll_ctl(connection->epoll, connection->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection->socket,
                  &event) != 0) {
        return -errno;
    }
    connection->watched = wanted;
    return 0;
}

static void set_options(const struct co_carrier_tcp_connection *connection)
{
    co_socket_number_set(connection->socket, IPPROTO_TCP, TCP_NODELAY, 1);
    if (connection->connection == CO_CARRIER_BULK) {
        co_socket_number_set(connection->socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES);
    } else {
        // A word that was lost is said again soon, and soon again.
        co_socket_number_set(connection->socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
    }
}

static int begin(struct co_carrier_tcp_connection *connection, int socket, enum co_carrier_phase phase)
{
    connection->socket = socket;
    connection->phase = phase;
    connection->greeting_bytes = 0;
    connection->lowest = 1; // the kernel's own
    set_options(connection);
    int error = watch(connection);
    if (error != 0) {
        co_carrier_tcp_connection_end(connection, CO_CARRIER_AWAY);
    }
    return error;
}

int co_carrier_tcp_connection_begin(struct co_carrier_tcp_connection *connection, int socket,
                                    enum co_carrier_phase phase)
{
    connection->watched = 0;
    return begin(connection, socket, phase);
}

int co_carrier_tcp_connection_adopt(struct co_carrier_tcp_connection *connection, int socket)
{
    connection->watched = EPOLLERR;
    return begin(connection, socket, CO_CARRIER_GREETING);
}

// A word of the handshake: a socket that has sent nothing else yet takes all of it.
static int greeting_send(struct co_carrier_tcp_connection *connection, const uint8_t *word, size_t bytes)
{
    ssize_t count = send(connection->socket, word, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    return count == (ssize_t)bytes ? 0 : count < 0 ? -errno : -EIO;
}

int co_carrier_tcp_connection_hello(struct co_carrier_tcp_connection *connection,
                                    const struct co_carrier_identity *identity, int peer)
{
    co_carrier_handshake_begin_client(&connection->handshake, identity, peer, connection->connection);
    connection->phase = CO_CARRIER_GREETING;
    int error = greeting_send(connection, connection->handshake.own_hello, CO_CARRIER_HELLO_BYTES);
    return error != 0 ? error : watch(connection);
}

static void in_give(struct co_carrier_tcp_connection *connection, struct co_carrier_tcp_spare *spare)
{
    if (spare != NULL && spare->buffer == NULL) {
        spare->buffer = connection->in;
    } else {
        free(connection->in);
    }
    connection->in = NULL;
    connection->in_bytes = 0;
}

void co_carrier_tcp_connection_end(struct co_carrier_tcp_connection *connection, enum co_carrier_phase phase)
{
    if (connection->socket >= 0) {
        close(connection->socket);
    }
    connection->socket = -1;
    connection->phase = phase;
    co_carrier_stream_close(&connection->stream);
    sodium_memzero(&connection->handshake, sizeof connection->handshake);
    in_give(connection, NULL);
    if (phase == CO_CARRIER_OVER) { // else it will be tried again, and what waits is sent then
        co_carrier_queue_clear(&connection->out);
    }
}

int co_carrier_tcp_connection_stand(struct co_carrier_tcp_connection *connection,
                                    const struct co_carrier_identity *identity,
                                    const struct co_carrier_handshake *handshake)
{
    struct co_carrier_queue kept = connection->out;
    uint64_t sent = 0;
    int error = co_carrier_stream_open(&connection->stream, handshake->key, handshake->is_client,
                                       connection->connection, identity->bulk_form, handshake->has_aes);

    sodium_memzero(&connection->handshake, sizeof connection->handshake);
    connection->phase = CO_CARRIER_STANDING;
    connection->out = (struct co_carrier_queue){0};
    while (error == 0 && kept.bytes > 0) {
        size_t bytes = (size_t)co_little_endian_get(co_carrier_queue_front(&kept), LENGTH_BYTES);
        error = co_carrier_tcp_connection_say(connection, CO_CARRIER_FRAME_RECORD,
                                              co_carrier_queue_front(&kept) + LENGTH_BYTES, bytes, &sent);
        co_carrier_queue_consume(&kept, LENGTH_BYTES + bytes);
    }
    co_carrier_queue_clear(&kept);
    return error != 0 ? error : watch(connection);
}

int co_carrier_tcp_connection_keep(struct co_carrier_tcp_connection *connection, const void *record, size_t bytes)
{
    uint8_t length[LENGTH_BYTES];
    co_little_endian_put(length, bytes, LENGTH_BYTES);
    if (co_carrier_queue_reserve(&connection->out, LENGTH_BYTES + bytes) == NULL) {
        return -ENOMEM;
    }
    co_carrier_queue_append(&connection->out, length, LENGTH_BYTES);
    co_carrier_queue_append(&connection->out, record, bytes);
    return 0;
}

// How much of it the socket takes at once.
static ssize_t send_parts(int socket, const struct iovec parts[PARTS])
{
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = PARTS};
    ssize_t count = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    return count >= 0 ? count : errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

// What the socket has not taken of it.
static int keep_rest(struct co_carrier_queue *out, const struct iovec parts[PARTS], size_t gone)
{
    size_t whole = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len;

    if (gone < whole && co_carrier_queue_reserve(out, whole - gone) == NULL) {
        return -ENOMEM;
    }
    for (int i = 0; i < PARTS; i++) {
        size_t passed = gone < parts[i].iov_len ? gone : parts[i].iov_len;
        gone -= passed;
        if (passed < parts[i].iov_len) {
            co_carrier_queue_append(out, (const uint8_t *)parts[i].iov_base + passed, parts[i].iov_len - passed);
        }
    }
    return 0;
}

int co_carrier_tcp_connection_say(struct co_carrier_tcp_connection *connection, enum co_carrier_frame_kind kind,
                                  const void *body, size_t bytes, uint64_t *sent)
{
    uint8_t head[CO_CARRIER_HEAD_BYTES], tag[CO_AUTH_TAG_MAX];
    size_t tag_bytes = co_carrier_frame_seal(&connection->stream, kind, body, bytes, head, tag);
    const struct iovec parts[PARTS] = {{head, sizeof head}, {(void *)body, bytes}, {tag, tag_bytes}};
    ssize_t gone = connection->out.bytes == 0 ? send_parts(connection->socket, parts) : 0;

    if (gone < 0) {
        return (int)gone;
    }
    *sent += (uint64_t)gone;
    int error = keep_rest(&connection->out, parts, (size_t)gone);
    return error != 0 ? error : watch(connection);
}

int co_carrier_tcp_connection_flush(struct co_carrier_tcp_connection *connection, uint64_t *sent)
{
    if (connection->out.bytes > 0) {
        ssize_t count = send(connection->socket, co_carrier_queue_front(&connection->out), connection->out.bytes,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) {
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        }
        co_carrier_queue_consume(&connection->out, (size_t)count);
        *sent += (uint64_t)count;
    }
    if (connection->out.bytes == 0 && connection->has_said_leave) {
        shutdown(connection->socket, SHUT_WR);
    }
    return watch(connection);
}

// 1: the peer's next word is whole.
static int greeting_receive(struct co_carrier_tcp_connection *connection)
{
    size_t wanted = co_carrier_handshake_wants(&connection->handshake);
    ssize_t count = recv(connection->socket, connection->greeting + connection->greeting_bytes,
                         wanted - connection->greeting_bytes, MSG_DONTWAIT);
    if (count <= 0) {
        return count == 0 ? -ECONNRESET : errno == EAGAIN || errno == EINTR ? 0 : -errno;
    }
    connection->greeting_bytes += (size_t)count;
    if (connection->greeting_bytes < wanted) {
        return 0;
    }
    connection->greeting_bytes = 0;
    return 1;
}

int co_carrier_tcp_connection_greet(struct co_carrier_tcp_connection *connection,
                                    const struct co_carrier_identity *identity, const char **why)
{
    uint8_t answer[CO_CARRIER_GREETING_MAX];
    size_t answer_bytes = 0;
    int result = greeting_receive(connection);

    *why = NULL;
    if (result <= 0) {
        return result;
    }
    result =
        co_carrier_handshake_take(&connection->handshake, identity, connection->greeting, answer, &answer_bytes, why);
    int error = answer_bytes > 0 ? greeting_send(connection, answer, answer_bytes) : 0;
    return error != 0 ? error : result;
}

int64_t co_carrier_tcp_connection_receive(struct co_carrier_tcp_connection *connection,
                                          struct co_carrier_tcp_spare *spare)
{
    if (connection->in == NULL) {
        connection->in = spare->buffer != NULL ? spare->buffer : malloc(IN_ROOM);
        spare->buffer = NULL;
        if (connection->in == NULL) {
            return -ENOMEM;
        }
    }
    ssize_t count =
        recv(connection->socket, connection->in + connection->in_bytes, IN_ROOM - connection->in_bytes, MSG_DONTWAIT);
    if (count > 0) {
        connection->in_bytes += (size_t)count;
        return count;
    }
    int error = count == 0 ? -ECONNRESET : errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (connection->in_bytes == 0) {
        in_give(connection, spare);
    }
    return error;
}

// Of a piece a packet is no news: a proxy that is woken by each takes its core from a rank ten times for one. But one
// that is woken by the last has to wait for a core then, so it is woken when three quarters of the rest are there, and
// of what is left then again. What the kernel has no room for, and an end, it tells all the same.
static void await(struct co_carrier_tcp_connection *connection, size_t missing)
{
    size_t lowest = missing - missing / 4;

    if (connection->connection == CO_CARRIER_BULK && lowest != connection->lowest) {
        co_socket_number_set(connection->socket, SOL_SOCKET, SO_RCVLOWAT, (int)lowest);
        connection->lowest = lowest;
    }
}

void co_carrier_tcp_connection_taken(struct co_carrier_tcp_connection *connection, size_t bytes, size_t missing,
                                     struct co_carrier_tcp_spare *spare)
{
    await(connection, missing);
    connection->in_bytes -= bytes;
    if (connection->in_bytes == 0) {
        in_give(connection, spare);
    } else if (bytes > 0) {
        memmove(connection->in, connection->in + bytes, connection->in_bytes);
    }
}

void co_carrier_tcp_connection_hold(struct co_carrier_tcp_connection *connection, bool is_held)
{
    connection->is_held = is_held;
    watch(connection);
}
