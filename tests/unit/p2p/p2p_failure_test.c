// SPDX-License-Identifier: BSD-3-Clause
// A peer that ends: whoever waits for it fails, whatever it waits for; what it had sent is received; the others go on.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p/channel/ring.h"
#include "fake_native.h"
#include "p2p_world.h"

enum { LARGE = 9 << 20, MANY = 200 }; // more than is read at once

static struct p2p_world world;
static unsigned char sent[LARGE], received[LARGE];

static void open_world(int size, bool may_read)
{
    struct p2p_world_options options = {
        .size = size, .eager_most = 4096, .credit = 1 << 20, .may_read = may_read, .matcher = {64, 64, 16}};
    p2p_world_open(&world, &options);
}

static struct co_p2p_send send_of(int from, int to, int tag, size_t bytes)
{
    return (struct co_p2p_send){
        .context = world.contexts[from], .data = sent, .bytes = bytes, .destination = to, .tag = tag};
}

static struct co_p2p_receive receive_at(int rank, size_t room)
{
    return (struct co_p2p_receive){.context = world.contexts[rank], .buffer = received, .room = room};
}

static void check_lost(const struct co_p2p_receive *receive)
{
    assert_true(co_p2p_receive_is_done(receive));
    assert_int_equal(receive->result, -ECONNRESET);
}

static void sends_fail(void **state)
{
    (void)state;
    open_world(3, true);
    struct co_p2p_send rts = send_of(0, 1, 1, LARGE), synchronous = send_of(0, 1, 1, 8), eager = send_of(0, 1, 1, 8),
                       other = send_of(0, 2, 1, LARGE), self = send_of(0, 0, 1, LARGE);
    synchronous.is_synchronous = true;
    co_p2p_send(&rts);
    co_p2p_send(&synchronous);
    co_p2p_send(&eager);
    co_p2p_send(&other);
    co_p2p_send(&self);
    static struct co_p2p_send waiting[MANY]; // for room, too
    for (int i = 0; i < MANY; i++) {
        waiting[i] = send_of(0, 1, 2, LARGE);
        co_p2p_send(&waiting[i]);
    }
    co_p2p_lose(world.ranks[0], 1);
    co_p2p_lose(world.ranks[0], 1);
    assert_true(co_p2p_send_is_done(&eager) && eager.result == 0); // it was copied in time
    assert_true(co_p2p_send_is_done(&rts) && rts.result == -ECONNRESET);
    assert_true(co_p2p_send_is_done(&synchronous) && synchronous.result == -ECONNRESET);
    for (int i = 0; i < MANY; i++) {
        assert_true(co_p2p_send_is_done(&waiting[i]) && waiting[i].result == -ECONNRESET);
    }
    assert_false(co_p2p_send_is_done(&other));
    assert_false(co_p2p_send_is_done(&self));
    struct co_p2p_send later = send_of(0, 1, 1, 8);
    co_p2p_send(&later);
    assert_true(co_p2p_send_is_done(&later) && later.result == -ECONNRESET);
    struct co_p2p_receive receive = receive_at(2, LARGE);
    co_p2p_receive(&receive, 0, 1);
    p2p_world_settle(&world);
    assert_true(co_p2p_receive_is_done(&receive) && receive.result == 0);
    assert_true(co_p2p_send_is_done(&other) && other.result == 0);
    struct co_p2p_receive own = receive_at(0, LARGE);
    co_p2p_receive(&own, 0, 1);
    assert_true(co_p2p_send_is_done(&self) && self.result == 0);
    p2p_world_close(&world);
}

// In the table and beyond it, of both classes that name a source.
static void receives_fail(void **state)
{
    (void)state;
    static struct co_p2p_receive lost[MANY];
    open_world(3, true);
    struct co_p2p_receive any = receive_at(0, 100), other = receive_at(0, 100);
    co_p2p_receive(&any, CO_P2P_ANY, 5);
    for (int i = 0; i < MANY; i++) {
        lost[i] = receive_at(0, 100);
        co_p2p_receive(&lost[i], 1, i % 2 == 0 ? i : CO_P2P_ANY);
    }
    co_p2p_receive(&other, 2, 5);
    co_p2p_lose(world.ranks[0], 1);
    for (int i = 0; i < MANY; i++) {
        check_lost(&lost[i]);
    }
    assert_false(co_p2p_receive_is_done(&any));
    assert_false(co_p2p_receive_is_done(&other));
    struct co_p2p_receive later = receive_at(0, 100);
    co_p2p_receive(&later, 1, 5);
    check_lost(&later);
    struct co_p2p_send first = send_of(2, 0, 5, 10), second = send_of(2, 0, 5, 10);
    co_p2p_send(&first);
    co_p2p_send(&second);
    p2p_world_settle(&world);
    assert_true(co_p2p_receive_is_done(&any) && any.result == 0 && any.source == 2);
    assert_true(co_p2p_receive_is_done(&other) && other.result == 0);
    p2p_world_close(&world);
}

// Copied messages are there, also those that nobody had looked at; bytes that were its own are lost with it.
static void what_it_sent_is_received(void **state)
{
    (void)state;
    open_world(2, true);
    struct co_p2p_send rts = send_of(1, 0, 7, LARGE);
    static struct co_p2p_send eager[40];
    for (int i = 0; i < 40; i++) {
        eager[i] = send_of(1, 0, i, 100);
        co_p2p_send(&eager[i]);
    }
    co_p2p_send(&rts);
    struct co_p2p_receive posted = receive_at(0, 100);
    co_p2p_receive(&posted, 1, 39);
    co_p2p_lose(world.ranks[0], 1);
    assert_true(co_p2p_receive_is_done(&posted) && posted.result == 0);
    for (int i = 0; i < 39; i++) {
        struct co_p2p_receive receive = receive_at(0, 100);
        co_p2p_receive(&receive, 1, i);
        assert_true(co_p2p_receive_is_done(&receive) && receive.result == 0);
    }
    struct co_p2p_receive lost = receive_at(0, LARGE);
    co_p2p_receive(&lost, CO_P2P_ANY, 7);
    check_lost(&lost);
    p2p_world_close(&world);
}

static void probes_find_what_came_and_then_an_end(void **state)
{
    struct co_p2p_info info;
    (void)state;
    open_world(3, true);
    struct co_p2p_context *context = world.contexts[0];
    struct co_p2p_send send = send_of(1, 0, 7, 100);
    co_p2p_send(&send);
    assert_false(co_p2p_source_has_ended(context, 1));
    co_p2p_lose(world.ranks[0], 1);
    assert_true(co_p2p_source_has_ended(context, 1));
    assert_false(co_p2p_source_has_ended(context, 2));
    assert_false(co_p2p_source_has_ended(context, 0));
    assert_false(co_p2p_source_has_ended(context, CO_P2P_ANY));
    assert_true(co_p2p_probe(context, 1, 7, &info));
    struct co_p2p_message *message = co_p2p_take(context, 1, CO_P2P_ANY, &info);
    assert_non_null(message);
    assert_false(co_p2p_probe(context, 1, CO_P2P_ANY, &info));
    struct co_p2p_receive receive = receive_at(0, 100);
    co_p2p_receive_taken(&receive, message);
    assert_true(co_p2p_receive_is_done(&receive) && receive.result == 0);
    p2p_world_close(&world);
}

// Half of it has been read, or half of it has come.
static void in_the_middle(void **state)
{
    (void)state;
    for (int may_read = 0; may_read < 2; may_read++) {
        open_world(3, may_read);
        struct co_p2p_send send = send_of(1, 0, 7, LARGE), behind = send_of(2, 0, 7, LARGE);
        struct co_p2p_receive receive = receive_at(0, LARGE), next = receive_at(0, LARGE);
        co_p2p_receive(&receive, 1, 7);
        co_p2p_receive(&next, 2, 7);
        co_p2p_send(&send);
        co_p2p_send(&behind);
        co_p2p_progress(world.ranks[0]);
        co_p2p_progress(world.ranks[1]);
        co_p2p_progress(world.ranks[0]);
        assert_false(co_p2p_receive_is_done(&receive));
        co_p2p_lose(world.ranks[0], 1);
        check_lost(&receive);
        for (int i = 0; i < 2000; i++) {
            co_p2p_progress(world.ranks[0]);
            co_p2p_progress(world.ranks[2]);
        }
        assert_true(co_p2p_receive_is_done(&next) && next.result == 0);
        // And the other way round: the one that streams or waits to be read loses its receiver.
        co_p2p_lose(world.ranks[1], 0);
        assert_true(co_p2p_send_is_done(&send));
        assert_int_equal(send.result, -ECONNRESET);
        p2p_world_close(&world);
    }
}

// On another host, where only native can tell; the others of the node and elsewhere are reached as before.
static void native_fails(void **state)
{
    (void)state;
    struct p2p_world_options options = {.size = 4,
                                        .eager_most = 4096,
                                        .remote_eager_most = 4096,
                                        .credit = 1 << 20,
                                        .matcher = {64, 64, 16},
                                        .node_ranks = 2};
    p2p_world_open(&world, &options);
    struct co_p2p_receive under_way = receive_at(0, LARGE), posted = receive_at(0, LARGE), near = receive_at(1, LARGE),
                          far = receive_at(3, LARGE), any = receive_at(0, LARGE);
    struct co_p2p_send payload = send_of(2, 0, 1, LARGE), rts = send_of(0, 2, 1, LARGE), last = send_of(0, 2, 1, 8);
    fake_net.buffered = 4096 + 100;
    co_p2p_send(&payload);
    co_p2p_receive(&under_way, 2, 1);
    p2p_world_move(&world, 0);
    p2p_world_move(&world, 0); // it has asked for the bytes
    co_p2p_receive(&posted, 2, 2);
    co_p2p_receive(&any, CO_P2P_ANY, 3);
    co_p2p_send(&rts);
    fake_net.refuses[2] = true;
    co_p2p_send(&last);
    for (int i = 0; i < 10; i++) {
        p2p_world_move(&world, 0);
    }
    check_lost(&under_way);
    check_lost(&posted);
    assert_true(co_p2p_send_is_done(&rts) && rts.result == -ECONNRESET);
    assert_false(co_p2p_receive_is_done(&any));
    assert_true(fake_net.cancelled > 0); // nothing is written to a buffer that is the program's again
    struct co_p2p_send to_near = send_of(0, 1, 1, LARGE), to_far = send_of(0, 3, 1, LARGE),
                       from_far = send_of(3, 0, 3, 8);
    co_p2p_receive(&near, 0, 1);
    co_p2p_send(&to_near);
    p2p_world_settle(&world);
    assert_true(co_p2p_receive_is_done(&near) && near.result == 0);
    co_p2p_receive(&far, 0, 1);
    co_p2p_send(&to_far);
    co_p2p_send(&from_far);
    p2p_world_settle(&world);
    assert_true(co_p2p_receive_is_done(&far) && far.result == 0);
    assert_true(co_p2p_receive_is_done(&any) && any.result == 0 && any.source == 3);
    co_p2p_lose(world.ranks[2], 0);
    assert_true(co_p2p_send_is_done(&payload));
    p2p_world_close(&world);
}

// The first one; -1: none.
static int awaited_next(struct co_p2p *p2p, int last)
{
    int peer = -1, count = co_p2p_awaited(p2p, last, &peer, 1);
    assert_int_equal(count > 0, peer >= 0);
    return peer;
}

// Of those on other hosts, each that something waits for, in turn; the others are left in peace.
static void awaited_ones_are_named_in_turn(void **state)
{
    (void)state;
    struct p2p_world_options options = {.size = 4,
                                        .node_ranks = 1,
                                        .eager_most = 4096,
                                        .remote_eager_most = 1024,
                                        .credit = 1 << 20,
                                        .matcher = {64, 64, 16}};
    p2p_world_open(&world, &options);
    struct co_p2p *self = world.ranks[0];
    assert_int_equal(awaited_next(self, 0), -1);
    struct co_p2p_receive any = receive_at(0, 100), posted = receive_at(0, 100);
    co_p2p_receive(&any, CO_P2P_ANY, 5);
    assert_int_equal(awaited_next(self, 0), -1);
    co_p2p_receive(&posted, 2, 5);
    struct co_p2p_send rts = send_of(0, 3, 1, LARGE);
    co_p2p_send(&rts);
    assert_int_equal(awaited_next(self, 0), 2);
    assert_int_equal(awaited_next(self, 2), 3);
    assert_int_equal(awaited_next(self, 3), 2);
    int peers[4] = {0};
    assert_int_equal(co_p2p_awaited(self, 2, peers, 4), 2);
    assert_int_equal(peers[0], 3);
    assert_int_equal(peers[1], 2);
    assert_int_equal(peers[2], 0);
    assert_int_equal(co_p2p_awaited(self, 0, peers, 0), 2);
    assert_false(co_p2p_source_has_ended(world.contexts[0], 1)); // somebody probes for it
    assert_int_equal(awaited_next(self, 0), 1);
    assert_int_equal(awaited_next(self, 0), 2); // and does no longer
    co_p2p_lose(self, 2);
    check_lost(&posted);
    assert_int_equal(awaited_next(self, 0), 3);
    assert_true(co_p2p_cancel(&any));
    p2p_world_close(&world);
    assert_int_equal(rts.result, -ECANCELED);
}

// The writer's process can write what it likes into the memory of a ring, also by a fault of the program.
static void a_ring_is_written_over(void **state)
{
    (void)state;
    open_world(3, true);
    struct co_p2p_receive lost = receive_at(0, 100), other = receive_at(0, 100);
    co_p2p_receive(&lost, 1, 5);
    co_p2p_receive(&other, 2, 5);
    struct co_channel *channel = world.channels[0];
    struct co_ring *ring =
        (struct co_ring *)((char *)channel->ops->gate(channel, 1, false) - offsetof(struct co_ring, gate));
    ring->slots[0].kind_and_bytes = (uint32_t)CO_PACKET_EAGER << 24 | UINT32_C(0xffffff);
    ring->slots[0].context = 1;
    ring->slots[0].source = 1;
    ring->slots[0].tag = 5;
    co_store_release(&ring->slots[0].stamp, 1); // a packet, as the reader sees it
    p2p_world_settle(&world);
    check_lost(&lost);
    struct co_p2p_send send = send_of(2, 0, 5, 10);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_true(co_p2p_receive_is_done(&other) && other.result == 0);
    assert_false(channel->ops->has_more(channel, 1));
    p2p_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sends_fail),
                                       cmocka_unit_test(receives_fail),
                                       cmocka_unit_test(what_it_sent_is_received),
                                       cmocka_unit_test(probes_find_what_came_and_then_an_end),
                                       cmocka_unit_test(in_the_middle),
                                       cmocka_unit_test(native_fails),
                                       cmocka_unit_test(a_ring_is_written_over),
                                       cmocka_unit_test(awaited_ones_are_named_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
