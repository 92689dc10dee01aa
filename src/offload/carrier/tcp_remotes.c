// SPDX-License-Identifier: BSD-3-Clause
//
// The other proxies of the TCP carrier: connecting, frames, signs of life, ends. See tcp_carrier_state.h.
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "offload/carrier/tcp_carrier_state.h"

enum { PONGS_BEHIND = 64 * 1024 }; // who does not read that gets no more of them
#define TRY_NS (2 * CO_NS_PER_S)   // to connect, and to show the key
#define AGAIN_NS (50 * CO_NS_PER_MS)
#define AGAIN_MAX_NS (500 * CO_NS_PER_MS)

static struct co_carrier_tcp_connection *connection_of(struct co_carrier_remote *remote,
                                                       enum co_carrier_connection which)
{
    return &remote->connections[which];
}

static bool is_before_standing(const struct co_carrier_tcp_connection *connection)
{
    return connection->phase < CO_CARRIER_STANDING;
}

static unsigned *count_of(struct co_carrier_tcp *tcp, const struct co_carrier_remote *remote)
{
    return remote->number > tcp->identity.self ? &tcp->to_come : &tcp->to_reach;
}

void co_carrier_remote_fail(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote, int error, const char *why)
{
    if (!remote->is_ending) {
        remote->is_ending = true;
        remote->error = tcp->is_leaving ? 0 : error; // then nothing is wanted of it any more
        remote->why = why;
        tcp->ending++;
    }
}

static void connection_close(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                             enum co_carrier_connection which)
{
    struct co_carrier_tcp_connection *connection = connection_of(remote, which);
    *count_of(tcp, remote) -= is_before_standing(connection);
    co_carrier_tcp_connection_end(connection, CO_CARRIER_OVER);
}

// One of the two is over as it should be. The peer is when both are.
static void connection_left(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                            enum co_carrier_connection which)
{
    connection_close(tcp, remote, which);
    if (connection_of(remote, CO_CARRIER_CONTROL)->phase == CO_CARRIER_OVER &&
        connection_of(remote, CO_CARRIER_BULK)->phase == CO_CARRIER_OVER) {
        co_carrier_remote_fail(tcp, remote, 0, NULL);
    }
}

static void remote_end(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote)
{
    char why[CO_CARRIER_WHY_MAX];

    remote->is_over = true;
    tcp->ending--;
    connection_close(tcp, remote, CO_CARRIER_CONTROL);
    connection_close(tcp, remote, CO_CARRIER_BULK);
    if (remote->error != 0) {
        tcp->counts.peers_lost++;
        snprintf(why, sizeof why, "host %s, proxy at %s: %s", remote->host, remote->place,
                 remote->why != NULL ? remote->why : strerror(-remote->error));
    }
    tcp->has_news = true;
    tcp->output.lost(tcp->output.context, remote->number, remote->error, remote->error != 0 ? why : NULL);
}

void co_carrier_remotes_end(struct co_carrier_tcp *tcp)
{
    while (tcp->ending > 0) { // who is told may say something to another one that is broken, too
        for (int i = 0; i < tcp->identity.proxies; i++) {
            if (tcp->remotes[i].is_ending && !tcp->remotes[i].is_over) {
                remote_end(tcp, &tcp->remotes[i]);
            }
        }
    }
}

static void connection_stands(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                              enum co_carrier_connection which, const struct co_carrier_handshake *handshake)
{
    --*count_of(tcp, remote);
    remote->heard_ns = tcp->now_ns;
    tcp->has_news = true; // there is room
    int error = co_carrier_tcp_connection_stand(connection_of(remote, which), &tcp->identity, handshake);
    if (error != 0) {
        co_carrier_remote_fail(tcp, remote, error, NULL);
    }
}

void co_carrier_remote_came(struct co_carrier_tcp *tcp, struct co_carrier_tcp_connection *stranger)
{
    struct co_carrier_handshake handshake = stranger->handshake;
    struct co_carrier_remote *remote = &tcp->remotes[handshake.peer];
    struct co_carrier_tcp_connection *connection = connection_of(remote, handshake.connection);

    if (remote->is_ending || connection->phase != CO_CARRIER_AWAY) {
        tcp->counts.doubled++;
    } else {
        int socket = stranger->socket;
        stranger->socket = -1;
        int error = co_carrier_tcp_connection_adopt(connection, socket);
        if (error != 0) {
            co_carrier_remote_fail(tcp, remote, error, NULL);
        } else {
            connection_stands(tcp, remote, handshake.connection, &handshake);
        }
    }
    sodium_memzero(&handshake, sizeof handshake);
}

// This try was none. The reason is said if there is no other one in time.
static void try_failed(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                       struct co_carrier_tcp_connection *connection, int error, const char *why)
{
    uint64_t again_ns = AGAIN_NS << (connection->tries < 4 ? connection->tries : 4);

    co_carrier_tcp_connection_end(connection, CO_CARRIER_AWAY);
    connection->tries++;
    connection->try_ns = tcp->now_ns + (again_ns < AGAIN_MAX_NS ? again_ns : AGAIN_MAX_NS);
    remote->error = error;
    remote->why = why;
    if (error == -EPROTONOSUPPORT || error == -EINVAL) { // it will not be another one the next time
        co_carrier_remote_fail(tcp, remote, error, why);
    }
}

static void try_begin(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                      struct co_carrier_tcp_connection *connection)
{
    int socket = co_socket_connect((const struct sockaddr *)&remote->address, remote->address_bytes);
    int error = socket < 0 ? socket : co_carrier_tcp_connection_begin(connection, socket, CO_CARRIER_CONNECTING);

    tcp->counts.connects++;
    connection->give_up_ns = tcp->now_ns + TRY_NS;
    if (error != 0) {
        try_failed(tcp, remote, connection, error, NULL);
    }
}

void co_carrier_remotes_connect(struct co_carrier_tcp *tcp)
{
    for (int i = 0; i < tcp->identity.proxies * CO_CARRIER_CONNECTIONS; i++) {
        struct co_carrier_remote *remote = &tcp->remotes[i / CO_CARRIER_CONNECTIONS];
        struct co_carrier_tcp_connection *connection = &remote->connections[i % CO_CARRIER_CONNECTIONS];

        if (remote->is_ending || !is_before_standing(connection)) {
            continue;
        }
        if (tcp->now_ns >= tcp->connect_until_ns) {
            bool has_tried = remote->error != 0;
            co_carrier_remote_fail(tcp, remote, has_tried ? remote->error : -ETIMEDOUT,
                                   has_tried ? remote->why : "it has not connected in time");
        } else if (remote->number < tcp->identity.self) {
            if (connection->phase == CO_CARRIER_AWAY && tcp->now_ns >= connection->try_ns) {
                try_begin(tcp, remote, connection);
            } else if (connection->phase != CO_CARRIER_AWAY && tcp->now_ns >= connection->give_up_ns) {
                try_failed(tcp, remote, connection, -ETIMEDOUT, NULL);
            }
            bool is_away = connection->phase == CO_CARRIER_AWAY;
            uint64_t next_ns = is_away ? connection->try_ns : connection->give_up_ns;
            tcp->next_ns = next_ns < tcp->next_ns ? next_ns : tcp->next_ns;
        }
    }
}

// The kernel has an answer.
static void try_connected(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                          struct co_carrier_tcp_connection *connection)
{
    int error = co_socket_error(connection->socket);

    if (error == 0) {
        error = co_carrier_tcp_connection_hello(connection, &tcp->identity, remote->number);
    }
    if (error != 0) {
        try_failed(tcp, remote, connection, error, NULL);
    }
}

static void try_answered(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote, enum co_carrier_connection which)
{
    struct co_carrier_tcp_connection *connection = connection_of(remote, which);
    const char *why;
    int result = co_carrier_tcp_connection_greet(connection, &tcp->identity, &why);

    if (result < 0) {
        try_failed(tcp, remote, connection, result, why);
    } else if (result == 0 && connection->handshake.is_greeted) {
        connection->give_up_ns = UINT64_MAX; // for the other end it may stand already
    } else if (result == 1) {
        struct co_carrier_handshake handshake = connection->handshake;
        connection_stands(tcp, remote, which, &handshake);
        sodium_memzero(&handshake, sizeof handshake);
    }
}

static void frame_say(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote, enum co_carrier_connection which,
                      enum co_carrier_frame_kind kind)
{
    int error = co_carrier_tcp_connection_say(connection_of(remote, which), kind, "", 0, &tcp->counts.bytes_sent);
    if (error != 0) {
        co_carrier_remote_fail(tcp, remote, error, NULL);
    }
}

static void frame_take(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote, enum co_carrier_connection which,
                       const struct co_carrier_frame *frame)
{
    struct co_carrier_tcp_connection *connection = connection_of(remote, which);

    if (frame->kind == CO_CARRIER_FRAME_RECORD) {
        tcp->has_news = true;
        int error = tcp->output.take(tcp->output.context, remote->number, which, frame->body, frame->body_bytes);
        if (error != 0) {
            tcp->counts.records_refused++;
            co_carrier_remote_fail(tcp, remote, error, "a record of it makes no sense");
        }
    } else if (frame->kind == CO_CARRIER_FRAME_PING && !tcp->is_leaving && connection->out.bytes < PONGS_BEHIND) {
        frame_say(tcp, remote, which, CO_CARRIER_FRAME_PONG);
    }
}

static void frames_take(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote, enum co_carrier_connection which)
{
    struct co_carrier_tcp_connection *connection = connection_of(remote, which);
    struct co_carrier_frame frame = {.bytes = 0};
    size_t taken = 0;
    int result = 1;

    while (!remote->is_ending && (result = co_carrier_frame_next(&connection->stream, connection->in + taken,
                                                                 connection->in_bytes - taken, &frame)) == 1) {
        frame_take(tcp, remote, which, &frame);
        taken += frame.bytes;
    }
    if (result < 0) {
        tcp->counts.records_refused++;
        co_carrier_remote_fail(tcp, remote, result,
                               result == -EBADMSG ? "what comes from it was changed on its way"
                                                  : "what comes from it makes no sense");
    }
    size_t left = connection->in_bytes - taken;
    co_carrier_tcp_connection_taken(connection, taken, result == 0 ? frame.bytes - left : 1, &tcp->spare);
    if (connection->stream.has_left && !remote->is_ending) {
        connection_left(tcp, remote, which);
    }
}

static void connection_receive(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                               enum co_carrier_connection which)
{
    struct co_carrier_tcp_connection *connection = connection_of(remote, which);
    int64_t bytes = co_carrier_tcp_connection_receive(connection, &tcp->spare);

    if (bytes > 0) {
        tcp->counts.bytes_received += (uint64_t)bytes;
        remote->heard_ns = tcp->now_ns;
        frames_take(tcp, remote, which);
    } else if (bytes < 0 && tcp->is_leaving) {
        connection_left(tcp, remote, which); // it has heard our LEAVE, or has gone
    } else if (bytes < 0) {
        co_carrier_remote_fail(tcp, remote, (int)bytes, bytes == -ECONNRESET ? "the connection has ended" : NULL);
    }
}

void co_carrier_remote_event(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                             enum co_carrier_connection which, uint32_t events)
{
    struct co_carrier_tcp_connection *connection = connection_of(remote, which);

    if (remote->is_ending || connection->socket < 0) {
        return; // an event of before
    }
    if (connection->phase == CO_CARRIER_CONNECTING) {
        try_connected(tcp, remote, connection);
    } else if (connection->phase == CO_CARRIER_GREETING) {
        try_answered(tcp, remote, which);
    } else {
        if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
            connection_receive(tcp, remote, which);
        }
        if ((events & EPOLLOUT) != 0 && connection->phase == CO_CARRIER_STANDING && !remote->is_ending) {
            int error = co_carrier_tcp_connection_flush(connection, &tcp->counts.bytes_sent);
            tcp->has_news = tcp->has_news || connection->out.bytes == 0;
            if (error != 0) {
                co_carrier_remote_fail(tcp, remote, error, NULL);
            }
        }
    }
}

void co_carrier_remotes_tick(struct co_carrier_tcp *tcp)
{
    for (int i = 0; i < tcp->identity.proxies; i++) {
        struct co_carrier_remote *remote = &tcp->remotes[i];

        if (remote->is_ending || connection_of(remote, CO_CARRIER_CONTROL)->phase != CO_CARRIER_STANDING) {
            continue;
        }
        if (tcp->now_ns - remote->heard_ns >= tcp->silent_ns) {
            co_carrier_remote_fail(tcp, remote, -ETIMEDOUT, "it has given no sign of life for too long");
        } else if (tcp->now_ns - remote->heard_ns >= tcp->tick_every_ns) {
            tcp->counts.pings++;
            frame_say(tcp, remote, CO_CARRIER_CONTROL, CO_CARRIER_FRAME_PING);
        }
    }
}

void co_carrier_remote_leave(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote)
{
    for (int which = 0; which < CO_CARRIER_CONNECTIONS && !remote->is_ending; which++) {
        struct co_carrier_tcp_connection *connection = &remote->connections[which];
        if (is_before_standing(connection)) {
            connection_left(tcp, remote, (enum co_carrier_connection)which);
        } else if (connection->phase == CO_CARRIER_STANDING) {
            connection->has_said_leave = true;
            frame_say(tcp, remote, (enum co_carrier_connection)which, CO_CARRIER_FRAME_LEAVE);
            co_carrier_tcp_connection_flush(connection, &tcp->counts.bytes_sent);
        }
    }
}
