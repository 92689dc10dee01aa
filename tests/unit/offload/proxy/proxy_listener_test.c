// SPDX-License-Identifier: BSD-3-Clause
//
// Who comes to a proxy's socket, and what becomes of it: ranks, people who ask, junk, silence, crowds, other users. All
// of them are this process, but for the last; no descriptor stays.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/proxy/proxy_listener.h"

enum { RANKS = 3, PATIENCE = 1000 };

static struct {
    uint8_t key[CO_OFFLOAD_KEY_BYTES];
    pid_t processes[RANKS]; // rank 1 is this process, rank 2 another one, rank 0 of another node
    char name[CO_LOCAL_NAME_MAX];
    struct co_proxy_listener *listener;
    int descriptors;
} rig;

static int descriptors_count(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static int begin(void **state)
{
    (void)state;
    rig.descriptors = descriptors_count();
    memset(rig.key, 9, sizeof rig.key);
    rig.processes[1] = getpid();
    rig.processes[2] = getpid() + 1;
    return co_proxy_listener_open(
        &rig.listener,
        &(struct co_proxy_listener_config){
            .key = rig.key, .ranks = RANKS, .processes = rig.processes, .patience_ns = PATIENCE},
        rig.name);
}

static int end(void **state)
{
    (void)state;
    co_proxy_listener_close(rig.listener);
    assert_int_equal(descriptors_count(), rig.descriptors);
    return 0;
}

static int stranger(void)
{
    struct co_local_peer peer;
    int connected = co_local_connect(rig.name, &peer);
    assert_true(connected >= 0);
    return connected;
}

static void hello_write(uint8_t bytes[CO_OFFLOAD_HELLO_BYTES], uint32_t kind, uint32_t rank)
{
    struct co_offload_hello hello = {.kind = kind, .rank = rank};
    if (kind == CO_OFFLOAD_HELLO_JOIN) {
        memcpy(hello.key, rig.key, sizeof hello.key);
        hello.probe_address = 1234;
    }
    co_offload_hello_encode(bytes, &hello);
}

static int next(uint64_t now_ns, struct co_proxy_arrival *arrival)
{
    return co_proxy_listener_next(rig.listener, now_ns, arrival);
}

static const struct co_proxy_listener_counts *counts(void)
{
    return co_proxy_listener_counts(rig.listener);
}

// Hung up: the other end is closed.
static void assert_closed(int connected)
{
    char byte;
    int fd;
    assert_true(co_local_receive(connected, &byte, 1, &fd) <= 0);
    assert_int_equal(co_local_send(connected, "x", 1, -1), -EPIPE);
    close(connected);
}

static void a_rank_comes_with_its_segment(void **state)
{
    (void)state;
    struct co_proxy_arrival arrival;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    int connected = stranger(), pipes[2];
    char byte = 'r';

    assert_int_equal(pipe(pipes), 0);
    hello_write(bytes, CO_OFFLOAD_HELLO_JOIN, 1);
    assert_int_equal(next(1, &arrival), 0);
    assert_int_equal(co_local_send(connected, bytes, 10, pipes[1]), 10); // in pieces
    assert_int_equal(next(2, &arrival), 0);
    assert_int_equal(co_proxy_listener_due_ns(rig.listener), 1 + PATIENCE);
    assert_int_equal(co_local_send(connected, bytes + 10, sizeof bytes - 10, -1), sizeof bytes - 10);
    assert_int_equal(co_local_send(connected, &byte, 1, -1), 1); // its first ring
    assert_int_equal(co_local_await(co_proxy_listener_descriptor(rig.listener), UINT64_MAX), 1);
    assert_int_equal(next(3, &arrival), 1);
    assert_int_equal(arrival.hello.rank, 1);
    assert_int_equal(arrival.hello.probe_address, 1234);
    assert_int_equal(arrival.process, getpid());
    assert_int_equal(write(arrival.segment, "s", 1), 1);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(byte, 's');
    assert_int_equal(read(arrival.socket, &byte, 1), 1); // nothing beyond the hello was taken
    assert_int_equal(byte, 'r');
    assert_int_equal(next(4, &arrival), 0);
    assert_int_equal(co_proxy_listener_due_ns(rig.listener), UINT64_MAX); // it may sleep for ever
    assert_int_equal(counts()->accepted, 1);
    assert_int_equal(counts()->junk, 0);
    close(arrival.segment);
    close(arrival.socket);
    close(connected);
    close(pipes[0]);
    close(pipes[1]);
}

static void who_asks_needs_no_key(void **state)
{
    (void)state;
    struct co_proxy_arrival arrival;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    int connected = stranger();

    hello_write(bytes, CO_OFFLOAD_HELLO_STATUS, 0);
    assert_int_equal(co_local_send(connected, bytes, sizeof bytes, -1), sizeof bytes);
    assert_int_equal(next(1, &arrival), 1);
    assert_int_equal(arrival.hello.kind, CO_OFFLOAD_HELLO_STATUS);
    assert_int_equal(arrival.segment, -1);
    close(arrival.socket);
    close(connected);
}

// Says a hello that is changed at `at`, with a descriptor or without, and is hung up.
static void assert_junk(uint32_t kind, uint32_t rank, int at, bool has_segment)
{
    struct co_proxy_arrival arrival;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    uint64_t before = counts()->junk;
    int connected = stranger(), pipes[2];
    char byte;

    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    hello_write(bytes, kind, rank);
    if (at >= 0) {
        bytes[at] ^= 0x40;
    }
    assert_int_equal(co_local_send(connected, bytes, sizeof bytes, has_segment ? pipes[1] : -1), sizeof bytes);
    close(pipes[1]);
    assert_int_equal(next(1, &arrival), 0);
    assert_int_equal(counts()->junk, before + 1);
    assert_closed(connected);
    assert_int_equal(read(pipes[0], &byte, 1), 0); // what came with it is closed
    close(pipes[0]);
}

static void junk_is_hung_up(void **state)
{
    (void)state;
    assert_junk(CO_OFFLOAD_HELLO_JOIN, 1, 0, true);      // no hello
    assert_junk(CO_OFFLOAD_HELLO_JOIN, 1, 16, true);     // another key, in its first byte
    assert_junk(CO_OFFLOAD_HELLO_JOIN, 1, 47, true);     // in its last
    assert_junk(CO_OFFLOAD_HELLO_JOIN, 0, -1, true);     // a rank of another node
    assert_junk(CO_OFFLOAD_HELLO_JOIN, 2, -1, true);     // a rank that is another process
    assert_junk(CO_OFFLOAD_HELLO_JOIN, RANKS, -1, true); // no rank
    assert_junk(CO_OFFLOAD_HELLO_JOIN, 1, -1, false);    // nothing to share
    assert_junk(CO_OFFLOAD_HELLO_STATUS, 0, -1, true);   // who asks has nothing to give
}

static void a_second_descriptor_is_junk(void **state)
{
    (void)state;
    struct co_proxy_arrival arrival;
    int connected = stranger();

    assert_int_equal(co_local_send(connected, "a", 1, 0), 1);
    assert_int_equal(next(1, &arrival), 0);
    assert_int_equal(co_local_send(connected, "b", 1, 0), 1);
    assert_int_equal(next(1, &arrival), 0);
    assert_int_equal(counts()->junk, 1);
    assert_closed(connected);
}

static void silence_ends(void **state)
{
    (void)state;
    struct co_proxy_arrival arrival;
    int silent = stranger(), slow;

    assert_int_equal(next(1, &arrival), 0);
    slow = stranger();
    assert_int_equal(co_local_send(slow, "c", 1, -1), 1);
    assert_int_equal(next(500, &arrival), 0);
    assert_int_equal(next(PATIENCE, &arrival), 0);
    assert_int_equal(counts()->silent, 0);
    assert_int_equal(next(PATIENCE + 1, &arrival), 0);
    assert_int_equal(counts()->silent, 1);
    assert_closed(silent);
    assert_int_equal(next(PATIENCE + 500, &arrival), 0);
    assert_int_equal(counts()->silent, 2);
    assert_closed(slow);
    assert_int_equal(co_proxy_listener_due_ns(rig.listener), UINT64_MAX);
}

static void of_a_crowd_the_newest_are_heard(void **state)
{
    (void)state;
    enum { CROWD = CO_PROXY_STRANGERS + 10 };
    struct co_proxy_arrival arrival;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    int crowd[CROWD], last;

    for (int i = 0; i < CROWD; i++) {
        crowd[i] = stranger();
        assert_int_equal(next((uint64_t)i + 1, &arrival), 0);
    }
    assert_int_equal(counts()->crowded, CROWD - CO_PROXY_STRANGERS);
    last = stranger();
    hello_write(bytes, CO_OFFLOAD_HELLO_STATUS, 0);
    assert_int_equal(co_local_send(last, bytes, sizeof bytes, -1), sizeof bytes);
    assert_int_equal(next(CROWD + 1, &arrival), 1); // somebody who has something to say gets through
    assert_int_equal(counts()->crowded, CROWD - CO_PROXY_STRANGERS + 1);
    assert_closed(crowd[0]); // the oldest have gone
    for (int i = 1; i < CROWD; i++) {
        close(crowd[i]);
    }
    close(arrival.socket);
    close(last);
}

// Ranks of a large node, all of whom have said who they are before the proxy looks for the first time.
static void ranks_do_not_crowd_each_other_out(void **state)
{
    (void)state;
    enum { CROWD = CO_PROXY_STRANGERS + 36 };
    struct co_proxy_arrival arrival;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    int crowd[CROWD];

    hello_write(bytes, CO_OFFLOAD_HELLO_JOIN, 1);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = stranger();
        assert_int_equal(co_local_send(crowd[i], bytes, sizeof bytes, STDERR_FILENO), sizeof bytes);
    }
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(next(1, &arrival), 1);
        close(arrival.segment);
        close(arrival.socket);
        close(crowd[i]);
    }
    assert_int_equal(next(1, &arrival), 0);
    assert_int_equal(counts()->crowded, 0);
    assert_int_equal(counts()->accepted, CROWD);
}

// Nor do those who come while no descriptor is left: the ones that are there are heard first.
static void without_descriptors_who_has_spoken_is_heard(void **state)
{
    (void)state;
    struct co_proxy_arrival arrival;
    struct rlimit limit, some;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    int first = stranger(), second;

    hello_write(bytes, CO_OFFLOAD_HELLO_STATUS, 0);
    assert_int_equal(next(1, &arrival), 0);
    assert_int_equal(co_local_send(first, bytes, sizeof bytes, -1), sizeof bytes);
    second = stranger();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    some = limit;
    some.rlim_cur = STDERR_FILENO + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &some), 0);
    int heard = next(2, &arrival);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(heard, 1);
    assert_int_equal(counts()->crowded, 0);
    close(arrival.socket);
    close(first);
    close(second);
}

static void without_descriptors_nobody_keeps_it_awake(void **state)
{
    (void)state;
    struct co_proxy_arrival arrival;
    struct rlimit limit, none;
    int connected = stranger();

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = STDERR_FILENO + 1; // all of which are taken
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(next(1, &arrival), 0);
    uint64_t due_ns = co_proxy_listener_due_ns(rig.listener);
    int awake = co_local_await(co_proxy_listener_descriptor(rig.listener), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(awake, 0);
    assert_true(due_ns > 1 && due_ns != UINT64_MAX);
    assert_int_equal(next(due_ns, &arrival), 0); // it listens again
    assert_int_equal(counts()->accepted, 1);
    close(connected);
}

static void another_user_is_sent_away(void **state)
{
    (void)state;
    struct co_proxy_arrival arrival;
    int status, ready[2];
    char byte;

    if (getuid() != 0) {
        skip();
    }
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct co_local_peer peer;
        int fd, connected = setuid(65534) == 0 ? co_local_connect(rig.name, &peer) : -1;
        bool is_good = connected >= 0 && write(ready[1], "c", 1) == 1 && co_local_await(connected, UINT64_MAX) == 1 &&
                       co_local_receive(connected, &byte, 1, &fd) == 0;
        _exit(is_good ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(next(1, &arrival), 0);
    assert_int_equal(counts()->foreign, 1);
    assert_int_equal(co_proxy_listener_due_ns(rig.listener), UINT64_MAX);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rank_comes_with_its_segment, begin, end),
        cmocka_unit_test_setup_teardown(who_asks_needs_no_key, begin, end),
        cmocka_unit_test_setup_teardown(junk_is_hung_up, begin, end),
        cmocka_unit_test_setup_teardown(a_second_descriptor_is_junk, begin, end),
        cmocka_unit_test_setup_teardown(silence_ends, begin, end),
        cmocka_unit_test_setup_teardown(of_a_crowd_the_newest_are_heard, begin, end),
        cmocka_unit_test_setup_teardown(ranks_do_not_crowd_each_other_out, begin, end),
        cmocka_unit_test_setup_teardown(without_descriptors_who_has_spoken_is_heard, begin, end),
        cmocka_unit_test_setup_teardown(without_descriptors_nobody_keeps_it_awake, begin, end),
        cmocka_unit_test_setup_teardown(another_user_is_sent_away, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
