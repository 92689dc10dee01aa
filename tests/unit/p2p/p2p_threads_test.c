// SPDX-License-Identifier: BSD-3-Clause
// Several threads of each rank in the same point-to-point engine at once, for ThreadSanitizer above all: each pair of
// threads has a tag, so that order and bytes are known; one more tag is received from anybody; some cancel, probe and
// open communicators meanwhile.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_world.h"

enum { RANKS = 2, THREADS = 2, ROUNDS = 400, LARGEST = 30000, SHARED_TAG = 77 };

static struct p2p_world world;
static _Atomic unsigned sum, wrong;

// A segment that is mapped twice is two places to ThreadSanitizer: what the rings order, this says again.
static _Atomic unsigned ordered;

static int read_in_order(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)peer;
    ordered++;
    memcpy(local, (const void *)(uintptr_t)remote, bytes);
    ordered++;
    return 0;
}

struct worker {
    int rank, number;
    pthread_t thread;
};

static void wait_sent(int rank, const struct co_p2p_send *send)
{
    while (!co_p2p_send_is_done(send)) {
        if (co_p2p_progress(world.ranks[rank]) == 0) {
            sched_yield();
        }
    }
    ordered++;
}

static void wait_received(int rank, const struct co_p2p_receive *receive)
{
    while (!co_p2p_receive_is_done(receive)) {
        if (co_p2p_progress(world.ranks[rank]) == 0) {
            sched_yield();
        }
    }
}

static size_t bytes_of(int round)
{
    static const size_t sizes[] = {4, 100, 4000, 8000, LARGEST};
    return sizes[round % 5];
}

static void exchange(const struct worker *worker, int round, unsigned char *out, unsigned char *in)
{
    int other = (worker->rank + 1) % RANKS;
    size_t bytes = bytes_of(round);
    memset(out, round + worker->rank, bytes);
    memset(in, 0, bytes);
    struct co_p2p_receive receive = {.context = world.contexts[worker->rank], .buffer = in, .room = LARGEST};
    struct co_p2p_send send = {.context = world.contexts[worker->rank],
                               .data = out,
                               .bytes = bytes,
                               .destination = other,
                               .tag = worker->number,
                               .is_synchronous = round % 7 == 0};
    ordered++;
    if (round % 2 == 0) {
        co_p2p_receive(&receive, other, worker->number);
        co_p2p_send(&send);
    } else {
        co_p2p_send(&send);
        co_p2p_receive(&receive, round % 3 == 0 ? CO_P2P_ANY : other, worker->number);
    }
    wait_sent(worker->rank, &send);
    wait_received(worker->rank, &receive);
    wrong += receive.result != 0 || receive.bytes != bytes || receive.source != other ||
             in[0] != (unsigned char)(round + other) || in[bytes - 1] != (unsigned char)(round + other);
}

// Whoever of the two threads there takes it.
static void exchange_with_anybody(const struct worker *worker, int round)
{
    unsigned value = (unsigned)round, got = 0;
    struct co_p2p_info info;
    struct co_p2p_receive receive = {.context = world.contexts[worker->rank], .buffer = &got, .room = sizeof(got)};
    struct co_p2p_send send = {.context = world.contexts[worker->rank],
                               .data = &value,
                               .bytes = sizeof(value),
                               .destination = (worker->rank + 1) % RANKS,
                               .tag = SHARED_TAG};
    co_p2p_probe(world.contexts[worker->rank], CO_P2P_ANY, SHARED_TAG, &info);
    ordered++;
    co_p2p_receive(&receive, CO_P2P_ANY, SHARED_TAG);
    co_p2p_send(&send);
    wait_sent(worker->rank, &send);
    wait_received(worker->rank, &receive);
    sum += got;
}

static void open_and_cancel(const struct worker *worker, int round)
{
    int peers[] = {0, 1};
    uint64_t id = 1000 + (uint64_t)(round * RANKS + worker->rank) * THREADS + (uint64_t)worker->number;
    struct co_p2p_context *context = co_p2p_context_open(world.ranks[worker->rank], id, peers, 2, worker->rank);
    struct co_p2p_receive receive = {.context = context};
    co_p2p_receive(&receive, 0, 0);
    co_p2p_context_close(context);
    wrong += !co_p2p_cancel(&receive) || receive.result != -ECANCELED;
}

static void *work(void *arg)
{
    const struct worker *worker = arg;
    unsigned char *out = malloc(LARGEST), *in = malloc(LARGEST);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(worker, round, out, in);
        exchange_with_anybody(worker, round);
        if (round % 16 == 0) {
            open_and_cancel(worker, round);
        }
    }
    free(out);
    free(in);
    return NULL;
}

static void run(bool may_read, size_t credit)
{
    struct worker workers[RANKS * THREADS];
    struct p2p_world_options options = {.size = RANKS,
                                        .eager_most = 4096,
                                        .credit = credit,
                                        .read = may_read ? read_in_order : NULL,
                                        .matcher = {64, 64, 16}};
    p2p_world_open(&world, &options);
    sum = wrong = 0;
    for (int i = 0; i < RANKS * THREADS; i++) {
        workers[i] = (struct worker){.rank = i % RANKS, .number = i / RANKS};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < RANKS * THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(sum, RANKS * THREADS * ROUNDS * (ROUNDS - 1) / 2);
    p2p_world_close(&world);
}

static void by_asking(void **state)
{
    (void)state;
    run(false, 1 << 20);
}

static void by_reading_with_little_credit(void **state)
{
    (void)state;
    run(true, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_asking), cmocka_unit_test(by_reading_with_little_credit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
