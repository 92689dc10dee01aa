// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as what a process says to a proxy's socket, a proxy to a rank, and a starter to a proxy: refused, or bit
// for bit what it is written as again; and any bytes in any pieces from a connection: nobody becomes a rank who has not
// the key and is not its process, and no connection and no descriptor stays.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/core_list.h"
#include "offload/offload_job.h"
#include "offload/proxy/proxy_listener.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { RANKS = 2, PATIENCE = 100 };

static uint8_t key[CO_OFFLOAD_KEY_BYTES];
static pid_t processes[RANKS];

static void must_at(bool holds, int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d does not hold (errno %d)\n", __FILE__, line, errno);
        abort();
    }
}
#define must(holds) must_at(holds, __LINE__)

static void check_messages(const uint8_t *data)
{
    union {
        struct co_offload_hello hello;
        struct co_offload_welcome welcome;
        struct co_offload_job job;
        struct co_offload_started started;
    } as;
    uint8_t again[CO_OFFLOAD_JOB_BYTES];

    if (co_offload_hello_decode(&as.hello, data) == 0) {
        co_offload_hello_encode(again, &as.hello);
        must(memcmp(again, data, CO_OFFLOAD_HELLO_BYTES) == 0);
    }
    if (co_offload_welcome_decode(&as.welcome, data) == 0) {
        co_offload_welcome_encode(again, &as.welcome);
        must(memcmp(again, data, CO_OFFLOAD_WELCOME_BYTES) == 0);
    }
    if (co_offload_job_decode(&as.job, data) == 0) {
        co_offload_job_encode(again, &as.job);
        must(memcmp(again, data, CO_OFFLOAD_JOB_BYTES) == 0);
        must(as.job.self < as.job.proxies && as.job.ranks > 0);
    }
    if (co_offload_started_decode(&as.started, data) == 0) {
        co_offload_started_encode(again, &as.started);
        must(memcmp(again, data, 24) == 0);
        must(strlen(as.started.name) < CO_LOCAL_NAME_MAX);
    }
}

static void check_cores(const uint8_t *data, size_t bytes)
{
    uint8_t cores[CO_OFFLOAD_CORE_BYTES];
    char *text = calloc(1, bytes + 1);
    memcpy(text, data, bytes);
    (void)co_offload_cores_parse(cores, text);
    free(text);
}

// Which number the next descriptor gets. It is asked for anew with each input: a sanitizer opens some of its own.
static int next_descriptor(void)
{
    int next = dup(STDERR_FILENO);

    close(next);
    return next;
}

// Each piece is a byte of length, and that many bytes; a length above 127 brings a descriptor along.
static void check_stranger(const uint8_t *data, size_t bytes)
{
    static struct co_proxy_listener *listener;
    static char name[CO_LOCAL_NAME_MAX];
    struct co_proxy_arrival arrival;
    struct co_local_peer peer;
    uint64_t now_ns = 1;

    if (listener == NULL) {
        memset(key, 0x5a, sizeof key);
        processes[1] = getpid() + 1;
        must(co_proxy_listener_open(&listener,
                                    &(struct co_proxy_listener_config){
                                        .key = key, .ranks = RANKS, .processes = processes, .patience_ns = PATIENCE},
                                    name) == 0);
    }
    int free_before = next_descriptor();
    int connected = co_local_connect(name, &peer);
    must(connected >= 0);
    must(co_proxy_listener_next(listener, now_ns, &arrival) == 0); // it is there, and has said nothing
    while (bytes > 0) {
        size_t piece = data[0] % 128U;
        piece = piece < bytes - 1 ? piece : bytes - 1;
        (void)co_local_send(connected, data + 1, piece, data[0] > 127 ? connected : -1);
        data += 1 + piece;
        bytes -= 1 + piece;
        if (co_proxy_listener_next(listener, now_ns, &arrival) != 0) {
            must(arrival.hello.kind == CO_OFFLOAD_HELLO_STATUS && arrival.segment < 0);
            close(arrival.socket);
        }
    }
    now_ns += PATIENCE + 1;
    must(co_proxy_listener_next(listener, now_ns, &arrival) == 0);
    must(co_proxy_listener_due_ns(listener) == UINT64_MAX); // nobody is left
    close(connected);
    must(next_descriptor() == free_before); // nothing was left open
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t whole[CO_OFFLOAD_JOB_BYTES] = {0};

    if (bytes == 0) {
        return 0;
    }
    if (data[0] % 2 == 0) {
        memcpy(whole, data + 1, bytes - 1 < sizeof whole ? bytes - 1 : sizeof whole);
        check_messages(whole);
        check_cores(data + 1, bytes - 1);
    } else {
        check_stranger(data + 1, bytes - 1);
    }
    return 0;
}
