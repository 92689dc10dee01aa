// SPDX-License-Identifier: BSD-3-Clause
//
// The TCP carrier's conductor: turns, what waits for when, and the table of functions; see the header.
#define _GNU_SOURCE
#include "offload/carrier/tcp_carrier.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory/zeroed_pages.h"
#include "offload/carrier/tcp_carrier_state.h"

enum { EVENTS_A_TURN = 64, STRANGERS_MAX = 64 };
#define TICK_MAX_NS CO_NS_PER_S

static struct co_carrier_tcp *of(struct co_carrier *carrier)
{
    return (struct co_carrier_tcp *)carrier;
}

static void carrier_control(struct co_carrier *carrier, int peer, const void *record, size_t bytes)
{
    struct co_carrier_tcp *tcp = of(carrier);
    struct co_carrier_remote *remote = &tcp->remotes[peer];
    struct co_carrier_tcp_connection *connection = &remote->connections[CO_CARRIER_CONTROL];
    int error = 0;

    assert(bytes > 0 && bytes <= CO_CARRIER_CONTROL_BYTES_MAX);
    if (remote->is_ending || tcp->is_leaving || connection->phase == CO_CARRIER_OVER) {
        return;
    }
    tcp->counts.control_records++;
    if (connection->phase == CO_CARRIER_STANDING) {
        error =
            co_carrier_tcp_connection_say(connection, CO_CARRIER_FRAME_RECORD, record, bytes, &tcp->counts.bytes_sent);
    } else {
        error = co_carrier_tcp_connection_keep(connection, record, bytes);
    }
    if (error != 0) {
        co_carrier_remote_fail(tcp, remote, error, NULL);
    } else if (connection->out.bytes > tcp->control_bytes_max) {
        co_carrier_remote_fail(tcp, remote, -ENOBUFS, "it does not read what it gets");
    }
}

static bool carrier_has_room(struct co_carrier *carrier, int peer)
{
    struct co_carrier_tcp *tcp = of(carrier);
    struct co_carrier_remote *remote = &tcp->remotes[peer];
    struct co_carrier_tcp_connection *connection = &remote->connections[CO_CARRIER_BULK];

    return !remote->is_ending && !tcp->is_leaving && connection->phase == CO_CARRIER_STANDING &&
           connection->out.bytes == 0;
}

static void carrier_bulk(struct co_carrier *carrier, int peer, const void *record, size_t bytes)
{
    struct co_carrier_tcp *tcp = of(carrier);
    struct co_carrier_remote *remote = &tcp->remotes[peer];

    assert(carrier_has_room(carrier, peer) && bytes > 0 && bytes <= CO_CARRIER_BULK_BYTES_MAX);
    tcp->counts.bulk_records++;
    int error = co_carrier_tcp_connection_say(&remote->connections[CO_CARRIER_BULK], CO_CARRIER_FRAME_RECORD, record,
                                              bytes, &tcp->counts.bytes_sent);
    if (error != 0) {
        co_carrier_remote_fail(tcp, remote, error, NULL);
    }
}

static const struct co_carrier_ops tcp_ops = {
    .name = "tcp", .control = carrier_control, .has_room = carrier_has_room, .bulk = carrier_bulk};

int co_carrier_tcp_listen(const char *place, uint16_t *port, char why[CO_CARRIER_WHY_MAX])
{
    int listener = co_socket_listen(place, "0", why, CO_CARRIER_WHY_MAX);
    if (listener >= 0) {
        *port = co_socket_port(listener);
    }
    return listener;
}

static int strangers_room(int self, int proxies)
{
    return STRANGERS_MAX + CO_CARRIER_CONNECTIONS * (proxies - 1 - self);
}

int co_carrier_tcp_descriptors(int self, int proxies)
{
    return 2 + CO_CARRIER_CONNECTIONS * (proxies - 1) + strangers_room(self, proxies);
}

static size_t size_of(int proxies)
{
    return sizeof(struct co_carrier_tcp) + (size_t)proxies * sizeof(struct co_carrier_remote);
}

static int remote_open(struct co_carrier_tcp *tcp, int number, const struct co_carrier_tcp_peer *peer,
                       char why[CO_CARRIER_WHY_MAX])
{
    struct co_carrier_remote *remote = &tcp->remotes[number];
    struct addrinfo *found;

    remote->number = number;
    tcp->remotes_made = number + 1;
    for (int i = 0; i < CO_CARRIER_CONNECTIONS; i++) {
        uint64_t id = (uint64_t)number * CO_CARRIER_CONNECTIONS + (uint64_t)i;
        co_carrier_tcp_connection_init(&remote->connections[i], (enum co_carrier_connection)i, tcp->epoll, id);
    }
    if (number == tcp->identity.self) {
        remote->is_ending = remote->is_over = true;
        return 0;
    }
    snprintf(remote->host, sizeof remote->host, "%s", peer->host);
    snprintf(remote->place, sizeof remote->place, "%s", peer->place);
    int error = co_socket_addresses_find(&found, peer->place, "0", AI_NUMERICHOST, why, CO_CARRIER_WHY_MAX);
    if (error != 0) {
        return error;
    }
    memcpy(&remote->address, found->ai_addr, found->ai_addrlen);
    remote->address_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

// Whether this processor has AES: others have to know.
static int identity_open(struct co_carrier_identity *identity, const struct co_carrier_tcp_config *config)
{
    struct co_auth *auth;
    int error = co_auth_open(&auth, config->key, 1, CO_AUTH_KEYED);

    if (error != 0) {
        return error;
    }
    *identity = (struct co_carrier_identity){.self = config->self,
                                             .proxies = config->proxies,
                                             .has_aes = !co_auth_is_portable(auth),
                                             .bulk_form = config->bulk_form};
    memcpy(identity->key, config->key, CO_AUTH_KEY_BYTES);
    co_auth_close(auth);
    return 0;
}

static int parts_open(struct co_carrier_tcp *tcp, const struct co_carrier_tcp_config *config, int listener,
                      char why[CO_CARRIER_WHY_MAX])
{
    int error = identity_open(&tcp->identity, config);

    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (error == 0 && tcp->epoll < 0) {
        error = -errno;
    }
    if (error == 0 && listener >= 0) {
        error = co_carrier_strangers_open(&tcp->strangers, listener, tcp->epoll, co_carrier_first_stranger_id(tcp),
                                          (unsigned)strangers_room(config->self, config->proxies));
    } else if (listener >= 0) {
        close(listener);
    }
    snprintf(why, CO_CARRIER_WHY_MAX, "no carrier: %s", strerror(-error));
    for (int i = 0; error == 0 && i < config->proxies; i++) {
        error = remote_open(tcp, i, &config->peers[i], why);
    }
    return error;
}

int co_carrier_tcp_open(struct co_carrier_tcp **out, const struct co_carrier_tcp_config *config,
                        const struct co_carrier_tcp_output *output, int listener, uint64_t now_ns,
                        char why[CO_CARRIER_WHY_MAX])
{
    struct co_carrier_tcp *tcp = NULL;

    if (config->self >= 0 && config->self < config->proxies) {
        tcp = co_zeroed_pages_take_secret(size_of(config->proxies)); // keys of connections are in it
    }
    if (tcp == NULL) {
        if (listener >= 0) {
            close(listener);
        }
        snprintf(why, CO_CARRIER_WHY_MAX, "no carrier for proxy %d of %d", config->self, config->proxies);
        return config->self >= 0 && config->self < config->proxies ? -ENOMEM : -EINVAL;
    }
    tcp->carrier.ops = &tcp_ops;
    tcp->output = *output;
    tcp->strangers.listener = -1;
    tcp->identity.proxies = config->proxies; // for who closes it
    tcp->connect_until_ns = now_ns + config->connect_ns;
    tcp->silent_ns = config->silent_ns;
    tcp->tick_every_ns = config->silent_ns / 4 < TICK_MAX_NS ? config->silent_ns / 4 : TICK_MAX_NS;
    tcp->control_bytes_max = config->control_bytes_max;
    tcp->to_reach = (unsigned)config->self * CO_CARRIER_CONNECTIONS;
    tcp->to_come = (unsigned)(config->proxies - 1 - config->self) * CO_CARRIER_CONNECTIONS;
    int error = parts_open(tcp, config, listener, why);
    if (error != 0) {
        co_carrier_tcp_close(tcp);
        return error;
    }
    *out = tcp;
    return 0; // next_ns is 0: the first turn begins to connect
}

void co_carrier_tcp_close(struct co_carrier_tcp *tcp)
{
    if (tcp == NULL) {
        return;
    }
    for (int i = 0; i < tcp->remotes_made * CO_CARRIER_CONNECTIONS; i++) {
        struct co_carrier_remote *remote = &tcp->remotes[i / CO_CARRIER_CONNECTIONS];
        co_carrier_tcp_connection_end(&remote->connections[i % CO_CARRIER_CONNECTIONS], CO_CARRIER_OVER);
    }
    co_carrier_strangers_close(&tcp->strangers);
    if (tcp->epoll >= 0) {
        close(tcp->epoll);
    }
    free(tcp->spare.buffer);
    size_t bytes = size_of(tcp->identity.proxies);
    sodium_memzero(tcp, bytes);
    co_zeroed_pages_give(tcp, bytes);
}

struct co_carrier *co_carrier_tcp_base(struct co_carrier_tcp *tcp)
{
    return &tcp->carrier;
}

bool co_carrier_tcp_is_connected(const struct co_carrier_tcp *tcp)
{
    return tcp->to_come + tcp->to_reach == 0;
}

int co_carrier_tcp_descriptor(const struct co_carrier_tcp *tcp)
{
    return tcp->epoll;
}

uint64_t co_carrier_tcp_deadline(const struct co_carrier_tcp *tcp)
{
    return tcp->ending > 0 ? 0 : tcp->next_ns;
}

static void stranger_event(struct co_carrier_tcp *tcp, unsigned place)
{
    int peer;
    const char *why = NULL;
    int result = co_carrier_strangers_hear(&tcp->strangers, place, &tcp->identity, &peer, &why);

    if (result == 1) {
        co_carrier_remote_came(tcp, &tcp->strangers.places[place].connection);
        co_carrier_strangers_release(&tcp->strangers, place);
    } else if (result < 0) {
        co_carrier_remote_fail(tcp, &tcp->remotes[peer], result, why);
    }
}

static void event_take(struct co_carrier_tcp *tcp, const struct epoll_event *event)
{
    uint64_t id = event->data.u64, first = co_carrier_first_stranger_id(tcp);

    if (id < first) {
        co_carrier_remote_event(tcp, &tcp->remotes[id / CO_CARRIER_CONNECTIONS],
                                (enum co_carrier_connection)(id % CO_CARRIER_CONNECTIONS), event->events);
    } else if (id > first && id - first <= tcp->strangers.room) {
        stranger_event(tcp, (unsigned)(id - first - 1));
    } else if (id == first && tcp->strangers.listener >= 0) {
        co_carrier_strangers_accept(&tcp->strangers, tcp->now_ns);
    }
}

static bool is_bulk(const struct co_carrier_tcp *tcp, const struct epoll_event *event)
{
    return event->data.u64 < co_carrier_first_stranger_id(tcp) &&
           event->data.u64 % CO_CARRIER_CONNECTIONS == CO_CARRIER_BULK;
}

// What has to be done by time. Sets when that is next.
static void timers_run(struct co_carrier_tcp *tcp)
{
    tcp->next_ns = UINT64_MAX;
    if (!co_carrier_tcp_is_connected(tcp) && !tcp->is_leaving) {
        tcp->next_ns = tcp->connect_until_ns;
        co_carrier_remotes_connect(tcp);
    }
    if (tcp->tick_ns != 0 && tcp->now_ns >= tcp->tick_ns) {
        co_carrier_remotes_tick(tcp);
        tcp->tick_ns = tcp->now_ns + tcp->tick_every_ns;
    }
    if (tcp->tick_ns != 0 && tcp->tick_ns < tcp->next_ns) {
        tcp->next_ns = tcp->tick_ns;
    }
    if (tcp->to_come == 0) {
        co_carrier_strangers_close(&tcp->strangers); // nobody has a reason to come any more
    }
    uint64_t strangers_ns = co_carrier_strangers_expire(&tcp->strangers, tcp->now_ns);
    tcp->next_ns = strangers_ns < tcp->next_ns ? strangers_ns : tcp->next_ns;
}

// Silence counts from when the owner begins to wait; and not while this process had no processor, for then it was not
// there to hear.
static void silence_begin(struct co_carrier_tcp *tcp, bool is_waiting)
{
    bool was_late = tcp->tick_ns != 0 && tcp->now_ns >= tcp->tick_ns + tcp->tick_every_ns;

    if (!is_waiting || tcp->is_leaving) {
        tcp->tick_ns = 0;
    } else if (tcp->tick_ns == 0 || was_late) {
        for (int i = 0; i < tcp->identity.proxies; i++) {
            tcp->remotes[i].heard_ns = tcp->now_ns;
        }
        tcp->tick_ns = tcp->now_ns + tcp->tick_every_ns;
    }
}

bool co_carrier_tcp_turn(struct co_carrier_tcp *tcp, uint64_t now_ns, bool is_waiting)
{
    struct epoll_event events[EVENTS_A_TURN];
    int count = epoll_wait(tcp->epoll, events, EVENTS_A_TURN, 0);

    tcp->now_ns = now_ns;
    tcp->has_news = false;
    silence_begin(tcp, is_waiting);
    for (int pass = 0; pass < 2; pass++) { // bulk last
        for (int i = 0; i < count; i++) {
            if (is_bulk(tcp, &events[i]) == (pass == 1)) {
                event_take(tcp, &events[i]);
            }
        }
    }
    timers_run(tcp);
    co_carrier_remotes_end(tcp);
    return tcp->has_news || count == EVENTS_A_TURN;
}

void co_carrier_tcp_hold(struct co_carrier_tcp *tcp, int peer, bool is_held)
{
    co_carrier_tcp_connection_hold(&tcp->remotes[peer].connections[CO_CARRIER_BULK], is_held);
}

void co_carrier_tcp_leave(struct co_carrier_tcp *tcp, uint64_t now_ns)
{
    tcp->now_ns = now_ns;
    tcp->is_leaving = true;
    for (int i = 0; i < tcp->identity.proxies; i++) {
        co_carrier_remote_leave(tcp, &tcp->remotes[i]);
    }
}

bool co_carrier_tcp_has_left(const struct co_carrier_tcp *tcp)
{
    for (int i = 0; tcp->is_leaving && i < tcp->identity.proxies; i++) {
        if (!tcp->remotes[i].is_over) {
            return false;
        }
    }
    return tcp->is_leaving;
}

const struct co_carrier_tcp_counts *co_carrier_tcp_counts(struct co_carrier_tcp *tcp)
{
    tcp->counts.strangers_silent = tcp->strangers.silent;
    tcp->counts.strangers_refused = tcp->strangers.refused;
    return &tcp->counts;
}
