// SPDX-License-Identifier: BSD-3-Clause
//
// How operations and communicators end in point-to-point: cancelled, nobody looks any more, the communicator is freed
// with something under way, or a message comes before its communicator is known.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_letters.h"

static void cancelled(void **state)
{
    (void)state;
    open_world(2, 4096, 1 << 20, true);
    struct co_p2p_receive first = receive_at(1, 10), second = receive_at(1, 10);
    co_p2p_receive(&first, 0, 3);
    co_p2p_receive(&second, 0, 3);
    assert_true(co_p2p_cancel(&first));
    assert_true(co_p2p_receive_is_done(&first));
    assert_int_equal(first.result, -ECANCELED);
    assert_int_equal(first.source, -1);
    assert_false(co_p2p_cancel(&first));
    struct co_p2p_send send = send_of(0, 1, 3, 10);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    check_received(&second, 0, 3, 10);
    assert_false(co_p2p_cancel(&second));
    p2p_world_close(&world);
}

static void before_the_communicator_is_known(void **state)
{
    (void)state;
    int peers[] = {1, 0};
    open_world(2, 4096, 1 << 20, true);
    struct co_p2p_context *early = co_p2p_context_open(world.ranks[0], 77, peers, 2, 1);
    struct co_p2p_send send = send_of(0, 0, 9, 50);
    send.context = early; // in which rank 0 is rank 1 of the job
    co_p2p_send(&send);
    p2p_world_settle(&world);
    struct co_p2p_context *late = co_p2p_context_open(world.ranks[1], 77, peers, 2, 0);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    receive.context = late;
    co_p2p_receive(&receive, CO_P2P_ANY, 9);
    check_received(&receive, 1, 9, 50);
    co_p2p_context_close(early);
    co_p2p_context_close(late);
    p2p_world_close(&world);
}

static void communicator_freed_with_a_receive(void **state)
{
    (void)state;
    int peers[] = {0, 1};
    open_world(2, 4096, 1 << 20, true);
    struct co_p2p_context *left = co_p2p_context_open(world.ranks[0], 78, peers, 2, 0);
    struct co_p2p_context *right = co_p2p_context_open(world.ranks[1], 78, peers, 2, 1);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    struct co_p2p_send send = send_of(0, 1, 9, 100000), lost = send_of(0, 1, 8, 10);
    receive.context = right;
    send.context = lost.context = left;
    co_p2p_receive(&receive, 0, 9);
    co_p2p_context_close(right);
    co_p2p_send(&lost);
    co_p2p_send(&send);
    co_p2p_context_close(left);
    p2p_world_settle(&world);
    check_received(&receive, 0, 9, 100000);
    p2p_world_close(&world);
}

// What still comes for it does not keep its sender's credit, and takes no memory.
static void messages_for_a_communicator_that_has_ended(void **state)
{
    (void)state;
    enum { BYTES = 3000, CREDIT = 64 << 10 };
    int peers[] = {0, 1};
    struct co_p2p_info info;
    open_world(2, 4096, CREDIT, true);
    for (int round = 0; round < 3; round++) {
        struct co_p2p_context *left = co_p2p_context_open(world.ranks[0], 90 + (uint64_t)round, peers, 2, 0);
        struct co_p2p_context *right = co_p2p_context_open(world.ranks[1], 90 + (uint64_t)round, peers, 2, 1);
        for (int i = 0; i < 40; i++) {
            struct co_p2p_send send = send_of(0, 1, i, BYTES);
            send.context = left;
            co_p2p_send(&send);
            p2p_world_settle(&world);
            assert_true(co_p2p_send_is_done(&send)); // there is credit for 20
            if (i == 10) {                           // which nobody has received
                co_p2p_context_close(right);
            }
        }
        co_p2p_context_close(left);
    }
    struct co_p2p_send send = send_of(0, 1, 3, BYTES);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_true(co_p2p_probe(world.contexts[1], 0, CO_P2P_ANY, &info)); // those of others are there
    p2p_world_close(&world);
}

// Persistent requests start operations on a communicator that the program has freed.
static void communicator_freed_but_held(void **state)
{
    (void)state;
    int peers[] = {0, 1};
    open_world(2, 4096, 1 << 20, true);
    struct co_p2p_context *left = co_p2p_context_open(world.ranks[0], 79, peers, 2, 0);
    struct co_p2p_context *right = co_p2p_context_open(world.ranks[1], 79, peers, 2, 1);
    co_p2p_context_hold(left);
    co_p2p_context_hold(right);
    co_p2p_context_close(left);
    co_p2p_context_close(right);
    for (int round = 0; round < 3; round++) { // nothing is under way between the rounds
        struct co_p2p_receive receive = receive_at(1, LARGE);
        struct co_p2p_send send = send_of(0, 1, 9, 100000);
        receive.context = right;
        send.context = left;
        co_p2p_send(&send);
        co_p2p_receive(&receive, 0, 9);
        p2p_world_settle(&world);
        check_received(&receive, 0, 9, 100000);
    }
    co_p2p_context_let_go(left);
    co_p2p_context_let_go(right);
    p2p_world_close(&world);
}

static void busy_until_all_have_ended(void **state)
{
    (void)state;
    struct co_p2p_info info;
    open_world(2, 4096, 1 << 20, true);
    struct co_p2p_context *left = world.contexts[0], *right = world.contexts[1];
    struct co_p2p_receive receive = receive_at(1, LARGE);
    struct co_p2p_send send = send_of(0, 1, 9, 100000), small = send_of(0, 1, 8, 10);
    co_p2p_context_hold(left); // a persistent request that is not under way
    assert_false(co_p2p_context_is_busy(left));
    co_p2p_send(&send);
    co_p2p_send(&small);
    assert_true(co_p2p_context_is_busy(left));
    p2p_world_settle(&world);
    assert_false(co_p2p_context_is_busy(right)); // nobody has asked for it
    struct co_p2p_message *message = co_p2p_take(right, 0, 8, &info);
    assert_non_null(message);
    assert_false(co_p2p_context_is_busy(right));
    co_p2p_drop_taken(message);
    assert_false(co_p2p_context_is_busy(right));
    co_p2p_receive(&receive, 0, 9);
    assert_true(co_p2p_context_is_busy(right));
    p2p_world_settle(&world);
    assert_false(co_p2p_context_is_busy(left));
    assert_false(co_p2p_context_is_busy(right));
    co_p2p_context_let_go(left);
    p2p_world_close(&world);
}

static int detached_ends;

static void has_ended(struct co_p2p_send *send)
{
    (void)send;
    detached_ends++;
}

static void detached(void **state)
{
    (void)state;
    open_world(2, 4096, 1 << 20, true);
    struct co_p2p_send send = send_of(0, 1, 3, 100000), eager = send_of(0, 1, 3, 10);
    co_p2p_send(&send);
    assert_true(co_p2p_send_detach(&send, has_ended));
    co_p2p_send(&eager);
    assert_false(co_p2p_send_detach(&eager, has_ended)); // done already
    assert_true(co_p2p_context_is_busy(world.contexts[0]));
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 3);
    p2p_world_settle(&world);
    assert_int_equal(detached_ends, 1);
    assert_false(co_p2p_context_is_busy(world.contexts[0]));
    p2p_world_close(&world);
}

static void receive_has_ended(struct co_p2p_receive *receive)
{
    assert_int_equal(receive->result, 0);
    detached_ends++;
}

static void receive_detached(void **state)
{
    (void)state;
    open_world(2, 4096, 1 << 20, true);
    detached_ends = 0;
    struct co_p2p_receive receives[2] = {receive_at(1, LARGE), receive_at(1, LARGE)};
    for (int i = 0; i < 2; i++) {
        struct co_p2p_send send = send_of(0, 1, 3, i == 0 ? 10 : 100000);
        co_p2p_receive(&receives[i], 0, 3);
        assert_true(co_p2p_receive_detach(&receives[i], receive_has_ended));
        assert_int_equal(detached_ends, i);
        co_p2p_send(&send);
        p2p_world_settle(&world);
        assert_int_equal(detached_ends, i + 1);
        assert_memory_equal(received, sent, i == 0 ? 10 : 100000);
    }
    p2p_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cancelled),
                                       cmocka_unit_test(before_the_communicator_is_known),
                                       cmocka_unit_test(communicator_freed_with_a_receive),
                                       cmocka_unit_test(communicator_freed_but_held),
                                       cmocka_unit_test(messages_for_a_communicator_that_has_ended),
                                       cmocka_unit_test(busy_until_all_have_ended),
                                       cmocka_unit_test(detached),
                                       cmocka_unit_test(receive_detached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
