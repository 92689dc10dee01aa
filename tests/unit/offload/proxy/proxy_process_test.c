// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy that is a process, and ranks that are connections of this one: they join, call, leave and misbehave, the
// proxy sleeps while nothing is to be done, and it ends when they have gone, or never come. No clock: who sleeps is
// seen by the turns that he counts. Skipped where the kernel lets nobody look into another process.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lingering_socket.h"
#include "offload/proxy/proxy_process.h"
#include "offload/rank/rank_connection.h"

enum { RANKS = 2, BYTES = 300000 };

static struct {
    pid_t child;
    int starter; // our end
    uint64_t deadline_ns;
    struct co_offload_job job;
    struct co_offload_started started;
    struct co_rank_connection *ranks[RANKS];
    unsigned char from[BYTES], to[BYTES];
} rig;

static void child_run(int starter, pid_t parent)
{
    struct co_offload_job_rank ranks[RANKS] = {{0, (uint32_t)parent}, {0, (uint32_t)parent}};
    struct co_proxy_process_config config = {
        .job = &rig.job, .ranks = ranks, .patience_ns = 600 * CO_NS_PER_S, .starter = starter};
    struct co_offload_started started = {.process = (uint32_t)getpid()};
    struct co_proxy_process *process;
    uint8_t bytes[CO_OFFLOAD_STARTED_BYTES];
    char why[CO_OFFLOAD_CONNECTED_WHY];

    if (co_proxy_process_open(&process, &config, co_clock_now_ns(), started.name) != 0 ||
        co_proxy_process_begin(process, NULL, -1, why) != 0) {
        _exit(1);
    }
    co_offload_started_encode(bytes, &started);
    if (co_local_send_all(starter, bytes, sizeof bytes, UINT64_MAX) != 0) {
        _exit(2);
    }
    while (!co_proxy_process_is_over(process, co_clock_now_ns())) {
        uint64_t rest_ns = co_proxy_process_turn(process, co_clock_now_ns());
        if (rest_ns > 0 && !co_proxy_process_is_over(process, co_clock_now_ns())) {
            co_proxy_process_sleep(process, rest_ns);
        }
    }
    co_proxy_process_close(process);
    _exit(0);
}

static void start(uint32_t lend)
{
    uint8_t bytes[CO_OFFLOAD_STARTED_BYTES];
    int ends[2];
    pid_t parent = getpid();

    memset(&rig, 0, sizeof rig);
    rig.deadline_ns = 600 * CO_NS_PER_S;
    rig.job = (struct co_offload_job){.proxies = 1,
                                      .ranks = RANKS,
                                      .lend = lend,
                                      .groups_max = 4,
                                      .ends_max = 100,
                                      .staging_bytes = (uint64_t)1 << 20};
    memset(rig.job.key, 3, sizeof rig.job.key);
    assert_int_equal(co_local_pair(ends), 0);
    rig.child = fork();
    assert_true(rig.child >= 0);
    if (rig.child == 0) {
        close(ends[0]);
        child_run(ends[1], parent);
    }
    close(ends[1]);
    rig.starter = ends[0];
    assert_int_equal(co_local_receive_all(rig.starter, bytes, sizeof bytes, UINT64_MAX), 0);
    assert_int_equal(co_offload_started_decode(&rig.started, bytes), 0);
}

static int rank_join(uint32_t rank, struct co_rank_connection **out)
{
    return co_rank_connection_open(out, &(struct co_rank_connection_config){.rank = rank,
                                                                            .ranks = RANKS,
                                                                            .key = rig.job.key,
                                                                            .started = &rig.started,
                                                                            .until_ns = UINT64_MAX,
                                                                            .deadline_ns = rig.deadline_ns});
}

static void ended_well(void)
{
    int status;
    assert_int_equal(waitpid(rig.child, &status, 0), rig.child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(rig.starter);
}

static void join_all(void)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        int error = rank_join(i, &rig.ranks[i]);
        if (error == -EPERM) {
            kill(rig.child, SIGKILL);
            waitpid(rig.child, NULL, 0);
            close(rig.starter);
            skip();
        }
        assert_int_equal(error, 0);
    }
}

static struct co_rank_client *client(int rank)
{
    return co_rank_connection_client(rig.ranks[rank]);
}

static int finish(int rank, uint32_t ticket)
{
    return co_rank_connection_wait(rig.ranks[rank], ticket) ? co_rank_client_collect(client(rank), ticket).error
                                                            : -ENOTCONN;
}

static uint32_t give(int rank, uint32_t kind, void *memory, uint64_t bytes)
{
    struct co_offload_operation operation = {
        .kind = kind, .to = 0, .from = 0, .address = (uint64_t)(uintptr_t)memory, .bytes = bytes};
    uint32_t ticket;

    if (kind == CO_OFFLOAD_OPERATION_SEND) {
        operation.to = (uint32_t)(1 - rank);
    } else {
        operation.from = (uint32_t)(1 - rank);
    }
    assert_int_equal(co_rank_client_start(client(rank), &operation, &ticket), 0);
    return ticket;
}

static void exchange(int value)
{
    memset(rig.from, value, BYTES);
    memset(rig.to, 0, BYTES);
    uint32_t receive = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, BYTES);
    uint32_t send = give(0, CO_OFFLOAD_OPERATION_SEND, rig.from, BYTES);
    assert_int_equal(finish(1, receive), 0);
    assert_int_equal(finish(0, send), 0);
    assert_memory_equal(rig.from, rig.to, BYTES);
}

// What the proxy says of itself.
static uint64_t status_read(const char *what)
{
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    char text[4096];
    struct co_local_peer peer;
    int fd, connected = co_local_connect(rig.started.name, &peer);

    assert_true(connected >= 0);
    co_offload_hello_encode(bytes, &(struct co_offload_hello){.kind = CO_OFFLOAD_HELLO_STATUS});
    assert_int_equal(co_local_send_all(connected, bytes, sizeof bytes, UINT64_MAX), 0);
    assert_int_equal(co_local_await(connected, UINT64_MAX), 1);
    ssize_t count = co_local_receive(connected, text, sizeof text - 1, &fd);
    assert_true(count > 0);
    close(connected);
    text[count] = '\0';
    const char *at = strstr(text, what);
    assert_non_null(at);
    return strtoull(at + strlen(what), NULL, 10);
}

static void leave_all(void)
{
    for (int i = 0; i < RANKS; i++) {
        co_rank_connection_close(rig.ranks[i]);
    }
    ended_well();
}

static void messages_move(void **state)
{
    (void)state;
    start(CO_OFFLOAD_LEND_ATTACH);
    join_all();
    for (int i = 1; i < 5; i++) {
        exchange(i);
    }
    assert_int_equal(status_read("received "), 4 * BYTES);
    leave_all();
}

static void messages_move_through_its_memory(void **state)
{
    (void)state;
    start(CO_OFFLOAD_LEND_STAGE);
    join_all();
    exchange(7);
    leave_all();
}

// An answer takes it a few turns, for a connection and what it says may come apart, and nothing else wakes it: whatever
// time goes by between two of them.
static void an_idle_proxy_sleeps(void **state)
{
    (void)state;
    enum { ASKED = 20, TURNS_AN_ANSWER = 4 };
    start(CO_OFFLOAD_LEND_ATTACH);
    join_all();
    exchange(1);
    uint32_t receive = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, 1); // nor does what waits for another rank
    uint64_t first = status_read("turns ");
    for (int i = 1; i < ASKED; i++) {
        for (int pass = 0; pass < 50; pass++) { // some milliseconds
            memset(rig.from, pass, BYTES);
            __asm__ volatile("" ::"r"(rig.from) : "memory"); // none is left out
        }
        (void)status_read("turns ");
    }
    assert_true(status_read("turns ") - first <= TURNS_AN_ANSWER * (ASKED + 1));
    (void)give(0, CO_OFFLOAD_OPERATION_SEND, rig.from, 1);
    assert_int_equal(finish(1, receive), 0);
    leave_all();
}

static void who_leaves_without_a_word_is_dead(void **state)
{
    (void)state;
    start(CO_OFFLOAD_LEND_ATTACH);
    join_all();
    uint32_t receive = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, 1);
    (void)give(0, CO_OFFLOAD_OPERATION_RECEIVE, rig.from, 1);
    co_rank_connection_close(rig.ranks[0]); // with a call under way
    assert_int_equal(finish(1, receive), -ECONNRESET);
    co_rank_connection_close(rig.ranks[1]);
    ended_well();
}

static void nonsense_ends_its_rank_alone(void **state)
{
    (void)state;
    struct co_rank_connection *again;
    start(CO_OFFLOAD_LEND_ATTACH);
    join_all();
    exchange(3);
    struct co_segment_memory *memory = co_rank_client_segment(client(0))->memory;
    uint32_t receive;
    co_store_relaxed(&memory->given, co_load_relaxed(&memory->given) + 2 * CO_SEGMENT_COMMANDS);
    while (status_read("hung up ") == 0) { // who asks wakes it, and then it looks at its ranks
    }
    assert_int_equal(status_read("hung up "), 1);
    while (co_rank_connection_look(rig.ranks[0])) { // behind rings that it has not heard yet
    }
    assert_int_equal(rank_join(0, &again), -EINVAL); // a rank comes once
    receive = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, 1);
    assert_int_equal(finish(1, receive), -ECONNRESET); // the other one goes on, without it
    leave_all();
}

// Who sends a descriptor with a ring is no rank of castoff's.
static void what_comes_with_rings_holds_nobody(void **state)
{
    (void)state;
    start(CO_OFFLOAD_LEND_ATTACH);
    join_all();
    int status, peer, made = lingering_socket(&peer), connected = co_rank_connection_descriptor(rig.ranks[0]);
    // It hears of all at once, when it alone has the socket: who closes it last is held.
    assert_int_equal(kill(rig.child, SIGSTOP), 0);
    assert_int_equal(waitpid(rig.child, &status, WUNTRACED), rig.child);
    assert_true(WIFSTOPPED(status));
    lingering_send(connected, made, 1);
    lingering_send(connected, made, 2);
    close(made);
    assert_int_equal(kill(rig.child, SIGCONT), 0);
    uint32_t receive = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, 1);
    assert_int_equal(finish(1, receive), -ECONNRESET);
    close(peer);
    leave_all();
}

static void a_rank_that_is_here_cannot_come(void **state)
{
    (void)state;
    struct co_rank_connection *again;
    start(CO_OFFLOAD_LEND_ATTACH);
    join_all();
    assert_int_equal(rank_join(1, &again), -EEXIST);
    exchange(9);
    leave_all();
}

static void without_ranks_it_ends_with_its_starter(void **state)
{
    (void)state;
    start(CO_OFFLOAD_LEND_ATTACH);
    assert_int_equal(status_read(": "), 0); // of two ranks
    close(rig.starter);
    rig.starter = -1;
    ended_well();
}

// Nobody can tell it from one that computes, but it has nothing else to do than to answer. It is dead then, not only
// for its ranks: going on it would write to memory that they have for something else.
static void a_stopped_proxy_is_gone_after_the_deadline(void **state)
{
    (void)state;
    start(CO_OFFLOAD_LEND_ATTACH);
    rig.deadline_ns = CO_NS_PER_S / 2;
    join_all();
    uint32_t receive = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, 1);
    int status;
    assert_int_equal(kill(rig.child, SIGSTOP), 0);
    assert_int_equal(finish(1, receive), -ENOTCONN);
    assert_int_equal(kill(rig.child, SIGCONT), 0); // too late
    assert_int_equal(waitpid(rig.child, &status, 0), rig.child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(co_rank_connection_look(rig.ranks[0]));
    for (int i = 0; i < RANKS; i++) {
        co_rank_connection_close(rig.ranks[i]);
    }
    close(rig.starter);
}

static void a_dead_proxy_ends_calls_and_lets_groups_go(void **state)
{
    (void)state;
    struct co_rank_group *group;
    struct co_offload_operation operation = {
        .kind = CO_OFFLOAD_OPERATION_RECEIVE, .from = 1, .address = (uint64_t)(uintptr_t)rig.to, .bytes = 1};
    uint32_t in_group, over, open;

    start(CO_OFFLOAD_LEND_ATTACH);
    join_all();
    assert_int_equal(co_rank_group_start(client(0), &group), 0);
    assert_int_equal(co_rank_group_record(group, &operation), 0);
    assert_int_equal(co_rank_group_call(group, &in_group), 0);
    over = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, 1);
    (void)give(0, CO_OFFLOAD_OPERATION_SEND, rig.from, 1);
    assert_true(co_rank_connection_wait(rig.ranks[1], over));
    open = give(1, CO_OFFLOAD_OPERATION_RECEIVE, rig.to, 1);
    assert_int_equal(kill(rig.child, SIGKILL), 0);
    assert_int_equal(waitpid(rig.child, NULL, 0), rig.child);
    assert_false(co_rank_connection_wait(rig.ranks[1], open));
    assert_true(co_rank_connection_wait(rig.ranks[1], over)); // it was before
    assert_int_equal(co_rank_client_collect(client(1), over).error, 0);
    assert_int_equal(co_rank_client_collect(client(1), open).error, -EINVAL);
    assert_false(co_rank_connection_wait(rig.ranks[0], in_group));
    assert_int_equal(co_rank_group_free(group), 0);
    for (int i = 0; i < RANKS; i++) {
        co_rank_connection_close(rig.ranks[i]);
    }
    close(rig.starter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_move),
        cmocka_unit_test(messages_move_through_its_memory),
        cmocka_unit_test(an_idle_proxy_sleeps),
        cmocka_unit_test(who_leaves_without_a_word_is_dead),
        cmocka_unit_test(nonsense_ends_its_rank_alone),
        cmocka_unit_test(what_comes_with_rings_holds_nobody),
        cmocka_unit_test(a_rank_that_is_here_cannot_come),
        cmocka_unit_test(without_ranks_it_ends_with_its_starter),
        cmocka_unit_test(a_stopped_proxy_is_gone_after_the_deadline),
        cmocka_unit_test(a_dead_proxy_ends_calls_and_lets_groups_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
