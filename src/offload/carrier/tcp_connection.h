// SPDX-License-Identifier: BSD-3-Clause
//
// One connection of the TCP carrier: a socket with its frames, what waits to be sent and what has come of the next
// frame. It knows neither peers nor time; what it returns other than 0 or a count is the end of it. Private to the
// carrier; one thread; hot.
#ifndef CASTOFF_OFFLOAD_CARRIER_TCP_CONNECTION_H
#define CASTOFF_OFFLOAD_CARRIER_TCP_CONNECTION_H

#include "offload/carrier/carrier_frame.h"
#include "offload/carrier/carrier_handshake.h"
#include "offload/carrier/carrier_queue.h"

enum co_carrier_phase {
    CO_CARRIER_AWAY,       // no socket yet: it is still to be connected, or to come
    CO_CARRIER_CONNECTING, // a client's, as long as the kernel has no answer
    CO_CARRIER_GREETING,   // a client's: it has said HELLO
    CO_CARRIER_STANDING,   // both ends have shown the key
    CO_CARRIER_OVER
};

struct co_carrier_tcp_connection {
    enum co_carrier_phase phase;
    enum co_carrier_connection connection;
    int socket;       // -1: none
    int epoll;        // where it is watched,
    uint64_t id;      // by that number,
    uint32_t watched; // for these events; 0: not yet
    bool is_held;     // nothing is read
    bool has_said_leave;
    struct co_carrier_stream stream; // standing
    struct co_carrier_queue out;     // frames; before it stands records, each behind its length of 4 bytes
    uint8_t *in;                     // what has come of frames; NULL: nothing
    size_t in_bytes;
    size_t lowest; // what the kernel has to have before it says that there is something
    struct co_carrier_handshake handshake;
    uint8_t greeting[CO_CARRIER_GREETING_MAX];
    size_t greeting_bytes;       // that have come
    uint64_t try_ns, give_up_ns; // a client's: when to try again; when this try is over
    unsigned tries;
};

// Where frames are received into, if it is not in use.
struct co_carrier_tcp_spare {
    uint8_t *buffer;
};

void co_carrier_tcp_connection_init(struct co_carrier_tcp_connection *connection, enum co_carrier_connection which,
                                    int epoll, uint64_t id);
// The socket is the connection's, and watched. -errno: it is closed.
int co_carrier_tcp_connection_begin(struct co_carrier_tcp_connection *connection, int socket,
                                    enum co_carrier_phase phase);
// As begin, for one that has shown the key, and is watched already by another number.
int co_carrier_tcp_connection_adopt(struct co_carrier_tcp_connection *connection, int socket);
// A client's that is connected says HELLO.
int co_carrier_tcp_connection_hello(struct co_carrier_tcp_connection *connection,
                                    const struct co_carrier_identity *identity, int peer);
// Closes the socket and forgets what there is; the phase is then `phase`.
void co_carrier_tcp_connection_end(struct co_carrier_tcp_connection *connection, enum co_carrier_phase phase);

// Both have shown the key: what waits is sent, and the handshake is wiped.
int co_carrier_tcp_connection_stand(struct co_carrier_tcp_connection *connection,
                                    const struct co_carrier_identity *identity,
                                    const struct co_carrier_handshake *handshake);

// A record before it stands: kept.
int co_carrier_tcp_connection_keep(struct co_carrier_tcp_connection *connection, const void *record, size_t bytes);
// A frame: what the socket does not take waits. Adds to *sent what it has taken.
int co_carrier_tcp_connection_say(struct co_carrier_tcp_connection *connection, enum co_carrier_frame_kind kind,
                                  const void *body, size_t bytes, uint64_t *sent);
// Sends what waits, as much as the socket takes. After LEAVE the direction is then closed.
int co_carrier_tcp_connection_flush(struct co_carrier_tcp_connection *connection, uint64_t *sent);

// Receives of the peer's next word of the handshake, and answers it when it is whole. 1: both have shown the key; 0: go
// on; -errno as co_carrier_handshake_take, with `why`, or of the socket.
int co_carrier_tcp_connection_greet(struct co_carrier_tcp_connection *connection,
                                    const struct co_carrier_identity *identity, const char **why);
// Receives once. Bytes, 0: nothing there; -ECONNRESET: the peer has gone; another -errno.
int64_t co_carrier_tcp_connection_receive(struct co_carrier_tcp_connection *connection,
                                          struct co_carrier_tcp_spare *spare);
// What is whole of it has been heard, `bytes` of it. Of what is behind that `missing` bytes at least are.
void co_carrier_tcp_connection_taken(struct co_carrier_tcp_connection *connection, size_t bytes, size_t missing,
                                     struct co_carrier_tcp_spare *spare);

void co_carrier_tcp_connection_hold(struct co_carrier_tcp_connection *connection, bool is_held);

#endif
