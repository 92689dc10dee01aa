// SPDX-License-Identifier: BSD-3-Clause
//
// Strangers at a proxy's socket; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/proxy/proxy_listener.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "offload/proxy/proxy_bounded_close.h"

enum { NAME_BYTES = 16, NAMES_TRIED = 8, ACCEPTED_A_TURN = 16, CROWDED_A_TURN = 16 };
#define DEAF_NS (100 * CO_NS_PER_MS) // without descriptors: nobody is accepted for so long

struct stranger {
    int socket; // -1: none here
    int segment;
    pid_t process;
    size_t count; // of bytes that it has said
    uint64_t until_ns;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
};

struct co_proxy_listener {
    struct co_proxy_listener_config config;
    struct co_proxy_listener_counts counts;
    int socket, epoll;
    uint64_t deaf_until_ns; // 0: it is not
    struct stranger strangers[CO_PROXY_STRANGERS];
};

static int name_make(char name[CO_LOCAL_NAME_MAX])
{
    uint8_t random[NAME_BYTES];

    if (getrandom(random, sizeof random, 0) != sizeof random) {
        return -EIO;
    }
    int length = snprintf(name, CO_LOCAL_NAME_MAX, "castoff-proxy-");
    for (int i = 0; i < NAME_BYTES; i++) {
        length += snprintf(name + length, (size_t)(CO_LOCAL_NAME_MAX - length), "%02x", random[i]);
    }
    return 0;
}

static int socket_listen(char name[CO_LOCAL_NAME_MAX])
{
    int made = -EADDRINUSE;
    for (int i = 0; i < NAMES_TRIED && made == -EADDRINUSE; i++) {
        int error = name_make(name);
        made = error != 0 ? error : co_local_listen(name);
    }
    return made;
}

static int watch(const struct co_proxy_listener *listener, int operation, int socket, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = socket};
    return epoll_ctl(listener->epoll, operation, socket, &event) != 0 ? -errno : 0;
}

int co_proxy_listener_open(struct co_proxy_listener **out, const struct co_proxy_listener_config *config,
                           char name[CO_LOCAL_NAME_MAX])
{
    struct co_proxy_listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL) {
        return -ENOMEM;
    }
    co_proxy_bounded_open();
    listener->config = *config;
    for (int i = 0; i < CO_PROXY_STRANGERS; i++) {
        listener->strangers[i].socket = -1;
    }
    listener->socket = socket_listen(name);
    int error = listener->socket < 0 ? listener->socket : 0;
    if (error == 0) {
        listener->epoll = epoll_create1(EPOLL_CLOEXEC);
        error = listener->epoll < 0 ? -errno : watch(listener, EPOLL_CTL_ADD, listener->socket, EPOLLIN);
        if (error != 0) {
            close(listener->socket);
            if (listener->epoll >= 0) {
                close(listener->epoll);
            }
        }
    }
    if (error != 0) {
        free(listener);
        return error;
    }
    *out = listener;
    return 0;
}

// What it had is closed, but for what has been handed on.
static void stranger_leave(struct stranger *stranger, bool is_handed_on)
{
    if (!is_handed_on) {
        co_proxy_bounded_close(stranger->socket);
        if (stranger->segment >= 0) {
            co_proxy_bounded_close(stranger->segment);
        }
    }
    stranger->socket = -1;
    explicit_bzero(stranger->bytes, sizeof stranger->bytes); // it may have said the key
}

void co_proxy_listener_close(struct co_proxy_listener *listener)
{
    for (int i = 0; i < CO_PROXY_STRANGERS; i++) {
        if (listener->strangers[i].socket >= 0) {
            stranger_leave(&listener->strangers[i], false);
        }
    }
    close(listener->epoll);
    co_proxy_bounded_close(listener->socket); // with those who have not been accepted
    free(listener);
}

int co_proxy_listener_descriptor(const struct co_proxy_listener *listener)
{
    return listener->epoll;
}

// A free place, or that of the one who has been silent longest; NULL where there is nobody to send away.
static struct stranger *oldest(struct co_proxy_listener *listener, bool may_be_free)
{
    struct stranger *found = NULL;
    for (int i = 0; i < CO_PROXY_STRANGERS; i++) {
        struct stranger *other = &listener->strangers[i];
        if (other->socket < 0 && may_be_free) {
            return other;
        }
        if (other->socket >= 0 && (found == NULL || other->until_ns < found->until_ns)) {
            found = other;
        }
    }
    return found;
}

static void stranger_crowd_out(struct co_proxy_listener *listener, struct stranger *stranger)
{
    listener->counts.crowded++;
    stranger_leave(stranger, false);
}

static void stranger_enter(struct co_proxy_listener *listener, int socket, const struct co_local_peer *peer,
                           uint64_t now_ns)
{
    listener->counts.accepted++;
    if (peer->user != getuid()) {
        listener->counts.foreign++;
        co_proxy_bounded_close(socket);
        return;
    }
    struct stranger *stranger = oldest(listener, true);
    if (stranger->socket >= 0) {
        stranger_crowd_out(listener, stranger);
    }
    if (watch(listener, EPOLL_CTL_ADD, socket, EPOLLIN) != 0) {
        listener->counts.crowded++;
        co_proxy_bounded_close(socket);
        return;
    }
    *stranger = (struct stranger){
        .socket = socket, .segment = -1, .process = peer->process, .until_ns = now_ns + listener->config.patience_ns};
}

// No descriptor is left for who comes: the oldest stranger gives his, or nobody is asked for a while, for a socket that
// stays readable would keep the proxy awake.
static void accept_failed(struct co_proxy_listener *listener, uint64_t now_ns)
{
    struct stranger *stranger = oldest(listener, false);
    if (stranger != NULL) {
        stranger_crowd_out(listener, stranger);
    } else {
        watch(listener, EPOLL_CTL_MOD, listener->socket, 0);
        listener->deaf_until_ns = now_ns + DEAF_NS;
    }
}

static bool has_place(struct co_proxy_listener *listener)
{
    return oldest(listener, true)->socket < 0;
}

// Whoever has a place. If it `crowds`, one more, for whom somebody else may have to go. Whether somebody may be left
// who comes in only that way.
static bool strangers_accept(struct co_proxy_listener *listener, uint64_t now_ns, bool crowds)
{
    struct co_local_peer peer;

    for (int i = 0; i < (crowds ? 1 : ACCEPTED_A_TURN) && listener->deaf_until_ns == 0; i++) {
        if (!crowds && !has_place(listener)) {
            return true;
        }
        int accepted = co_local_accept(listener->socket, &peer);
        if (accepted >= 0) {
            stranger_enter(listener, accepted, &peer, now_ns);
        } else if (accepted == -EAGAIN) {
            return false;
        } else if (!crowds && oldest(listener, false) != NULL) {
            return true;
        } else {
            accept_failed(listener, now_ns);
        }
    }
    return crowds;
}

// Takes as long for a key that is wrong in its last byte as for any other.
static bool key_is_right(const uint8_t *key, const uint8_t *other)
{
    uint8_t differs = 0;
    for (int i = 0; i < CO_OFFLOAD_KEY_BYTES; i++) {
        differs |= key[i] ^ other[i];
    }
    return differs == 0;
}

static bool hello_is_good(const struct co_proxy_listener *listener, const struct stranger *stranger,
                          struct co_offload_hello *hello)
{
    if (co_offload_hello_decode(hello, stranger->bytes) != 0) {
        return false;
    }
    if (hello->kind == CO_OFFLOAD_HELLO_STATUS) {
        return stranger->segment < 0;
    }
    return key_is_right(hello->key, listener->config.key) && hello->rank < listener->config.ranks &&
           listener->config.processes[hello->rank] == stranger->process && stranger->segment >= 0;
}

// More of what it says. 1: that is a hello, 0: it has more to say, -EPROTO: it is nobody.
static int stranger_hear(const struct co_proxy_listener *listener, struct stranger *stranger,
                         struct co_offload_hello *hello)
{
    int fd;
    ssize_t came = co_proxy_bounded_receive(stranger->socket, stranger->bytes + stranger->count,
                                            sizeof stranger->bytes - stranger->count, &fd);
    if (came == -EAGAIN) {
        return 0;
    }
    if (fd >= 0 && stranger->segment >= 0) {
        co_proxy_bounded_close(fd);
        return -EPROTO;
    }
    stranger->segment = fd >= 0 ? fd : stranger->segment;
    if (came <= 0) {
        return -EPROTO;
    }
    stranger->count += (size_t)came;
    if (stranger->count < sizeof stranger->bytes) {
        return 0;
    }
    return hello_is_good(listener, stranger, hello) ? 1 : -EPROTO;
}

// Whether one of them is known now.
static bool strangers_hear(struct co_proxy_listener *listener, uint64_t now_ns, struct co_proxy_arrival *arrival)
{
    for (int i = 0; i < CO_PROXY_STRANGERS; i++) {
        struct stranger *stranger = &listener->strangers[i];
        if (stranger->socket < 0) {
            continue;
        }
        int heard = stranger_hear(listener, stranger, &arrival->hello);
        if (heard > 0) {
            watch(listener, EPOLL_CTL_DEL, stranger->socket, 0);
            arrival->socket = stranger->socket;
            arrival->segment = stranger->segment;
            arrival->process = stranger->process;
            stranger_leave(stranger, true);
            return true;
        }
        if (heard < 0 || now_ns >= stranger->until_ns) {
            listener->counts.junk += heard < 0;
            listener->counts.silent += heard == 0;
            stranger_leave(stranger, false);
        }
    }
    return false;
}

// All are heard before one of them has to go: on a node of many ranks whoever is in may have said who it is already.
int co_proxy_listener_next(struct co_proxy_listener *listener, uint64_t now_ns, struct co_proxy_arrival *arrival)
{
    bool is_more = true;

    if (listener->deaf_until_ns != 0 && now_ns >= listener->deaf_until_ns) {
        watch(listener, EPOLL_CTL_MOD, listener->socket, EPOLLIN);
        listener->deaf_until_ns = 0;
    }
    for (int i = 0; is_more && i <= CROWDED_A_TURN; i++) {
        is_more = strangers_accept(listener, now_ns, i > 0);
        if (strangers_hear(listener, now_ns, arrival)) {
            return 1;
        }
    }
    return 0;
}

uint64_t co_proxy_listener_due_ns(const struct co_proxy_listener *listener)
{
    uint64_t due_ns = listener->deaf_until_ns != 0 ? listener->deaf_until_ns : UINT64_MAX;
    for (int i = 0; i < CO_PROXY_STRANGERS; i++) {
        const struct stranger *stranger = &listener->strangers[i];
        if (stranger->socket >= 0 && stranger->until_ns < due_ns) {
            due_ns = stranger->until_ns;
        }
    }
    return due_ns;
}

const struct co_proxy_listener_counts *co_proxy_listener_counts(const struct co_proxy_listener *listener)
{
    return &listener->counts;
}
