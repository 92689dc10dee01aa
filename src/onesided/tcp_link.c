// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions with their sockets; see the header.
#define _GNU_SOURCE
#include "onesided/tcp_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/tcp_socket.h"

enum { BLOCK = 16384, KEEP_IDLE_S = 3, KEEP_EVERY_S = 1, KEEP_TRIES = 5, SILENT_MS = 8000 };

static void set_options(int socket)
{
    co_socket_number_set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    co_socket_number_set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    co_socket_number_set(socket, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
    co_socket_number_set(socket, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EVERY_S);
    co_socket_number_set(socket, IPPROTO_TCP, TCP_KEEPCNT, KEEP_TRIES);
    co_socket_number_set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, SILENT_MS);
}

int co_tcp_accept(struct co_tcp_link *out, int listener, const uint8_t secret[CO_SECRET_BYTES])
{
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    int accepted = accept4(listener, (struct sockaddr *)&peer, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) {
        return -errno;
    }
    set_options(accepted);
    struct co_session *session;
    int error = co_session_open(&session, false, secret);
    if (error != 0) {
        close(accepted);
        return error;
    }
    *out = (struct co_tcp_link){.socket = accepted, .session = session};
    co_socket_address_describe(out->place, (struct sockaddr *)&peer, bytes);
    return 0;
}

static int wait_connected(int socket, int timeout_ms)
{
    struct pollfd entry = {.fd = socket, .events = POLLOUT};
    uint64_t until_ns = co_clock_now_ns() + (uint64_t)timeout_ms * CO_NS_PER_MS, now_ns;
    int ready;
    do {
        now_ns = co_clock_now_ns();
        ready = poll(&entry, 1, now_ns < until_ns ? (int)((until_ns - now_ns) / CO_NS_PER_MS) + 1 : 0);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0) {
        return ready == 0 ? -ETIMEDOUT : -errno;
    }
    return co_socket_error(socket);
}

// timeout_ms 0: does not wait.
static int connect_to(const struct addrinfo *at, int timeout_ms)
{
    int connected = co_socket_connect(at->ai_addr, at->ai_addrlen);
    if (connected < 0) {
        return connected;
    }
    int error = timeout_ms > 0 ? wait_connected(connected, timeout_ms) : 0;
    if (error != 0) {
        close(connected);
        return error;
    }
    set_options(connected);
    return connected;
}

int co_tcp_connect(struct co_tcp_link *out, const char *place, const char *port, int timeout_ms,
                   const uint8_t secret[CO_SECRET_BYTES], char *why, size_t why_room)
{
    struct addrinfo *found;
    int error = co_socket_addresses_find(&found, place, port, 0, why, why_room), connected = -EADDRNOTAVAIL;
    if (error != 0) {
        return error;
    }
    *out = (struct co_tcp_link){.socket = -1};
    for (const struct addrinfo *at = found; at != NULL && connected < 0; at = at->ai_next) {
        connected = connect_to(at, timeout_ms);
        co_socket_address_describe(out->place, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(found);
    if (connected < 0) {
        snprintf(why, why_room, "no coordinator at %s: %s", out->place, strerror(-connected));
        return connected;
    }
    out->socket = connected;
    error = co_session_open(&out->session, true, secret);
    if (error != 0) {
        co_tcp_close(out);
        snprintf(why, why_room, "no memory for a connection");
    }
    return error;
}

int co_tcp_begin(struct co_tcp_link *out, const char *place, const char *port, const uint8_t secret[CO_SECRET_BYTES],
                 char *why, size_t why_room)
{
    return co_tcp_connect(out, place, port, 0, secret, why, why_room);
}

int co_tcp_resolve(char out[CO_SOCKET_PLACE_MAX], const char *place, const char *port, char *why, size_t why_room)
{
    struct addrinfo *found;
    int error = co_socket_addresses_find(&found, place, port, 0, why, why_room);
    if (error == 0) {
        co_socket_address_describe(out, found->ai_addr, found->ai_addrlen);
        freeaddrinfo(found);
    }
    return error;
}

void co_tcp_close(struct co_tcp_link *link)
{
    co_session_close(link->session);
    if (link->socket >= 0) {
        close(link->socket);
    }
    link->session = NULL;
    link->socket = -1;
}

short co_tcp_events(const struct co_tcp_link *link)
{
    const uint8_t *data;
    return co_session_out(link->session, &data) > 0 ? POLLIN | POLLOUT : POLLIN;
}

int co_tcp_send(struct co_tcp_link *link)
{
    const uint8_t *data;
    size_t bytes;
    while ((bytes = co_session_out(link->session, &data)) > 0) {
        ssize_t sent = send(link->socket, data, bytes, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        }
        co_session_sent(link->session, (size_t)sent);
    }
    return 0;
}

int co_tcp_receive(struct co_tcp_link *link)
{
    uint8_t block[BLOCK];
    // Looked at first: what the session has no room for stays in the socket.
    ssize_t count = recv(link->socket, block, sizeof block, MSG_PEEK);
    if (count <= 0) {
        return count == 0 ? -ECONNRESET : errno == EINTR ? -EAGAIN : -errno;
    }
    size_t taken = co_session_feed(link->session, block, (size_t)count);
    return taken == 0 || recv(link->socket, block, taken, 0) == (ssize_t)taken ? 0 : -EIO;
}

static int wait_for_events(struct co_tcp_link *link, uint64_t until_ns)
{
    uint64_t now = co_clock_now_ns();
    struct pollfd entry = {.fd = link->socket, .events = co_tcp_events(link)};
    if (now >= until_ns) {
        return -ETIMEDOUT;
    }
    uint64_t left_ms = (until_ns - now) / CO_NS_PER_MS + 1;
    // Nothing wakes a member while its memory is written.
    return poll(&entry, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) < 0 && errno != EINTR ? -errno : 0;
}

int co_tcp_await(struct co_tcp_link *link, struct co_coordination_message *message, uint64_t until_ns, char *why,
                 size_t why_room)
{
    for (;;) {
        int result = co_session_next(link->session, message, why, why_room);
        if (result != 0) {
            return result;
        }
        int error = co_tcp_send(link);
        error = error != 0 ? error : co_tcp_receive(link);
        if (error == -EAGAIN) {
            error = wait_for_events(link, until_ns);
        }
        if (error != 0) {
            snprintf(why, why_room, "coordinator %s: %s", link->place,
                     error == -ECONNRESET ? "the connection has ended" : strerror(-error));
            return error;
        }
    }
}

int co_tcp_message_send(struct co_tcp_link *link, struct co_coordination_message *message)
{
    int error = co_session_send(link->session, message);
    return error != 0 ? error : co_tcp_send(link);
}
