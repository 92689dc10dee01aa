// SPDX-License-Identifier: BSD-3-Clause
//
// Strangers who send a proxy a socket that lingers, and let it close that: of this user, who is silent, and of another
// one, who is sent away unread. It lingers for an hour, so who waits for it does not end.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/proxy/proxy_listener.h"

enum { PATIENCE = 1000, HOUR_S = 3600 };

static struct {
    uint8_t key[CO_OFFLOAD_KEY_BYTES];
    pid_t processes[1];
    char name[CO_LOCAL_NAME_MAX];
    struct co_proxy_listener *listener;
} rig;

static int begin(void **state)
{
    (void)state;
    return co_proxy_listener_open(&rig.listener,
                                  &(struct co_proxy_listener_config){
                                      .key = rig.key, .ranks = 1, .processes = rig.processes, .patience_ns = PATIENCE},
                                  rig.name);
}

static int end(void **state)
{
    (void)state;
    co_proxy_listener_close(rig.listener);
    return 0;
}

// With bytes that *peer does not take.
static int lingering(int *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger hour = {1, HOUR_S};
    socklen_t bytes = sizeof address;
    static const char text[65536];
    int listener = socket(AF_INET, SOCK_STREAM, 0), made = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    assert_int_equal(connect(made, (struct sockaddr *)&address, bytes), 0);
    *peer = accept(listener, NULL, NULL);
    assert_true(*peer >= 0);
    close(listener);
    while (send(made, text, sizeof text, MSG_DONTWAIT) > 0) {
    }
    assert_int_equal(setsockopt(made, SOL_SOCKET, SO_LINGER, &hour, sizeof hour), 0);
    return made;
}

// The child of a test: as that user, unless it is 0, it sends `made`, and ends when it is hung up.
static void stranger_run(uid_t user, int made, int ready)
{
    struct co_local_peer peer;
    char byte;
    int fd, connected = user == 0 || setuid(user) == 0 ? co_local_connect(rig.name, &peer) : -1;
    int sent = connected >= 0 && co_local_send(connected, "x", 1, made) == 1;

    close(made);
    if (!sent || write(ready, "r", 1) != 1 || co_local_await(connected, UINT64_MAX) != 1) {
        _exit(1);
    }
    _exit(co_local_receive(connected, &byte, 1, &fd) <= 0 ? 0 : 1);
}

// What the proxy closes at once, or when it has waited, is closed.
static void assert_does_not_wait(uid_t user)
{
    struct co_proxy_arrival arrival;
    char byte;
    int ready[2], peer, status, made = lingering(&peer);

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        stranger_run(user, made, ready[1]);
    }
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(made);
    assert_int_equal(co_proxy_listener_next(rig.listener, 1, &arrival), 0);
    assert_int_equal(co_proxy_listener_next(rig.listener, 1 + PATIENCE, &arrival), 0);
    assert_int_equal(co_proxy_listener_due_ns(rig.listener), UINT64_MAX);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(peer);
    close(ready[0]);
    close(ready[1]);
}

static void who_is_silent_does_not_hold_it(void **state)
{
    (void)state;
    assert_does_not_wait(0);
    assert_int_equal(co_proxy_listener_counts(rig.listener)->silent, 1);
}

static void another_user_does_not_hold_it(void **state)
{
    (void)state;
    if (getuid() != 0) {
        skip();
    }
    assert_does_not_wait(65534);
    assert_int_equal(co_proxy_listener_counts(rig.listener)->foreign, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_is_silent_does_not_hold_it, begin, end),
        cmocka_unit_test_setup_teardown(another_user_does_not_hold_it, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
