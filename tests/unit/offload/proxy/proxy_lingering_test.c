// SPDX-License-Identifier: BSD-3-Clause
//
// Strangers who send a proxy a socket that lingers, and let it close that: of this user, who is silent or sends more of
// them than anybody may, and of another one, who is sent away unread.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lingering_socket.h"
#include "offload/proxy/proxy_listener.h"

enum { PATIENCE = 1000 };

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

// The child of a test: as that user, unless it is 0, it sends `made`, so many times, and ends when it is hung up.
static void stranger_run(uid_t user, int made, int times, int ready)
{
    struct co_local_peer peer;
    char byte;
    int fd, connected = user == 0 || setuid(user) == 0 ? co_local_connect(rig.name, &peer) : -1;

    if (connected < 0) {
        _exit(1);
    }
    lingering_send(connected, made, times);
    close(made);
    if (write(ready, "r", 1) != 1 || co_local_await(connected, UINT64_MAX) != 1) {
        _exit(1);
    }
    _exit(co_local_receive(connected, &byte, 1, &fd) <= 0 ? 0 : 1);
}

// What the proxy closes at once, or when it has waited, is closed.
static void assert_does_not_wait(uid_t user, int times)
{
    struct co_proxy_arrival arrival;
    char byte;
    int ready[2], peer, status, made = lingering_socket(&peer);

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        stranger_run(user, made, times, ready[1]);
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
    assert_does_not_wait(0, 1);
    assert_int_equal(co_proxy_listener_counts(rig.listener)->silent, 1);
}

// More than one it closes itself; of very many the kernel closes what there is no room for.
static void who_sends_several_does_not_hold_it(void **state)
{
    (void)state;
    assert_does_not_wait(0, 2);
    assert_does_not_wait(0, 16);
    assert_int_equal(co_proxy_listener_counts(rig.listener)->junk, 2);
}

static void another_user_does_not_hold_it(void **state)
{
    (void)state;
    if (getuid() != 0) {
        skip();
    }
    assert_does_not_wait(65534, 1);
    assert_int_equal(co_proxy_listener_counts(rig.listener)->foreign, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_is_silent_does_not_hold_it, begin, end),
        cmocka_unit_test_setup_teardown(who_sends_several_does_not_hold_it, begin, end),
        cmocka_unit_test_setup_teardown(another_user_does_not_hold_it, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
