// SPDX-License-Identifier: BSD-3-Clause
//
// Strangers; see the header.
#define _GNU_SOURCE
#include "offload/carrier/tcp_strangers.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/tcp_socket.h"
#include "base/memory/zeroed_pages.h"

enum {
    ACCEPTS_A_TURN = 16, // between two of them all are heard
    SILENT_S = 2,        // that the kernel keeps who says nothing, and then we
};
#define PATIENCE_NS (SILENT_S * CO_NS_PER_S)
#define DEAF_NS (100 * CO_NS_PER_MS)

int co_carrier_strangers_open(struct co_carrier_strangers *strangers, int listener, int epoll, uint64_t first_id,
                              unsigned room)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = first_id};

    *strangers = (struct co_carrier_strangers){.listener = listener, .epoll = epoll, .room = room};
    strangers->places = co_zeroed_pages_take_secret(room * sizeof *strangers->places);
    if (strangers->places == NULL) {
        co_carrier_strangers_close(strangers);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < room; i++) {
        co_carrier_tcp_connection_init(&strangers->places[i].connection, CO_CARRIER_CONTROL, epoll, first_id + 1 + i);
    }
    // Who connects and is silent stays with the kernel.
    co_socket_number_set(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, SILENT_S);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) {
        int error = -errno;
        co_carrier_strangers_close(strangers);
        return error;
    }
    return 0;
}

void co_carrier_strangers_close(struct co_carrier_strangers *strangers)
{
    size_t bytes = strangers->room * sizeof *strangers->places;

    if (strangers->listener >= 0) {
        close(strangers->listener);
    }
    strangers->listener = -1;
    if (strangers->places != NULL) {
        for (unsigned i = 0; i < strangers->room; i++) {
            strangers->silent += strangers->places[i].connection.socket >= 0;
            co_carrier_tcp_connection_end(&strangers->places[i].connection, CO_CARRIER_AWAY);
        }
        sodium_memzero(strangers->places, bytes);
        co_zeroed_pages_give(strangers->places, bytes);
    }
    strangers->places = NULL;
    strangers->room = strangers->count = 0;
    strangers->deaf_until_ns = 0;
}

void co_carrier_strangers_release(struct co_carrier_strangers *strangers, unsigned place)
{
    co_carrier_tcp_connection_end(&strangers->places[place].connection, CO_CARRIER_AWAY);
    strangers->count--;
}

static bool goes_before(const struct co_carrier_strangers *strangers, unsigned i, unsigned oldest)
{
    bool is_greeted = strangers->places[i].connection.handshake.is_greeted;
    if (is_greeted != strangers->places[oldest].connection.handshake.is_greeted) {
        return !is_greeted;
    }
    return strangers->places[i].number < strangers->places[oldest].number;
}

// A free place, or that of who has been here longest, for who has the key needs a moment only; and of those whose HELLO
// had a right code only if all are such.
static struct co_carrier_stranger *find_place(struct co_carrier_strangers *strangers)
{
    unsigned oldest = 0;
    for (unsigned i = 0; i < strangers->room; i++) {
        if (strangers->places[i].connection.socket < 0) {
            return &strangers->places[i];
        }
        oldest = goes_before(strangers, i, oldest) ? i : oldest;
    }
    strangers->silent++;
    co_carrier_strangers_release(strangers, oldest);
    return &strangers->places[oldest];
}

static void listener_watch(struct co_carrier_strangers *strangers, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = strangers->places[0].connection.id - 1};
    epoll_ctl(strangers->epoll, EPOLL_CTL_MOD, strangers->listener, &event);
}

// False: there is no other one.
static bool accept_one(struct co_carrier_strangers *strangers, uint64_t now_ns)
{
    int socket = accept4(strangers->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (socket < 0) {
        // The listener would be readable again at once, and for as long as that one waits.
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            strangers->deaf_until_ns = now_ns + DEAF_NS;
            listener_watch(strangers, 0);
        }
        return errno == ECONNABORTED || errno == EINTR;
    }
    struct co_carrier_stranger *stranger = find_place(strangers);
    stranger->number = strangers->arrivals++;
    stranger->since_ns = now_ns;
    co_carrier_handshake_begin_server(&stranger->connection.handshake);
    if (co_carrier_tcp_connection_begin(&stranger->connection, socket, CO_CARRIER_GREETING) == 0) {
        strangers->count++;
    }
    return true;
}

void co_carrier_strangers_accept(struct co_carrier_strangers *strangers, uint64_t now_ns)
{
    for (int i = 0; i < ACCEPTS_A_TURN && strangers->deaf_until_ns == 0 && accept_one(strangers, now_ns); i++) {
    }
}

int co_carrier_strangers_hear(struct co_carrier_strangers *strangers, unsigned place,
                              const struct co_carrier_identity *identity, int *peer, const char **why)
{
    struct co_carrier_tcp_connection *connection = &strangers->places[place].connection;
    int result = connection->socket < 0 ? 0 : co_carrier_tcp_connection_greet(connection, identity, why);

    *peer = connection->handshake.peer;
    if (result < 0) {
        bool is_refused = *why != NULL;
        strangers->refused += is_refused;
        strangers->silent += !is_refused;
        co_carrier_strangers_release(strangers, place);
        return result == -EPROTONOSUPPORT || result == -EINVAL ? result : 0;
    }
    return result;
}

uint64_t co_carrier_strangers_expire(struct co_carrier_strangers *strangers, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;

    for (unsigned i = 0; strangers->count > 0 && i < strangers->room; i++) {
        if (strangers->places[i].connection.socket < 0) {
            continue;
        }
        uint64_t until_ns = strangers->places[i].since_ns + PATIENCE_NS;
        if (now_ns >= until_ns) {
            strangers->silent++;
            co_carrier_strangers_release(strangers, i);
        } else {
            next_ns = until_ns < next_ns ? until_ns : next_ns;
        }
    }
    if (strangers->deaf_until_ns != 0) {
        if (now_ns < strangers->deaf_until_ns) {
            return strangers->deaf_until_ns < next_ns ? strangers->deaf_until_ns : next_ns;
        }
        strangers->deaf_until_ns = 0;
        listener_watch(strangers, EPOLLIN);
    }
    return next_ns;
}
