// SPDX-License-Identifier: BSD-3-Clause
//
// Processes as ranks; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "proxy_processes.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/segment_memory.h"

static const int proxy_of_rank[PROCESSES_RANKS] = {0, 0, 1, 1};
static uint64_t probed = 77; // at the same address in each child

struct processes processes;
int process_rank;

void process_must(bool holds, int line)
{
    if (!holds) {
        fprintf(stderr, "rank: line %d\n", line);
        _exit(1);
    }
}
void process_ring(void *context)
{
    (void)context;
    MUST(write(processes.to_proxies[1], "x", 1) == 1);
}

// Sleeps until it is over.
int process_finish(struct co_rank_client *client, uint32_t ticket)
{
    char byte;
    while (!co_rank_client_is_done(client, ticket)) {
        if (co_segment_rank_sleeps(co_rank_client_segment(client), ticket)) {
            MUST(read(processes.to_rank[process_rank][0], &byte, 1) == 1);
            co_segment_rank_wakes(co_rank_client_segment(client));
        }
    }
    return co_rank_client_collect(client, ticket).error;
}

void process_record(struct co_rank_group *group, uint32_t kind, int to, int from, void *memory, uint64_t bytes)
{
    struct co_offload_operation operation = {.kind = kind};
    if (kind != CO_OFFLOAD_OPERATION_BARRIER) {
        operation.address = (uint64_t)(uintptr_t)memory;
        operation.bytes = bytes;
        operation.to = to >= 0 ? (uint32_t)to : 0;
        operation.from = from >= 0 ? (uint32_t)from : 0;
    }
    MUST(co_rank_group_record(group, &operation) == 0);
}

bool process_is_all(const unsigned char *memory, size_t bytes, int value)
{
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != (unsigned char)value) {
            return false;
        }
    }
    return true;
}

static void child_run(int rank, void (*program)(struct co_rank_client *client))
{
    struct co_rank_client *client;
    char byte;

    process_rank = rank;
    close(processes.to_proxies[0]);
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        close(processes.to_rank[i][1]); // who loses its proxy shall not wait for a ring
    }
    MUST(co_rank_client_open(&client, processes.segments[rank],
                             &(struct co_rank_client_config){
                                 .ranks = PROCESSES_RANKS, .groups_max = 2, .ends_max = 1000, .ring = process_ring}) ==
         0);
    MUST(read(processes.to_rank[rank][0], &byte, 1) == 1); // the proxies are there
    program(client);
    MUST(co_rank_client_bye(client) == 0);
    co_rank_client_close(client);
    _exit(0);
}

static void ring_rank(void *context, int rank)
{
    (void)context;
    ssize_t written = write(processes.to_rank[rank][1], "x", 1);
    (void)written; // a rank may have ended
}

static void hang_up(void *context, int rank, int error)
{
    (void)context;
    assert_int_equal(rank, 1);
    assert_int_equal(error, -EPROTO);
    processes.hung_up++;
}

static void heard(void *context, int from, int to, enum co_carrier_connection connection, const uint8_t *bytes,
                  size_t count)
{
    (void)context;
    assert_int_equal(co_proxy_take(co_proxy_service_core(processes.services[to]), from, connection, bytes, count), 0);
}

// Until nothing moves.
void processes_serve(void)
{
    bool has_more = true;
    while (has_more) {
        has_more = false;
        for (int i = 0; i < PROCESSES_PROXIES; i++) {
            has_more = co_proxy_service_progress(processes.services[i]) || has_more;
        }
        for (int i = 0; i < PROCESSES_PROXIES * CO_CARRIER_CONNECTIONS; i++) {
            while (
                loopback_deliver(&processes.hub, i / 2, 1 - i / 2, (enum co_carrier_connection)(i % 2), NULL, heard)) {
                has_more = true;
            }
        }
    }
}

// Until all children have ended, who hold the other end of the pipe.
void processes_serve_all(void)
{
    char bytes[64];
    ssize_t count = 1;
    while (count > 0) {
        processes_serve();
        bool sleep = true;
        for (int i = 0; i < PROCESSES_PROXIES; i++) {
            sleep = co_proxy_service_sleeps(processes.services[i]) && sleep;
        }
        count = sleep ? read(processes.to_proxies[0], bytes, sizeof bytes) : 1;
        for (int i = 0; i < PROCESSES_PROXIES; i++) {
            co_proxy_service_wakes(processes.services[i]);
        }
    }
}

void processes_start(void (*program)(struct co_rank_client *client))
{
    int fd;

    processes.hung_up = 0;
    loopback_open(&processes.hub, PROCESSES_PROXIES, 2);
    assert_int_equal(pipe(processes.to_proxies), 0);
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        assert_int_equal(pipe(processes.to_rank[i]), 0);
        assert_int_equal(co_segment_memory_create(&processes.segments[i], false, &fd), 0);
        close(fd);
    }
    struct co_proxy_config config = {.proxies = PROCESSES_PROXIES,
                                     .ranks = PROCESSES_RANKS,
                                     .proxy_of_rank = proxy_of_rank,
                                     .piece_bytes = 65536,
                                     .groups_max = 2,
                                     .ends_max = 1000};
    struct co_proxy_service_output output = {.ring = ring_rank, .hang_up = hang_up};
    for (config.self = 0; config.self < PROCESSES_PROXIES; config.self++) {
        assert_int_equal(co_proxy_service_open(&processes.services[config.self], &config,
                                               &processes.hub.ends[config.self].carrier, &output),
                         0);
    }
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        processes.children[i] = fork();
        assert_true(processes.children[i] >= 0);
        if (processes.children[i] == 0) {
            child_run(i, program);
        }
        assert_int_equal(co_attach_window_open(&processes.windows[i], processes.children[i]), 0);
    }
    close(processes.to_proxies[1]);
}

// Whether the kernel lets us; then the ranks begin.
bool processes_join(void)
{
    bool is_allowed = true;
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        is_allowed =
            is_allowed && co_attach_window_probe(&processes.windows[i], (uint64_t)(uintptr_t)&probed, probed) == 0;
        while (co_load_acquire((_Atomic uint64_t *)(void *)&processes.segments[i]->magic) == 0) { // its client is open
            sched_yield();
        }
        assert_int_equal(co_proxy_service_join(processes.services[proxy_of_rank[i]], i, processes.segments[i],
                                               &processes.windows[i].window),
                         0);
    }
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        if (is_allowed) {
            ring_rank(NULL, i);
        } else {
            kill(processes.children[i], SIGKILL);
        }
    }
    return is_allowed;
}

void processes_end(bool is_allowed)
{
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        int status;
        assert_int_equal(waitpid(processes.children[i], &status, 0), processes.children[i]);
        assert_true(!is_allowed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
        co_attach_window_close(&processes.windows[i]);
        close(processes.to_rank[i][0]);
        close(processes.to_rank[i][1]);
    }
    close(processes.to_proxies[0]);
    for (int i = 0; i < PROCESSES_PROXIES; i++) {
        assert_true(!is_allowed || co_proxy_is_idle(co_proxy_service_core(processes.services[i])));
        co_proxy_service_close(processes.services[i]);
    }
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        co_segment_memory_unmap(processes.segments[i]);
    }
    loopback_close(&processes.hub);
    if (!is_allowed) {
        skip();
    }
}

void processes_run(void (*program)(struct co_rank_client *client))
{
    processes_start(program);
    bool is_allowed = processes_join();
    if (is_allowed) {
        processes_serve_all();
    }
    processes_end(is_allowed);
}
