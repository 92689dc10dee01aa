// SPDX-License-Identifier: BSD-3-Clause
//
// The end of point-to-point with operations under way that nobody will complete: all of them end, so that their owners
// can let go of their memory, and nothing moves any more, though native's progress loop still comes by.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake_native.h"
#include "p2p_letters.h"
#include "p2p_tap.h"

enum { SENDS = 9, RECEIVES = 5, MANY = 100 };

static const struct p2p_world_options two_nodes = {.size = 4,
                                                   .node_ranks = 2,
                                                   .eager_most = 4096,
                                                   .remote_eager_most = 1024,
                                                   .credit = 1 << 20,
                                                   .stream_most = 200000,
                                                   .may_read = true,
                                                   .matcher = {64, 64, 16}};
static int sends_ended, receives_ended;

static void send_has_ended(struct co_p2p_send *send)
{
    assert_int_equal(send->result, -ECANCELED);
    sends_ended++;
    free(send);
}

static void receive_has_ended(struct co_p2p_receive *receive)
{
    assert_int_equal(receive->result, -ECANCELED);
    receives_ended++;
    free(receive);
}

static void start_send(int to, int tag, size_t bytes)
{
    struct co_p2p_send *send = malloc(sizeof(*send));
    assert_non_null(send);
    *send = send_of(0, to, tag, bytes);
    send->is_synchronous = true;
    send->on_done = send_has_ended;
    co_p2p_send(send);
}

static void start_receive(int source, int tag)
{
    struct co_p2p_receive *receive = malloc(sizeof(*receive));
    assert_non_null(receive);
    *receive = receive_at(0, LARGE);
    receive->on_done = receive_has_ended;
    co_p2p_receive(receive, source, tag);
}

// Whatever they wait for: a receive, room, an answer, bytes.
static void all_of_them_end(void **state)
{
    (void)state;
    sends_ended = receives_ended = 0;
    p2p_world_open(&world, &two_nodes);
    struct co_p2p_send offers[3] = {send_of(1, 0, 5, 40000), send_of(1, 0, 6, 1000000), send_of(2, 0, 7, 1000000)};
    for (int i = 0; i < 3; i++) {
        co_p2p_send(&offers[i]);
    }
    p2p_world_settle(&world);
    for (int to = 0; to < 3; to++) { // to ourselves, in the node, to another
        start_send(to, 1, 8);
        start_send(to, 1, 100000);
        start_send(to, 1, 1000000);
    }
    for (int i = 0; i < MANY; i++) { // more than the ring holds
        start_send(1, 2, 4000);
    }
    for (int i = 0; i < 3; i++) { // of a stream, of one that is read, of one that is carried
        start_receive(i < 2 ? 1 : 2, 5 + i);
    }
    start_receive(1, 4);
    start_receive(CO_P2P_ANY, 4);
    assert_int_equal(sends_ended + receives_ended, 0);
    p2p_world_close(&world);
    assert_int_equal(sends_ended, SENDS + MANY);
    assert_int_equal(receives_ended, RECEIVES);
}

static void see_nothing(int rank, int peer, const struct co_packet *packet)
{
    (void)rank;
    (void)peer;
    (void)packet;
}

static bool has_room(void)
{
    return true;
}

static int all_at_once(int most)
{
    return most;
}

static unsigned times_by;

// A channel that is closed must not be looked at: the tap has none then.
static void come_by(int rank)
{
    if (rank == 0) {
        times_by++;
        assert_int_equal(co_p2p_progress(world.ranks[0]), 0);
    }
}

static void native_comes_by_while_it_closes(void **state)
{
    (void)state;
    struct p2p_world_options options = two_nodes;
    options.wrap = p2p_tap_put;
    p2p_tap_hooks = (struct p2p_tap_hooks){see_nothing, has_room, all_at_once};
    p2p_world_open(&world, &options);
    fake_net.buffered = 0;
    fake_net.is_stopped[2] = true; // the packet stays under way: native is asked whether it is over
    struct co_p2p_send send = send_of(0, 2, 1, 8);
    co_p2p_send(&send);
    times_by = 0;
    fake_net.on_move = come_by;
    co_p2p_context_close(world.contexts[0]);
    co_p2p_close(world.ranks[0]);
    assert_true(times_by > 0);
    fake_net.on_move = NULL;
    for (int rank = 1; rank < 4; rank++) {
        co_p2p_context_close(world.contexts[rank]);
        co_p2p_close(world.ranks[rank]);
    }
    fake_net_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them_end),
        cmocka_unit_test(native_comes_by_while_it_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
