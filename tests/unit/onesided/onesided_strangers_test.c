// SPDX-License-Identifier: BSD-3-Clause
//
// Who is not let in by a coordinator: other protocols, versions and secrets; and strangers on all of its connections.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "onesided_server_rig.h"
#include "udp_namespace.h"

static void say_raw(const char *bytes, size_t count, char *answer, size_t room)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(4793), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 60};
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
    server_start();
    server_await(server_was_said, "listens at 127.0.0.1", "the server listens");
    say_raw("GET / HTTP/1.1\r\n\r\n", 18, answer, sizeof answer);
    server_await(server_was_said, "the other end is no castoff coordinator, hop or program",
                 "a stranger is told apart");
    say_raw(hello, sizeof hello, answer, sizeof answer);
    server_await(server_was_said, "the other end speaks version 9 of the protocol, this one 2",
                 "so is another version");
    namespace_require(memcmp(answer, "castoffG\2", 9) == 0, "which hears the version that is spoken here");
    namespace_require(co_tcp_connect(&link, server_place, "1", 60000, other, why, sizeof why) == 0, why);
    namespace_require(co_tcp_await(&link, &server_message, co_clock_now_ns() + 60 * CO_NS_PER_S, why, sizeof why) ==
                              -EACCES &&
                          strcmp(why, "the other end has another secret") == 0,
                      "another secret is found out");
    co_tcp_close(&link);
    server_await(server_was_said, "has it another secret?", "at both ends");
    server_connect(0); // and all of that has done no harm
    server_end();
    namespace_require(co_tcp_connect(&link, server_place, "1", 1000, other, why, sizeof why) == -ECONNREFUSED &&
                          strstr(why, "no coordinator at 127.0.0.1:4793: Connection refused") != NULL,
                      why);
    static const char *const wrong[] = {"1:2:3", "127.0.0.1:65536", "127.0.0.1:4793x", "127.0.0.1:-1", "[::1"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        namespace_require(co_tcp_connect(&link, wrong[i], "1", 1000, other, why, sizeof why) == -EINVAL, wrong[i]);
    }
    co_tcp_close(&server_links[0]);
    return 0;
}

// Strangers on all places but those of who knows the secret: who comes next has the server_place of the first of them.
static int live_full_house(void)
{
    static int strangers[CO_COORDINATOR_CLIENTS];
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(4793), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server_config.coordinator.patience_ns = 600 * CO_NS_PER_S; // none of them goes of itself
    server_start();
    server_await(server_was_said, "listens at 127.0.0.1", "the server listens");
    server_connect(0);
    for (int i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        strangers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        namespace_require(connect(strangers[i], (struct sockaddr *)&address, sizeof address) == 0, "one connects");
    }
    server_await(server_was_said, "has not shown the secret, and its slot is wanted", "the first stranger has to go");
    server_connect(1);
    server_message.login = (struct co_coordination_login){.role = CO_ROLE_CLIENT, .name = "c"};
    server_say(0, CO_SAY_CLOSE); // who was there before is there still
    server_hears(0, CO_SAY_DONE);
    char none;
    namespace_require(recv(strangers[0], &none, 1, 0) == 0, "it is the first one");
    namespace_require(recv(strangers[CO_COORDINATOR_CLIENTS - 1], &none, 1, MSG_DONTWAIT) < 0, "and not the last one");
    server_end();
    return 0;
}

enum { FEW_DESCRIPTORS = 64, STRANGERS = 2 * FEW_DESCRIPTORS, RESERVE = 16 };

static void await_stop(pid_t process)
{
    char path[32], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    while (state != 'T') {
        FILE *file = fopen(path, "re");
        if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1) {
            _exit(5);
        }
        fclose(file);
    }
}

// All of them say something, and one more connects, while the server is away: it finds both in one turn, and sends away
// who has something to say. Again and again, for it may not have let in all of them yet.
static int speak_at_once(int strangers[], const struct sockaddr_in *address)
{
    static const char magic[] = "castoffG";
    pid_t server = getppid();
    bool all_are_there = true;
    for (size_t at = 0; at < sizeof magic - 1; at++) {
        kill(server, SIGSTOP);
        await_stop(server);
        for (int i = 0; i < STRANGERS; i++) {
            (void)send(strangers[i], &magic[at], 1, MSG_NOSIGNAL);
        }
        int another = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        all_are_there = connect(another, (const struct sockaddr *)address, sizeof *address) == 0 && all_are_there;
        kill(server, SIGCONT);
    }
    return all_are_there ? 0 : 6;
}

// In a process of its own: connects once it is told, and says when the first one has had to go. Its status.
static int be_strangers(int told, int says)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(4793), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 60};
    int strangers[STRANGERS];
    char word;
    if (read(told, &word, 1) != 1) {
        return 1;
    }
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(strangers[i], (struct sockaddr *)&address, sizeof address) != 0) {
            return 2;
        }
    }
    for (int i = 0; i < STRANGERS - FEW_DESCRIPTORS; i++) { // so many at least, for as many of the rest were let in
        setsockopt(strangers[i], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (recv(strangers[i], &word, 1, 0) != 0) {
            return 3;
        }
    }
    int status = speak_at_once(strangers, &address);
    return status != 0 ? status : write(says, &word, 1) == 1 && read(told, &word, 1) == 0 ? 0 : 4;
}

// Strangers on all descriptors that the process may have, of which there are fewer than slots.
static int live_few_descriptors(void)
{
    struct rlimit limit = {.rlim_cur = FEW_DESCRIPTORS, .rlim_max = FEW_DESCRIPTORS};
    int tell[2], say[2], reserve[RESERVE], status = -1;
    char word = 0;
    namespace_require(pipe(tell) == 0 && pipe(say) == 0, "pipes");
    pid_t child = fork();
    if (child == 0) {
        close(tell[1]);
        _exit(be_strangers(tell[0], say[1]));
    }
    close(say[1]);
    for (int i = 0; i < RESERVE; i++) {
        reserve[i] = dup(say[0]); // the client is in this process, too
    }
    server_config.coordinator.patience_ns = 600 * CO_NS_PER_S; // none of them goes of itself
    namespace_require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "few descriptors");
    server_start();
    server_await(server_was_said, "listens at 127.0.0.1", "the server listens");
    namespace_require(write(tell[1], &word, 1) == 1, "strangers are told");
    namespace_require(read(say[0], &word, 1) == 1, "the first of them have to go");
    server_await(server_was_said, "has not shown the secret, and its descriptor is wanted", "which is said");
    for (int i = 0; i < RESERVE; i++) {
        close(reserve[i]);
    }
    server_connect(0);
    close(tell[1]);
    namespace_require(waitpid(child, &status, 0) == child && status == 0, "strangers end");
    server_end();
    return 0;
}

// Who connects and says nothing is not kept.
static int live_silence(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(4793), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char none;
    server_config.coordinator.patience_ns = CO_NS_PER_S / 10;
    server_start();
    server_await(server_was_said, "listens at 127.0.0.1", "the server listens");
    namespace_require(connect(silent, (struct sockaddr *)&address, sizeof address) == 0, "one connects");
    namespace_require(recv(silent, &none, 1, 0) == 0, "and has to go"); // the harness ends a test that hangs
    close(silent);
    server_end();
    return 0;
}

static void strangers(void **state)
{
    (void)state;
    namespace_enter_and(server_commands, live_strangers);
}

static void a_silent_one(void **state)
{
    (void)state;
    namespace_enter_and(server_commands, live_silence);
}

static void few_descriptors(void **state)
{
    (void)state;
    namespace_enter_and(server_commands, live_few_descriptors);
}

static void a_full_house(void **state)
{
    struct rlimit limit;
    rlim_t wanted = 2 * CO_COORDINATOR_CLIENTS + 64;
    (void)state;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < wanted) {
        skip(); // both ends of each connection are in this process
    }
    limit.rlim_cur = limit.rlim_cur < wanted ? wanted : limit.rlim_cur;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    namespace_enter_and(server_commands, live_full_house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strangers), cmocka_unit_test(a_silent_one),
                                       cmocka_unit_test(a_full_house), cmocka_unit_test(few_descriptors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
