// SPDX-License-Identifier: BSD-3-Clause
//
// Coordinator, hop and clients over TCP, in a network namespace of their own: a group from its opening to its end with
// the hop's table as the witness; wrong secret, other version, strangers; a coordinator that dies and comes back.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "mcast/onesided/coordinator_server.h"
#include "mcast/onesided/hop_control.h"
#include "udp_namespace.h"

enum { CLIENTS = 3 };

static const char *const commands[] = {"ip link set lo up", NULL};
static const char place[] = "127.0.0.1:4793";

static struct co_server_config server_config = {
    .listen = "127.0.0.1",
    .secret = {1, 2, 3},
    .coordinator = {
        .first_ip = 0xefc10000, .addresses = 256, .lease_ns = 1000 * CO_NS_PER_MS, .patience_ns = 2 * CO_NS_PER_S}};
static _Atomic int stop_server, stop_hop;
static pthread_t server_thread, hop_thread;
static char server_said[8192];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct co_hop *hop;
static struct co_hop_control *control;
static struct co_tcp_link links[CLIENTS];
static struct co_control_message message;

static void take_line(void *context, const char *line)
{
    (void)context;
    pthread_mutex_lock(&lock);
    size_t at = strlen(server_said);
    snprintf(server_said + at, sizeof server_said - at, "%s\n", line);
    pthread_mutex_unlock(&lock);
}

static bool has_said(const char *text)
{
    pthread_mutex_lock(&lock);
    bool result = strstr(server_said, text) != NULL;
    pthread_mutex_unlock(&lock);
    return result;
}

static void forget_what_was_said(void)
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

static void start_server(void)
{
    stop_server = 0;
    server_config.log = take_line;
    namespace_require(pthread_create(&server_thread, NULL, serve, NULL) == 0, "a thread for the server");
}

static void end_server(void)
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

static void count_lost(void *context, struct co_control_hop_report *report)
{
    (void)context;
    (void)report;
}

static unsigned rules;   // of the hop, under the lock
static unsigned actions; // likewise, and below
static uint64_t expired;

static void *run_hop(void *unused)
{
    (void)unused;
    while (!stop_hop) {
        struct pollfd entry = co_hop_control_watch(control);
        poll(&entry, 1, 20);
        uint64_t now = co_clock_now_ns();
        co_hop_tick(hop, now);
        co_hop_control_move(control, now);
        pthread_mutex_lock(&lock);
        rules = co_match_rules(co_hop_table(hop));
        actions = co_match_actions(co_hop_table(hop));
        expired = co_hop_totals(hop)->expired;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void start_hop(void)
{
    struct co_hop_config config = {.mode = CO_HOP_SWITCH, .ports = 2, .rules = 4, .actions = 8};
    struct co_hop_output output = {.forward = no_frame, .copy = no_copy};
    struct co_hop_control_config how = {
        .place = "127.0.0.1:4793",
        .secret = {1, 2, 3},
        .login = {.role = CO_ROLE_HOP, .name = "leaf", .rules = 4, .actions = 8},
        .count_lost = count_lost,
        .log = take_line,
    };
    namespace_require(co_hop_open(&hop, &config, &output) == 0, "the hop opens");
    namespace_require(co_hop_control_open(&control, &how, hop) == 0, "its control opens");
    stop_hop = 0;
    namespace_require(pthread_create(&hop_thread, NULL, run_hop, NULL) == 0, "a thread for the hop");
}

static void end_hop(void)
{
    stop_hop = 1;
    pthread_join(hop_thread, NULL);
    co_hop_control_close(control);
    co_hop_close(hop);
}

// Ten seconds at most.
static void await(bool (*holds)(const void *), const void *what, const char *text)
{
    for (int turn = 0; turn < 500; turn++) {
        if (holds(what)) {
            return;
        }
        usleep(20000);
    }
    fprintf(stderr, "%s\n", server_said);
    namespace_require(false, text);
}

static bool was_said(const void *text)
{
    return has_said(text);
}

static bool has_actions(const void *count)
{
    pthread_mutex_lock(&lock);
    bool result = actions == *(const unsigned *)count && rules == (actions > 0);
    pthread_mutex_unlock(&lock);
    return result;
}

static bool has_expired(uint64_t count)
{
    pthread_mutex_lock(&lock);
    bool result = expired == count;
    pthread_mutex_unlock(&lock);
    return result;
}

static void await_actions(unsigned count, const char *text)
{
    await(has_actions, &count, text);
}

static void hears(int client, uint16_t kind)
{
    char why[200] = "";
    int result = co_tcp_await(&links[client], &message, co_clock_now_ns() + 10 * CO_NS_PER_S, why, sizeof why);
    if (result != 1 || message.kind != kind) {
        fprintf(stderr, "client %d: %d %s, kind %u, not %u\n", client, result, why, message.kind, kind);
    }
    namespace_require(result == 1 && message.kind == kind, "a client hears what it should");
}

static void say(int client, uint16_t kind)
{
    message.kind = kind;
    namespace_require(co_tcp_say(&links[client], &message) == 0, "a client says something");
}

static void connect_client(int client)
{
    char why[200] = "";
    int error = co_tcp_connect(&links[client], place, "1", 5000, server_config.secret, why, sizeof why);
    namespace_require(error == 0, why);
    hears(client, CO_SAY_WELCOME);
    message.login = (struct co_control_login){.role = CO_ROLE_CLIENT, .name = "c"};
    say(client, CO_SAY_LOGIN);
    hears(client, CO_SAY_DONE);
}

static void open_group(void)
{
    for (int i = 0; i < CLIENTS; i++) {
        connect_client(i);
        message.open = (struct co_control_open){
            .group = "g", .bytes = 4096, .members = CLIENTS - 1, .patience_ms = 5000, .end = {.mtu = 1024, .qpn = 5}};
        message.open.end.ip = 0x0a000001 + (uint32_t)i;
        snprintf(message.open.name, sizeof message.open.name, "c%d", i);
        say(i, i == 0 ? CO_SAY_OPEN_SENDER : CO_SAY_OPEN_MEMBER);
    }
    for (int i = 1; i < CLIENTS; i++) {
        hears(i, CO_SAY_SETUP);
        say(i, CO_SAY_READY);
    }
    hears(0, CO_SAY_GO);
}

static void close_clients(void)
{
    for (int i = 0; i < CLIENTS; i++) {
        co_tcp_close(&links[i]);
    }
}

static int live_group(void)
{
    start_server();
    start_hop();
    await(was_said, "the coordinator has taken this hop", "the hop is taken");
    open_group();
    await_actions(2, "the rule has two actions");
    say(1, CO_SAY_CLOSE);
    hears(1, CO_SAY_DONE);
    await_actions(1, "one member has left");
    co_tcp_close(&links[2]); // and one dies
    await_actions(0, "the other is dead");
    hears(0, CO_SAY_MEMBER_LOST);
    hears(0, CO_SAY_MEMBER_LOST);
    say(0, CO_SAY_CLOSE);
    hears(0, CO_SAY_DONE);
    close_clients();
    open_group();
    await_actions(2, "a group of the same name");
    co_tcp_close(&links[0]); // the owner dies: its rules vanish
    await_actions(0, "no rule without a sender");
    hears(1, CO_SAY_ENDED);
    namespace_require(strcmp(message.answer.text, "the sender has been lost") == 0, message.answer.text);
    close_clients();
    end_hop();
    end_server();
    return 0;
}

// The coordinator dies: rules end with their lease. It comes back: so does the hop.
static int live_death(void)
{
    start_server();
    start_hop();
    await(was_said, "the coordinator has taken this hop", "the hop is taken");
    open_group();
    await_actions(2, "the rule is there");
    usleep(1500000); // longer than the lease: reports keep it
    await_actions(2, "the rule is still there");
    end_server();
    await_actions(0, "the lease has ended");
    namespace_require(has_expired(1), "by itself");
    close_clients();
    forget_what_was_said();
    start_server();
    await(was_said, "the coordinator has taken this hop", "the hop is taken again");
    open_group();
    await_actions(2, "rules are there again");
    end_hop(); // and a hop that is killed: whoever closes waits for the end of its lease, and is answered
    uint64_t began = co_clock_now_ns();
    say(1, CO_SAY_CLOSE);
    hears(1, CO_SAY_DONE);
    namespace_require(co_clock_now_ns() - began < 5 * CO_NS_PER_S, "within the lease, and a little");
    start_hop();
    await_actions(1, "a new hop gets what is open");
    close_clients();
    end_hop();
    end_server();
    return 0;
}

static void say_raw(const char *bytes, size_t count, char *answer, size_t room)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(4793), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 10};
    int raw = socket(AF_INET, SOCK_STREAM, 0);
    size_t at = 0;
    ssize_t got;
    setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    namespace_require(connect(raw, (struct sockaddr *)&address, sizeof address) == 0, "a stranger connects");
    namespace_require(send(raw, bytes, count, MSG_NOSIGNAL) == (ssize_t)count, "a stranger speaks");
    while (at < room && (got = recv(raw, answer + at, room - at, 0)) > 0) {
        at += (size_t)got;
    }
    close(raw);
}

static int live_strangers(void)
{
    static const char hello[32] = {'c', 'a', 's', 't', 'o', 'f', 'f', 'G', 9};
    char answer[256], why[200];
    uint8_t other[CO_SECRET_BYTES] = {9};
    struct co_tcp_link link;
    start_server();
    await(was_said, "listens at 127.0.0.1", "the server listens");
    say_raw("GET / HTTP/1.1\r\n\r\n", 18, answer, sizeof answer);
    await(was_said, "the other end is no castoff coordinator, hop or program", "a stranger is told apart");
    say_raw(hello, sizeof hello, answer, sizeof answer);
    await(was_said, "the other end speaks version 9 of the protocol, this one 1", "so is another version");
    namespace_require(memcmp(answer, "castoffG\1", 9) == 0, "which hears the version that is spoken here");
    namespace_require(co_tcp_connect(&link, place, "1", 5000, other, why, sizeof why) == 0, why);
    namespace_require(co_tcp_await(&link, &message, co_clock_now_ns() + 10 * CO_NS_PER_S, why, sizeof why) == -EACCES &&
                          strcmp(why, "the other end has another secret") == 0,
                      "another secret is found out");
    co_tcp_close(&link);
    await(was_said, "has it another secret?", "at both ends");
    connect_client(0); // and all of that has done no harm
    end_server();
    namespace_require(co_tcp_connect(&link, place, "1", 1000, other, why, sizeof why) == -ECONNREFUSED &&
                          strstr(why, "no coordinator at 127.0.0.1:4793: Connection refused") != NULL,
                      why);
    namespace_require(co_tcp_connect(&link, "1:2:3", "1", 1000, other, why, sizeof why) == -EINVAL, "no place");
    co_tcp_close(&links[0]);
    return 0;
}

static void a_group(void **state)
{
    (void)state;
    namespace_enter_and(commands, live_group);
}

static void deaths(void **state)
{
    (void)state;
    namespace_enter_and(commands, live_death);
}

static void strangers(void **state)
{
    (void)state;
    namespace_enter_and(commands, live_strangers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group), cmocka_unit_test(deaths),
                                       cmocka_unit_test(strangers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
