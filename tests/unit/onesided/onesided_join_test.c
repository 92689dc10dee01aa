// SPDX-License-Identifier: BSD-3-Clause
//
// A group's end joins by way of a coordinator that knows the secret and says anything: over TCP, with the library's own
// conversation. Only the queue pair is none; that it is not connected by what makes no sense is what is looked at.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
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
#include "key_hunt.h"
#include "onesided/group/group_state.h"

enum { STEPS_MAX = 6, BUFFER_BYTES = 4000, MEMBERS = 2, HEARS = 0x100 }; // HEARS + kind: the coordinator waits for it

#define PATIENCE_NS (60 * CO_NS_PER_S) // bounds a hang

// What the coordinator does, one after the other, until it has nothing more to say: then it waits for the end, or ends.
static struct {
    uint16_t steps[STEPS_MAX];
    unsigned count;
    bool hangs_up;
    uint32_t lease_ms;
    uint8_t reason;
    struct co_coordination_setup setup;
    char failure[256];
} script;

static struct castoff_group group;
static char secret_path[64], place[32], why[256];
static uint8_t *secret;
static int listener, pairs;
static struct key_hunt *hunt; // where somebody connects, who may wait there for long; NULL: no

int co_onesided_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return error;
}

// Ours stands before the C library's.
int connect(int socket, const struct sockaddr *address, socklen_t bytes)
{
    int (*connect_to)(int, const struct sockaddr *, socklen_t);
    *(void **)&connect_to = dlsym(RTLD_NEXT, "connect");
    if (hunt != NULL) {
        assert_int_equal(key_hunt_go(hunt), 0);
    }
    return connect_to(socket, address, bytes);
}

int co_onesided_pair_connect(struct castoff_group *of)
{
    assert_true(of->bytes > 0 && of->bytes <= BUFFER_BYTES);
    pairs++;
    return 0;
}

static void fill(struct co_coordination_message *message, uint16_t kind)
{
    memset(message, 0, sizeof *message);
    message->kind = kind;
    if (kind == CO_SAY_WELCOME) {
        message->lease_ms = script.lease_ms;
    } else if (kind == CO_SAY_SETUP || kind == CO_SAY_GO) {
        message->setup = script.setup;
    } else if (kind == CO_SAY_REFUSED || kind == CO_SAY_ENDED) {
        message->answer = (struct co_coordination_answer){.reason = script.reason, .text = "so it is"};
    }
}

// The other end's HELLO: nothing can be said before.
static int meet(struct co_tcp_link *link, struct co_coordination_message *message)
{
    struct pollfd entry = {.fd = link->socket, .events = POLLIN};
    int result = 0;
    while (result >= 0 && !co_session_is_open(link->session)) {
        result = poll(&entry, 1, 60000) == 1 ? co_tcp_receive(link) : -ETIMEDOUT;
        result = result < 0 ? result : co_session_next(link->session, message, script.failure, sizeof script.failure);
    }
    return result;
}

static void *coordinate(void *unused)
{
    static struct co_coordination_message message;
    struct pollfd entry = {.fd = listener, .events = POLLIN};
    struct co_tcp_link link;
    uint64_t until_ns = co_clock_now_ns() + PATIENCE_NS;
    (void)unused;
    script.failure[0] = '\0';
    if (poll(&entry, 1, 60000) != 1 || co_tcp_accept(&link, listener, secret) != 0) {
        snprintf(script.failure, sizeof script.failure, "nobody has come");
        return NULL;
    }
    int result = meet(&link, &message);
    for (unsigned i = 0; i < script.count && result >= 0; i++) {
        if (script.steps[i] >= HEARS) {
            result = co_tcp_await(&link, &message, until_ns, script.failure, sizeof script.failure);
            result = result < 0 || message.kind == script.steps[i] - HEARS ? result : -EPROTO;
        } else {
            fill(&message, script.steps[i]);
            result = co_tcp_message_send(&link, &message);
        }
    }
    while (result >= 0 && !script.hangs_up) { // until the other end goes
        result = co_tcp_await(&link, &message, until_ns, script.failure, sizeof script.failure);
    }
    co_tcp_close(&link);
    return NULL;
}

// A coordinator as it should be, for a sender.
static void prepare(bool is_sender)
{
    static const uint16_t steps[] = {CO_SAY_WELCOME, HEARS + CO_SAY_LOGIN, CO_SAY_DONE, HEARS + CO_SAY_OPEN_SENDER,
                                     CO_SAY_GO};
    memcpy(script.steps, steps, sizeof steps);
    script.count = sizeof steps / sizeof *steps;
    script.hangs_up = false;
    script.lease_ms = 6000;
    script.reason = CO_REASON_NONE;
    script.setup = (struct co_coordination_setup){
        .ip = 1, .psn = 2, .qpn = 3, .key = 4, .mtu = 1024, .members = MEMBERS, .bytes = BUFFER_BYTES};
    if (!is_sender) {
        script.steps[3] = HEARS + CO_SAY_OPEN_MEMBER;
        script.steps[4] = CO_SAY_SETUP;
    }
    memset(&group, 0, sizeof group);
    group.link.socket = -1;
    group.is_sender = is_sender;
    group.buffer_bytes = BUFFER_BYTES;
    group.members = is_sender ? MEMBERS : 0;
    group.patience_ns = PATIENCE_NS;
    group.end = (struct co_coordination_end){.ip = 1, .mtu = 1024, .qpn = 5};
    snprintf(group.name, sizeof group.name, "%s", "g");
    snprintf(group.own_name, sizeof group.own_name, "%s", "h1");
    why[0] = '\0';
    pairs = 0;
}

static int join(void)
{
    struct castoff_group_options options = {
        .coordinator = place, .secret = secret_path, .group = "g", .members = group.members};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, coordinate, NULL), 0);
    int error = co_onesided_join(&group, &options);
    co_tcp_close(&group.link);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return error;
}

static void ends_as_they_should_be(void **state)
{
    (void)state;
    for (int is_sender = 0; is_sender < 2; is_sender++) {
        prepare(is_sender);
        script.lease_ms = is_sender ? CO_COORDINATION_LEASE_MS_MIN : CO_COORDINATION_LEASE_MS_MAX;
        if (join() != 0) {
            fail_msg("%s; %s", why, script.failure);
        }
        assert_int_equal(pairs, 1);
        assert_int_equal(group.bytes, BUFFER_BYTES);
        assert_int_equal(group.lease_ns, script.lease_ms * CO_NS_PER_MS);
    }
}

// Before anything is said that the coordinator would have to take back.
static void a_lease_that_cannot_be(void **state)
{
    static const uint32_t leases[] = {0, 1, CO_COORDINATION_LEASE_MS_MIN - 1, CO_COORDINATION_LEASE_MS_MAX + 1,
                                      UINT32_MAX};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof leases / sizeof *leases; i++) {
        prepare(i % 2);
        script.lease_ms = leases[i / 2];
        assert_int_equal(join(), -EPROTO);
        assert_int_equal(group.lease_ns, 0);
        assert_false(group.is_joined);
        assert_int_equal(pairs, 0);
        assert_int_equal(co_onesided_leave(&group), 0);
    }
}

static void a_set_up_that_was_not_asked_for(void **state)
{
    static const uint64_t lengths[] = {0, BUFFER_BYTES + 1, (UINT64_C(1) << 43) - 1, (UINT64_C(1) << 43) + 1,
                                       UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
        prepare(i % 2);
        script.setup.bytes = lengths[i / 2];
        assert_int_equal(join(), -EPROTO);
        assert_int_equal(group.bytes, 0);
        assert_int_equal(pairs, 0);
    }
    prepare(true);
    script.setup.members = MEMBERS + 1; // there is room for those that were asked for
    assert_int_equal(join(), -EPROTO);
    assert_non_null(strstr(why, "which is not what was asked for"));
    assert_int_equal(pairs, 0);
    prepare(true);
    script.setup.bytes = BUFFER_BYTES - 1;
    assert_int_equal(join(), -EPROTO);
    prepare(false); // a member's buffer may be longer
    script.setup.bytes = BUFFER_BYTES - 1;
    assert_int_equal(join(), 0);
    assert_int_equal(group.bytes, BUFFER_BYTES - 1);
}

static void words_out_of_turn(void **state)
{
    static const uint16_t odd[] = {CO_SAY_HEARTBEAT, CO_SAY_WELCOME, CO_SAY_READY,
                                   CO_SAY_STATUS,    CO_SAY_SETUP,   CO_SAY_GO};
    static const unsigned places[] = {0, 2, 4};
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (size_t j = 0; j < sizeof odd / sizeof *odd; j++) {
            prepare(true);
            if (script.steps[places[i]] == odd[j]) {
                continue;
            }
            script.steps[places[i]] = odd[j];
            script.count = places[i] + 1;
            assert_int_equal(join(), -EPROTO);
            assert_int_equal(pairs, 0);
        }
    }
}

static void refusals_say_why(void **state)
{
    static const int errors[CO_REASON_END] = {ECONNRESET, EEXIST, ENOSPC, ETIMEDOUT, EINVAL, EHOSTUNREACH, ECONNRESET};
    (void)state;
    for (unsigned i = 0; i < 2 * CO_REASON_END; i++) {
        prepare(true);
        script.reason = (uint8_t)(i / 2);
        script.steps[4] = i % 2 ? CO_SAY_REFUSED : CO_SAY_ENDED;
        assert_int_equal(join(), -errors[i / 2]);
        assert_non_null(strstr(why, script.reason == CO_REASON_NONE ? "the sender has closed it" : "so it is"));
        assert_int_equal(pairs, 0);
        assert_int_equal(co_onesided_leave(&group), 0); // there is nothing to leave
    }
}

static void a_coordinator_that_hangs_up(void **state)
{
    (void)state;
    for (unsigned count = 1; count < 5; count++) {
        prepare(true);
        script.count = count;
        script.hangs_up = true;
        int error = join();
        assert_true(error == -ECONNRESET || error == -EPIPE);
        assert_int_equal(pairs, 0);
    }
}

static void a_coordinator_that_says_nothing(void **state)
{
    (void)state;
    prepare(true);
    script.count = 0;
    group.patience_ns = 20 * CO_NS_PER_MS;
    assert_int_equal(join(), -ETIMEDOUT);
    assert_int_equal(pairs, 0);
}

static void a_secret_in_no_core_file(void **state)
{
    struct key_hunt of_secret;
    (void)state;
    prepare(true);
    key_hunt_learn(&of_secret, secret);
    hunt = &of_secret;
    int error = join();
    hunt = NULL;
    assert_int_equal(error, 0);
    assert_int_equal(of_secret.found, 2); // the coordinator's, too
    assert_int_equal(of_secret.dumped, 0);
}

static int begin(void **state)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    (void)state;
    snprintf(secret_path, sizeof secret_path, "%s", "/tmp/castoff-join-XXXXXX");
    int file = mkstemp(secret_path);
    if (file < 0 || write(file, "0123456789abcdef0123456789abcdef", 32) != 32 || close(file) != 0 ||
        co_secret_open(&secret, secret_path, why, sizeof why) != 0) {
        return -1;
    }
    listener = co_socket_listen("127.0.0.1:0", "0", why, sizeof why);
    if (listener < 0 || getsockname(listener, (struct sockaddr *)&address, &bytes) != 0) {
        return -1;
    }
    snprintf(place, sizeof place, "127.0.0.1:%d", ntohs(address.sin_port));
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(listener);
    co_secret_close(secret);
    return unlink(secret_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_as_they_should_be),
        cmocka_unit_test(a_lease_that_cannot_be),
        cmocka_unit_test(a_set_up_that_was_not_asked_for),
        cmocka_unit_test(words_out_of_turn),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_coordinator_that_hangs_up),
        cmocka_unit_test(a_coordinator_that_says_nothing),
        cmocka_unit_test(a_secret_in_no_core_file),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
