// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of the coordinator; see the header.
#include "onesided/coordinator_server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "onesided/tcp_link.h"

enum { TICK_MS = 100, LINE = 320, READS_A_TURN = 16 };

struct connection {
    bool is_used, is_known; // known: to the coordinator
    bool is_broken;         // to be closed at the end of the turn
    uint64_t since_ns;
    struct co_tcp_link link;
};

struct server {
    const struct co_server_config *config;
    struct co_coordinator *coordinator;
    int listener;
    uint64_t deaf_until_ns; // nobody is let in: there was no descriptor for the last one
    struct connection connections[CO_COORDINATOR_CLIENTS];
    struct pollfd entries[CO_COORDINATOR_CLIENTS + 1];
    unsigned who[CO_COORDINATOR_CLIENTS + 1]; // behind an entry
    struct co_coordination_message message;   // heard
};

static void tell(const struct server *server, const char *place, const char *text)
{
    char line[LINE];
    snprintf(line, sizeof line, "%s: %s", place, text);
    server->config->log(NULL, line);
}

static void say(void *context, unsigned client, struct co_coordination_message *message)
{
    struct server *server = context;
    struct connection *connection = &server->connections[client];
    if (connection->is_used && !connection->is_broken && co_tcp_message_send(&connection->link, message) != 0) {
        connection->is_broken = true;
    }
}

static void drop(void *context, unsigned client)
{
    struct server *server = context;
    struct connection *connection = &server->connections[client];
    connection->is_known = false; // the coordinator knows already
    connection->is_broken = true;
}

static void close_connection(struct server *server, unsigned client, uint64_t now_ns)
{
    struct connection *connection = &server->connections[client];
    co_tcp_close(&connection->link);
    connection->is_used = false;
    if (connection->is_known) {
        co_coordinator_left(server->coordinator, client, now_ns);
    }
}

// The oldest that has not shown that it knows the secret. CO_COORDINATOR_CLIENTS: all have.
static unsigned find_stranger(const struct server *server)
{
    unsigned oldest = CO_COORDINATOR_CLIENTS;
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        const struct connection *connection = &server->connections[i];
        if (connection->is_used && !co_session_is_trusted(connection->link.session) &&
            (oldest == CO_COORDINATOR_CLIENTS || connection->since_ns < server->connections[oldest].since_ns)) {
            oldest = i;
        }
    }
    return oldest;
}

// Makes room, so that strangers cannot keep others out: its number, or CO_COORDINATOR_CLIENTS: there is none.
static unsigned send_a_stranger_away(struct server *server, const char *text, uint64_t now_ns)
{
    unsigned oldest = find_stranger(server);
    if (oldest < CO_COORDINATOR_CLIENTS) {
        co_coordinator_stranger_log(server->coordinator, server->connections[oldest].link.place, text, now_ns);
        close_connection(server, oldest, now_ns);
    }
    return oldest;
}

// A slot for the next connection. CO_COORDINATOR_CLIENTS: all are known.
static unsigned find_slot(struct server *server, uint64_t now_ns)
{
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        if (!server->connections[i].is_used) {
            return i;
        }
    }
    return send_a_stranger_away(server, "has not shown the secret, and its slot is wanted", now_ns);
}

static bool is_anybody_waiting(const struct server *server)
{
    struct pollfd entry = {.fd = server->listener, .events = POLLIN};
    return poll(&entry, 1, 0) > 0;
}

// A process may have fewer descriptors than there are slots; the kernel says so before it looks for who waits.
static int accept_link(struct server *server, struct co_tcp_link *link, uint64_t now_ns)
{
    int error = co_tcp_accept(link, server->listener, server->config->secret);
    bool is_full = error == -EMFILE || error == -ENFILE;
    if (is_full && !is_anybody_waiting(server)) {
        return -EAGAIN;
    }
    if (is_full && send_a_stranger_away(server, "has not shown the secret, and its descriptor is wanted", now_ns) <
                       CO_COORDINATOR_CLIENTS) {
        error = co_tcp_accept(link, server->listener, server->config->secret);
    }
    return error;
}

// False: there is no other.
static bool accept_one(struct server *server, uint64_t now_ns)
{
    struct co_tcp_link link;
    int error = accept_link(server, &link, now_ns);
    if (error != 0) {
        // The listener would be ready again at once, and for as long as that one waits.
        if (error != -EAGAIN && error != -EINTR && error != -ECONNABORTED) {
            tell(server, "the next connection", strerror(-error));
            server->deaf_until_ns = now_ns + CO_NS_PER_S;
        }
        return false;
    }
    unsigned i = find_slot(server, now_ns);
    if (i == CO_COORDINATOR_CLIENTS) {
        co_coordinator_stranger_log(server->coordinator, link.place,
                                    "refused: there are as many connections as there can be", now_ns);
        co_tcp_close(&link);
        return true;
    }
    server->connections[i] = (struct connection){.is_used = true, .since_ns = now_ns, .link = link};
    return true;
}

static void close_broken(struct server *server, uint64_t now_ns)
{
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        if (server->connections[i].is_used && server->connections[i].is_broken) {
            close_connection(server, i, now_ns);
        }
    }
}

// All whole messages that are there.
static void hear(struct server *server, unsigned client, uint64_t now_ns)
{
    struct connection *connection = &server->connections[client];
    char why[200];
    int result = 1;
    while (result > 0 && !connection->is_broken) {
        result = co_session_next(connection->link.session, &server->message, why, sizeof why);
        if (!connection->is_known && result >= 0 && co_session_is_open(connection->link.session)) {
            connection->is_known = true;
            co_coordinator_joined(server->coordinator, client, connection->link.place, now_ns);
        }
        if (result > 0) {
            co_coordinator_heard(server->coordinator, client, &server->message, now_ns);
        }
    }
    if (result < 0) {
        if (co_session_is_trusted(connection->link.session)) {
            tell(server, connection->link.place, why);
        } else {
            co_coordinator_stranger_log(server->coordinator, connection->link.place, why, now_ns);
        }
        co_tcp_send(&connection->link); // the HELLO, by which it can tell its user the same
        connection->is_broken = true;
    }
}

static void serve(struct server *server, unsigned client, short events, uint64_t now_ns)
{
    struct connection *connection = &server->connections[client];
    int error = 0;
    if (events & POLLOUT) {
        error = co_tcp_send(&connection->link);
    }
    // What a peer said before it left is heard first. One that says more has to wait for the others.
    for (int i = 0; i < READS_A_TURN && error == 0 && !connection->is_broken && (events & (POLLIN | POLLHUP | POLLERR));
         i++) {
        error = co_tcp_receive(&connection->link);
        hear(server, client, now_ns);
    }
    if (error != 0 && error != -EAGAIN) {
        if (connection->is_known && !co_session_is_trusted(connection->link.session)) {
            co_coordinator_stranger_log(server->coordinator, connection->link.place,
                                        "left before it said who it is: has it another secret?", now_ns);
        }
        connection->is_broken = true;
    }
}

static unsigned watch(struct server *server)
{
    unsigned count = 0;
    bool is_deaf = co_clock_now_ns() < server->deaf_until_ns;
    server->entries[count++] = (struct pollfd){.fd = is_deaf ? -1 : server->listener, .events = POLLIN};
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        const struct connection *connection = &server->connections[i];
        if (connection->is_used) {
            server->who[count] = i;
            server->entries[count++] =
                (struct pollfd){.fd = connection->link.socket, .events = co_tcp_events(&connection->link)};
        }
    }
    return count;
}

static void check_silent(struct server *server, uint64_t now_ns)
{
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        struct connection *connection = &server->connections[i];
        if (connection->is_used && !connection->is_known &&
            now_ns - connection->since_ns > server->config->coordinator.patience_ns) {
            connection->is_broken = true;
        }
    }
}

static void turn(struct server *server)
{
    unsigned count = watch(server);
    int ready = poll(server->entries, count, TICK_MS);
    uint64_t now_ns = co_clock_now_ns();
    for (int i = 0; i < READS_A_TURN && ready > 0 && server->entries[0].revents != 0 && accept_one(server, now_ns);
         i++) {
    }
    for (unsigned i = 1; ready > 0 && i < count; i++) {
        // Who was sent away for a new one has left no session, and the new one has said nothing yet.
        if (server->entries[i].revents != 0 && server->connections[server->who[i]].is_used) {
            serve(server, server->who[i], server->entries[i].revents, now_ns);
        }
    }
    co_coordinator_tick(server->coordinator, now_ns);
    check_silent(server, now_ns);
    close_broken(server, now_ns);
}

static void close_all(struct server *server)
{
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        if (server->connections[i].is_used) {
            co_tcp_close(&server->connections[i].link);
        }
    }
    close(server->listener);
    co_coordinator_close(server->coordinator);
}

int co_server_run(const struct co_server_config *config, const _Atomic int *stop, char *why, size_t why_room)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        snprintf(why, why_room, "no memory");
        return -ENOMEM;
    }
    server->config = config;
    server->listener = co_socket_listen(config->listen, CO_COORDINATOR_PORT, why, why_room);
    if (server->listener < 0) {
        int error = server->listener;
        free(server);
        return error;
    }
    struct co_coordinator_output output = {.context = server, .say = say, .drop = drop, .log = config->log};
    int error = co_coordinator_open(&server->coordinator, &config->coordinator, &output);
    if (error != 0) {
        snprintf(why, why_room, "the coordinator cannot begin: %s", strerror(-error));
        close(server->listener);
        free(server);
        return error;
    }
    char line[LINE];
    snprintf(line, sizeof line, "listens at %s",
             *config->listen != '\0' ? config->listen : "port " CO_COORDINATOR_PORT);
    config->log(NULL, line);
    while (!*stop) {
        turn(server);
    }
    close_all(server);
    free(server);
    return 0;
}
