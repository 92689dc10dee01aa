// SPDX-License-Identifier: BSD-3-Clause
//
// Control connections over TCP: connecting, and a session with its socket. A peer whose host has vanished is noticed by
// TCP's own keepalive within eight seconds. One thread; cold.
#ifndef CASTOFF_ONESIDED_TCP_LINK_H
#define CASTOFF_ONESIDED_TCP_LINK_H

#include "base/tcp_socket.h"
#include "onesided/control_session.h"

struct co_tcp_link {
    int socket;
    struct co_session *session;
    char place[CO_SOCKET_PLACE_MAX]; // the peer's address, for messages
};

// Places as co_socket_addresses_find takes them.
int co_tcp_accept(struct co_tcp_link *out, int listener, const uint8_t secret[CO_SECRET_BYTES]); // -EAGAIN: none there
// Waits for the connection, at most so long. -errno, and `why` is a whole sentence.
int co_tcp_connect(struct co_tcp_link *out, const char *place, const char *port, int timeout_ms,
                   const uint8_t secret[CO_SECRET_BYTES], char *why, size_t why_room);
// Only begins: messages wait until the connection stands, and co_tcp_receive tells when it cannot be had. Where `place`
// is a name, finding its address waits.
int co_tcp_begin(struct co_tcp_link *out, const char *place, const char *port, const uint8_t secret[CO_SECRET_BYTES],
                 char *why, size_t why_room);
// The first address of a place, as text that co_tcp_begin takes without waiting.
int co_tcp_resolve(char out[CO_SOCKET_PLACE_MAX], const char *place, const char *port, char *why, size_t why_room);
void co_tcp_close(struct co_tcp_link *link);

// POLLIN and, while something is to be sent, POLLOUT.
short co_tcp_events(const struct co_tcp_link *link);

// Sends what the socket takes. -errno when the connection is over.
int co_tcp_send(struct co_tcp_link *link);
// Takes what has come, as much as the session has room for. 0, -EAGAIN (nothing there), -ECONNRESET (the peer has gone)
// or another -errno.
int co_tcp_receive(struct co_tcp_link *link);

// The next message, for who has time to wait: sends, receives and polls until one is there or the deadline has passed
// (-ETIMEDOUT). As co_session_next otherwise; a peer that has gone is -ECONNRESET.
int co_tcp_await(struct co_tcp_link *link, struct co_coordination_message *message, uint64_t until_ns, char *why,
                 size_t why_room);
// Queues a message and sends what the socket takes. As co_session_send otherwise: the peer's HELLO has to have come.
int co_tcp_message_send(struct co_tcp_link *link, struct co_coordination_message *message);

#endif
