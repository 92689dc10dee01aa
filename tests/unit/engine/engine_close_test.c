// SPDX-License-Identifier: BSD-3-Clause
//
// The end of an engine: copies kept for a neighbour who says nothing hold nobody up, for whoever comes to the end has
// no operation under way that could need them; nor do messages that nobody receives, but one that somebody receives
// while its sender is here arrives.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "engine_inside.h"
#include "engine_job.h"
#include "engine_messages.h"
#include "mcast_inside.h"
#include "pattern.h"

static uint64_t waits_before;

static uint64_t waits(void)
{
    return co_counter_read(CO_COUNT_WAIT_SLEEPS) + co_counter_read(CO_COUNT_WAIT_YIELDS);
}

static void keep_a_copy(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *all = engine_job_world(rank, 3);
    int value = rank->rank == 0 ? 77 : 0;
    job_require(co_team_bcast(all, 0, &value, sizeof(value), NULL) == 0 && value == 77, "bcast");
    if (rank->rank == 1) {
        inside_keep_report(inside_group(all));
    }
    co_team_close(all);
    if (rank->rank == 1) {
        inside_lock(rank->engine); // nobody answers for it
    }
    pthread_barrier_wait(&rank->job->all);
    job_require(rank->rank == 1 || inside_kept_bytes(inside_mcast(rank->engine)) == sizeof(value), "no copy is kept");
    if (rank->rank == 0) {
        waits_before = waits();
    }
    pthread_barrier_wait(&rank->job->all);
}

static void kept_copies_are_not_waited_for(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "caller");
    engine_job_set("CASTOFF_BCAST", "yes");
    engine_job_run(2, (const int[]){0, 1}, keep_a_copy);
    assert_int_equal(waits(), waits_before);
    engine_job_set("CASTOFF_BCAST", NULL);
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

enum { MIDDLE = 100000, LARGE = 3 << 20 }; // streamed, read

static unsigned char payload[LARGE], received[LARGE];
static struct co_p2p_send sends[4];
static struct co_p2p_receive receives[2];

static void send_for_nobody(struct job_rank *rank)
{
    static const size_t bytes[] = {8, 8, MIDDLE, LARGE};
    struct co_p2p_context *context = engine_messages_open(rank);
    for (int i = 0; rank->rank == 0 && i < 4; i++) {
        sends[i] = (struct co_p2p_send){.context = context,
                                        .data = payload,
                                        .bytes = bytes[i],
                                        .destination = i == 0 ? 0 : 1,
                                        .tag = i,
                                        .is_synchronous = true};
        co_p2p_send(&sends[i]);
    }
    for (int i = 0; rank->rank == 0 && i < 2; i++) {
        receives[i] = (struct co_p2p_receive){.context = context, .buffer = received, .room = LARGE};
        co_p2p_receive(&receives[i], i == 0 ? 1 : CO_P2P_ANY, 77);
    }
    if (rank->rank == 0) {
        waits_before = waits();
    }
    pthread_barrier_wait(&rank->job->all);
}

static void messages_for_nobody_are_not_waited_for(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_P2P", "yes");
    engine_job_run(2, (const int[]){0, 0}, send_for_nobody);
    assert_int_equal(waits(), waits_before);
    for (int i = 0; i < 4; i++) { // whoever looks learns that it is over
        assert_true(co_p2p_send_is_done(&sends[i]));
        assert_int_equal(sends[i].result, -ECANCELED);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(co_p2p_receive_is_done(&receives[i]));
        assert_int_equal(receives[i].result, -ECANCELED);
    }
    engine_job_set("CASTOFF_P2P", NULL);
}

static unsigned freed;

static void has_left(struct co_p2p_send *send)
{
    freed++;
    free(send);
}

// The receiver begins when the sender is in the barrier of its end, with nobody who looks whether it has left.
static void send_and_leave(struct job_rank *rank)
{
    static const size_t bytes[] = {8, MIDDLE, LARGE};
    struct co_p2p_context *context = engine_messages_open(rank);
    for (int i = 0; rank->rank == 0 && i < 3; i++) {
        struct co_p2p_send *send = malloc(sizeof(*send));
        job_require(send != NULL, "no memory");
        *send = (struct co_p2p_send){.context = context,
                                     .data = payload,
                                     .bytes = bytes[i],
                                     .destination = 1,
                                     .tag = i,
                                     .is_synchronous = true,
                                     .on_done = has_left};
        co_p2p_send(send);
    }
    unsigned arrived = atomic_load(&rank->job->arrived);
    pthread_barrier_wait(&rank->job->all);
    for (int i = 0; rank->rank == 1 && i < 3; i++) {
        struct co_p2p_receive receive = {.context = context, .buffer = received, .room = LARGE};
        while (atomic_load(&rank->job->arrived) == arrived) {
            sched_yield();
        }
        memset(received, 0, LARGE);
        co_p2p_receive(&receive, 0, i);
        while (!co_p2p_receive_is_done(&receive)) {
            co_engine_progress(rank->engine);
        }
        job_require(receive.result == 0 && receive.bytes == bytes[i], "it has not arrived");
        job_require(memcmp(received, payload, bytes[i]) == 0, "wrong bytes");
    }
}

static void what_is_received_still_arrives(void **state)
{
    (void)state;
    pattern_fill(payload, LARGE, 0);
    engine_job_set("CASTOFF_P2P", "yes");
    engine_job_run(2, (const int[]){0, 0}, send_and_leave);
    assert_int_equal(freed, 3);
    engine_job_set("CASTOFF_P2P", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_copies_are_not_waited_for),
        cmocka_unit_test(messages_for_nobody_are_not_waited_for),
        cmocka_unit_test(what_is_received_still_arrives),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
