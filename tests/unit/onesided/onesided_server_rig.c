// SPDX-License-Identifier: BSD-3-Clause
//
// A coordinator with its sockets, a hop and three clients; see the header.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "onesided/hop_control.h"
#include "onesided_server_rig.h"
#include "udp_namespace.h"

const char *const server_commands[] = {"ip link set lo up", NULL};
const char server_place[] = "127.0.0.1:4793";

static const uint8_t secret_of_all[CO_SECRET_BYTES] = {1, 2, 3};

struct co_server_config server_config = {
    .listen = "127.0.0.1",
    .secret = secret_of_all,
    .coordinator = {
        .first_ip = 0xefc10000, .addresses = 256, .lease_ns = 2 * CO_NS_PER_S, .patience_ns = 60 * CO_NS_PER_S}};
static _Atomic int stop_server, stop_hop;
static pthread_t server_thread, hop_thread;
static char server_said[8192];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER; // something was said, or the hop has moved

static struct co_hop *hop;
static struct co_hop_control *control;
struct co_tcp_link server_links[SERVER_CLIENTS];
struct co_coordination_message server_message;

static void take_line(void *context, const char *line)
{
    (void)context;
    pthread_mutex_lock(&lock);
    size_t at = strlen(server_said);
    snprintf(server_said + at, sizeof server_said - at, "%s\n", line);
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&lock);
}

void server_forget_said(void)
{
    pthread_mutex_lock(&lock);
    *server_said = '\0';
    pthread_mutex_unlock(&lock);
}

static void *serve(void *unused)
{
    char why[200] = "";
    (void)unused;
    namespace_require(co_server_run(&server_config, &stop_server, why, sizeof why) == 0, why);
    return NULL;
}

void server_start(void)
{
    stop_server = 0;
    server_config.log = take_line;
    namespace_require(pthread_create(&server_thread, NULL, serve, NULL) == 0, "a thread for the server");
}

void server_end(void)
{
    stop_server = 1;
    pthread_join(server_thread, NULL);
}

static void no_frame(void *context, unsigned port)
{
    (void)context;
    (void)port;
}

static void no_copy(void *context, unsigned port, const struct co_hop_copy *copy)
{
    (void)context;
    (void)port;
    (void)copy;
}

static void count_lost(void *context, struct co_coordination_hop_report *report)
{
    (void)context;
    (void)report;
}

static unsigned rules;   // of the hop, under the lock
static unsigned actions; // likewise, and below
static uint64_t expired, moved_ns;

static void *run_hop(void *unused)
{
    (void)unused;
    while (!stop_hop) {
        struct pollfd entry = co_hop_control_watch(control);
        poll(&entry, 1, 20);
        uint64_t now = co_clock_now_ns();
        co_hop_tick(hop, now);
        co_hop_control_progress(control, now);
        pthread_mutex_lock(&lock);
        rules = co_rule_table_count(co_hop_table(hop));
        actions = co_rule_table_action_count(co_hop_table(hop));
        expired = co_hop_totals(hop)->expired;
        moved_ns = now;
        pthread_cond_signal(&news);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

void server_start_hop(void)
{
    struct co_hop_config config = {.mode = CO_HOP_SWITCH, .ports = 2, .rules = 4, .actions = 8};
    struct co_hop_output output = {.forward = no_frame, .copy = no_copy};
    struct co_hop_control_config how = {
        .place = "127.0.0.1:4793",
        .secret = secret_of_all,
        .login = {.role = CO_ROLE_HOP, .name = "leaf", .rules = 4, .actions = 8},
        .count_lost = count_lost,
        .log = take_line,
    };
    namespace_require(co_hop_open(&hop, &config, &output) == 0, "the hop opens");
    namespace_require(co_hop_control_open(&control, &how, hop) == 0, "its control opens");
    stop_hop = 0;
    namespace_require(pthread_create(&hop_thread, NULL, run_hop, NULL) == 0, "a thread for the hop");
}

void server_end_hop(void)
{
    stop_hop = 1;
    pthread_join(hop_thread, NULL);
    co_hop_control_close(control);
    co_hop_close(hop);
}

void server_await(bool (*holds)(const void *), const void *what, const char *text)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&lock);
    int error = 0;
    while (!holds(what) && error == 0) {
        error = pthread_cond_timedwait(&news, &lock, &end);
    }
    if (error != 0) {
        fprintf(stderr, "%s\n", server_said);
    }
    pthread_mutex_unlock(&lock);
    namespace_require(error == 0, text);
}

bool server_was_said(const void *text)
{
    return strstr(server_said, text) != NULL;
}

static bool has_actions(const void *count)
{
    return actions == *(const unsigned *)count && rules == (actions > 0);
}

static bool has_moved_since(const void *when_ns)
{
    return moved_ns > *(const uint64_t *)when_ns;
}

void server_await_hop_for(uint64_t ns)
{
    uint64_t end_ns = co_clock_now_ns() + ns;
    server_await(has_moved_since, &end_ns, "the hop moves");
}

bool server_hop_expired(uint64_t count)
{
    pthread_mutex_lock(&lock);
    bool result = expired == count;
    pthread_mutex_unlock(&lock);
    return result;
}

void server_await_actions(unsigned count, const char *text)
{
    server_await(has_actions, &count, text);
}

void server_hears(int client, uint16_t kind)
{
    char why[200] = "";
    int result =
        co_tcp_await(&server_links[client], &server_message, co_clock_now_ns() + 60 * CO_NS_PER_S, why, sizeof why);
    if (result != 1 || server_message.kind != kind) {
        fprintf(stderr, "client %d: %d %s, kind %u, not %u\n", client, result, why, server_message.kind, kind);
    }
    namespace_require(result == 1 && server_message.kind == kind, "a client hears what it should");
}

void server_say(int client, uint16_t kind)
{
    server_message.kind = kind;
    namespace_require(co_tcp_message_send(&server_links[client], &server_message) == 0, "a client says something");
}

void server_connect(int client)
{
    char why[200] = "";
    int error = co_tcp_connect(&server_links[client], server_place, "1", 60000, server_config.secret, why, sizeof why);
    namespace_require(error == 0, why);
    server_hears(client, CO_SAY_WELCOME);
    server_message.login = (struct co_coordination_login){.role = CO_ROLE_CLIENT, .name = "c"};
    server_say(client, CO_SAY_LOGIN);
    server_hears(client, CO_SAY_DONE);
}

void server_open_group(void)
{
    for (int i = 0; i < SERVER_CLIENTS; i++) {
        server_connect(i);
        server_message.open = (struct co_coordination_open){.group = "g",
                                                            .bytes = 4096,
                                                            .members = SERVER_CLIENTS - 1,
                                                            .patience_ms = 60000,
                                                            .end = {.mtu = 1024, .qpn = 5}};
        server_message.open.end.ip = 0x0a000001 + (uint32_t)i;
        snprintf(server_message.open.name, sizeof server_message.open.name, "c%d", i);
        server_say(i, i == 0 ? CO_SAY_OPEN_SENDER : CO_SAY_OPEN_MEMBER);
    }
    for (int i = 1; i < SERVER_CLIENTS; i++) {
        server_hears(i, CO_SAY_SETUP);
        server_say(i, CO_SAY_READY);
    }
    server_hears(0, CO_SAY_GO);
}

void server_close_clients(void)
{
    for (int i = 0; i < SERVER_CLIENTS; i++) {
        co_tcp_close(&server_links[i]);
    }
}
