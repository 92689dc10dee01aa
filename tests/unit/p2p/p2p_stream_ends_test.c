// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that go in pieces and whose sender stops, ends meanwhile, or is gone; and those that nobody wants any more.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_streams.h"

static const size_t sizes[] = {EAGER + 1,          8192,   FIRST_FRAGMENT - 1, FIRST_FRAGMENT,
                               FIRST_FRAGMENT + 1, 100000, STREAM_MOST};

// It computes from its first call on: the receiver has its message all the same, and the sender learns of it.
static void a_sender_that_stops(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int kind = 0; kind < 4; kind++) {
            size_t room = kind & 1 ? sizes[i] : sizes[i] - 1;
            open_streams(2, 1 << 20);
            struct co_p2p_receive receive = receive_at(1, room);
            struct co_p2p_send send = send_of(0, 1, 5, sizes[i]), next = send_of(0, 1, 6, 100000);
            if (kind & 2) {
                co_p2p_receive(&receive, 0, 5);
            }
            co_p2p_send(&send);
            co_p2p_send(&next);
            streams_move(1);
            if (!(kind & 2)) {
                co_p2p_receive(&receive, 0, 5);
            }
            wait_in_vain(1);
            check_received(&receive, 0, 5, sizes[i]);
            assert_int_equal(reads, sizes[i] > FIRST_FRAGMENT && room > FIRST_FRAGMENT);
            p2p_world_settle(&world);
            assert_true(co_p2p_send_is_done(&send));
            memset(received, 0xee, LARGE);
            struct co_p2p_receive behind = receive_at(1, LARGE);
            co_p2p_receive(&behind, 0, 6);
            p2p_world_settle(&world);
            check_received(&behind, 0, 6, 100000);
            assert_true(co_p2p_send_is_done(&next));
            close_streams(false);
        }
    }
}

// The more there is to be read, the longer: what it loses by its patience is a small part of what it wins.
static void patience_grows_with_what_is_left(void **state)
{
    (void)state;
    for (int long_one = 0; long_one < 2; long_one++) {
        size_t bytes = long_one ? STREAM_MOST : FIRST_FRAGMENT + 1;
        open_streams(2, 1 << 20);
        struct co_p2p_receive receive = receive_at(1, LARGE);
        struct co_p2p_send send = send_of(0, 1, 5, bytes);
        co_p2p_receive(&receive, 0, 5);
        co_p2p_send(&send);
        wait_for(1, 0);
        wait_for(1, PATIENCE_NS + 100);
        assert_int_equal(reads, !long_one);
        wait_for(1, STREAM_MOST / 64);
        assert_int_equal(reads, 1);
        check_received(&receive, 0, 5, bytes);
        p2p_world_settle(&world);
        close_streams(false);
    }
}

// The sender wakes up while it is read: it writes nothing, and does not look at its buffer any more either, which may
// be gone as soon as the receiver has the message.
static struct co_p2p_send *woken;

static void wake_up(void)
{
    size_t streamed = woken->streamed;
    streams_move(0);
    assert_false(co_p2p_send_is_done(woken));
    assert_int_equal(woken->streamed, streamed);
}

static void a_sender_that_wakes_up_meanwhile(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4;
         kind++) { // stopped among the pieces of the first fragment or behind them, with another one behind it
        open_streams(2, 1 << 20);
        struct co_p2p_receive receive = receive_at(1, kind & 1 ? LARGE : FIRST_FRAGMENT + 1),
                              behind = receive_at(1, LARGE);
        struct co_p2p_send first = send_of(0, 1, 4, 10000), send = send_of(0, 1, 5, 200000),
                           next = send_of(0, 1, 6, 200000);
        if (kind & 2) {
            co_p2p_send(&first);
        }
        co_p2p_receive(&receive, 0, 5);
        co_p2p_send(&send);
        woken = &send;
        while_reading = wake_up;
        wait_in_vain(1);
        assert_int_equal(reads, 1);
        check_received(&receive, 0, 5, 200000);
        while_reading = NULL;
        send.data = NULL;
        memset(received, 0xee, LARGE);
        co_p2p_send(&next);
        co_p2p_receive(&behind, 0, 6);
        p2p_world_settle(&world);
        assert_true(co_p2p_send_is_done(&send));
        check_received(&behind, 0, 6, 200000);
        assert_int_equal(reads, 1);
        close_streams((kind & 2) != 0);
    }
}

// It wakes up while the second one is read, and hears that the first one was: it writes nothing of the second one, nor
// of the first one if the kernel refuses the second one then.
static struct co_p2p_send two[2];

static void wake_up_at_the_second(void)
{
    if (reads == 2) {
        two[0].data = NULL;
        woken = &two[1];
        wake_up();
        assert_true(co_p2p_send_is_done(&two[0]));
    }
}

static void refuse_the_second(void)
{
    if (reads == 2) {
        two[0].data = NULL;
        read_error = -EPERM;
    }
}

static void two_of_one_sender(void **state)
{
    static unsigned char payloads[2][200000];
    (void)state;
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        open_streams(2, 1 << 20);
        struct co_p2p_receive receives[2];
        for (int i = 0; i < 2; i++) {
            receives[i] = receive_at(1, sizeof(payloads[i]));
            receives[i].buffer = memset(payloads[i], 0, sizeof(payloads[i]));
            co_p2p_receive(&receives[i], 0, i);
            two[i] = send_of(0, 1, i, sizeof(payloads[i]));
            co_p2p_send(&two[i]);
        }
        streams_move(1);
        for (int i = 0; i < 20; i++) { // so much that the sender does not hear all at once
            assert_true(co_p2p_send_now(world.contexts[1], 0, i, sent, 8));
        }
        while_reading = is_refused ? refuse_the_second : wake_up_at_the_second;
        wait_in_vain(1);
        while_reading = NULL;
        assert_int_equal(reads, 2);
        assert_true(co_p2p_receive_is_done(&receives[0]));
        assert_int_equal(co_p2p_receive_is_done(&receives[1]), !is_refused);
        p2p_world_settle(&world);
        for (int i = 0; i < 2; i++) {
            assert_true(co_p2p_send_is_done(&two[i]) && co_p2p_receive_is_done(&receives[i]));
            assert_memory_equal(payloads[i], sent, sizeof(payloads[i]));
        }
        assert_int_equal(reads, 2);
        close_streams(false);
    }
}

// Both ranks stop in the middle of a stream to the other, read each other's and then go on: what tells them so does not
// wait behind what it holds up.
static void two_that_stop(void **state)
{
    static unsigned char payloads[2][STREAM_MOST];
    struct co_p2p_receive receives[2];
    struct co_p2p_send sends[2];
    (void)state;
    open_streams(2, 1 << 20);
    for (int rank = 0; rank < 2; rank++) {
        receives[rank] = receive_at(rank, STREAM_MOST);
        receives[rank].buffer = payloads[rank];
        sends[rank] = send_of(rank, 1 - rank, 5, STREAM_MOST);
        co_p2p_receive(&receives[rank], 1 - rank, 5);
        co_p2p_send(&sends[rank]);
    }
    for (int i = 0; i < 4; i++) { // both are asked, and their rings are full again
        co_p2p_progress(world.ranks[i % 2]);
    }
    wait_in_vain(1);
    wait_in_vain(0);
    p2p_world_settle(&world);
    for (int rank = 0; rank < 2; rank++) {
        assert_true(co_p2p_receive_is_done(&receives[rank]) && co_p2p_send_is_done(&sends[rank]));
        assert_memory_equal(payloads[rank], sent, STREAM_MOST);
    }
    assert_int_equal(reads, 2);
    close_streams(false);
}

// It lost its core while it wrote a piece: nobody reads until the piece is there.
static void a_sender_that_stops_while_it_writes(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    struct co_p2p_send send = send_of(0, 1, 5, 200000);
    _Atomic uint64_t *gate = world.channels[1]->ops->gate(world.channels[1], 0, false);
    co_p2p_receive(&receive, 0, 5);
    co_p2p_send(&send);
    co_store_relaxed(gate, UINT64_MAX);
    wait_in_vain(1);
    assert_int_equal(reads, 0);
    co_store_relaxed(gate, 0);
    wait_in_vain(1);
    assert_int_equal(reads, 1);
    check_received(&receive, 0, 5, 200000);
    close_streams(true);
}

static void where_the_kernel_refuses(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    struct co_p2p_send send = send_of(0, 1, 5, 200000);
    read_error = -EPERM;
    co_p2p_receive(&receive, 0, 5);
    co_p2p_send(&send);
    wait_in_vain(1);
    assert_int_equal(reads, 1);
    assert_false(co_p2p_receive_is_done(&receive));
    p2p_world_settle(&world);
    check_received(&receive, 0, 5, 200000);
    close_streams(false);
}

static void make_nothing(void *arg, size_t from, size_t to)
{
    (void)arg;
    (void)from;
    (void)to;
}

static void read_the_next(void)
{
    read_error = reads > 1 ? 0 : -EPERM;
}

// It is made while it goes, or its memory is a kind that the kernel does not read.
static void what_cannot_be_read_holds_up_nobody(void **state)
{
    enum { BYTES = 200000 };
    (void)state;
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        struct co_p2p_send sends[2];
        struct co_p2p_receive receives[2];
        open_streams(2, 1 << 20);
        while_reading = read_the_next;
        read_error = is_refused ? -EPERM : 0;
        reads = is_refused ? 0 : 1;
        for (int i = 0; i < 2; i++) {
            sends[i] = send_of(0, 1, i, BYTES);
            sends[i].make = i == 0 && !is_refused ? make_nothing : NULL;
            receives[i] = receive_at(1, BYTES);
            receives[i].buffer = received + (size_t)i * BYTES;
            co_p2p_receive(&receives[i], 0, i);
            co_p2p_send(&sends[i]);
        }
        wait_in_vain(1);
        wait_in_vain(1);
        assert_false(co_p2p_receive_is_done(&receives[0]));
        assert_true(co_p2p_receive_is_done(&receives[1]));
        assert_int_equal(reads, 2);
        p2p_world_settle(&world);
        for (int i = 0; i < 2; i++) {
            assert_true(co_p2p_receive_is_done(&receives[i]) && co_p2p_send_is_done(&sends[i]));
            assert_memory_equal(receives[i].buffer, sent, BYTES);
        }
        close_streams(false);
    }
}

// Taken by a matched probe, or dropped, while its first pieces come.
static void taken_while_it_comes(void **state)
{
    (void)state;
    for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
        struct co_p2p_info info;
        open_streams(2, 1 << 20);
        struct co_p2p_send waiting = send_of(0, 1, 1, 30000), send = send_of(0, 1, 5, 100000);
        co_p2p_send(&waiting); // fills the ring, so that the next one finds room for a part
        co_p2p_progress(world.ranks[1]);
        co_p2p_send(&send);
        co_p2p_progress(world.ranks[1]);
        struct co_p2p_message *taken = co_p2p_take(world.contexts[1], 0, 5, &info);
        assert_non_null(taken);
        assert_int_equal(info.bytes, 100000);
        struct co_p2p_receive receive = receive_at(1, LARGE), first = receive_at(1, LARGE);
        if (is_dropped) {
            co_p2p_drop_taken(taken);
        } else {
            co_p2p_receive_taken(&receive, taken);
        }
        p2p_world_settle(&world);
        if (!is_dropped) {
            check_received(&receive, 0, 5, 100000);
            assert_true(co_p2p_send_is_done(&send));
        }
        memset(received, 0xee, LARGE);
        co_p2p_receive(&first, 0, 1);
        p2p_world_settle(&world);
        check_received(&first, 0, 1, 30000);
        if (is_dropped) {
            co_p2p_lose(world.ranks[0], 1);
        }
        close_streams(false);
    }
}

// In the middle of the pieces of the first fragment, and of the others: both sides learn of it, and what is there is
// received.
static void a_peer_that_ends(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        open_streams(3, 1 << 20);
        struct co_p2p_receive receive = receive_at(1, LARGE), whole = receive_at(1, LARGE);
        struct co_p2p_send complete = send_of(0, 1, 4, 10000), send = send_of(0, 1, 5, STREAM_MOST);
        co_p2p_send(&complete);
        co_p2p_send(&send);
        if (kind & 1) {
            co_p2p_receive(&receive, 0, 5);
        }
        co_p2p_progress(world.ranks[1]);
        if (kind & 2) {
            co_p2p_progress(world.ranks[0]);
            co_p2p_progress(world.ranks[1]);
        }
        co_p2p_lose(world.ranks[1], 0);
        co_p2p_lose(world.ranks[0], 1);
        if (!(kind & 1)) {
            co_p2p_receive(&receive, 0, 5);
        }
        assert_true(co_p2p_receive_is_done(&receive));
        assert_int_equal(receive.result, -ECONNRESET);
        assert_true(co_p2p_send_is_done(&send) && send.result == -ECONNRESET);
        memset(received, 0xee, LARGE);
        co_p2p_receive(&whole, 0, 4);
        check_received(&whole, 0, 4, 10000);
        close_streams(false);
    }
}

// A communicator that ends while something comes for it: the next message is whole.
static void a_communicator_that_ends(void **state)
{
    int peers[] = {0, 1};
    (void)state;
    open_streams(2, 1 << 20);
    struct co_p2p_context *left = co_p2p_context_open(world.ranks[0], 90, peers, 2, 0);
    struct co_p2p_context *right = co_p2p_context_open(world.ranks[1], 90, peers, 2, 1);
    struct co_p2p_send first = send_of(0, 1, 5, 100000), second = send_of(0, 1, 5, 100000),
                       third = send_of(0, 1, 6, 100000);
    first.context = second.context = left;
    co_p2p_send(&first);
    co_p2p_progress(world.ranks[1]); // a part of it
    co_p2p_context_close(right);
    co_p2p_send(&second); // for nobody
    co_p2p_send(&third);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 6);
    p2p_world_settle(&world);
    check_received(&receive, 0, 6, 100000);
    co_p2p_lose(world.ranks[0], 1);
    co_p2p_context_close(left);
    close_streams(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sender_that_stops),
                                       cmocka_unit_test(patience_grows_with_what_is_left),
                                       cmocka_unit_test(a_sender_that_wakes_up_meanwhile),
                                       cmocka_unit_test(a_sender_that_stops_while_it_writes),
                                       cmocka_unit_test(two_of_one_sender),
                                       cmocka_unit_test(two_that_stop),
                                       cmocka_unit_test(where_the_kernel_refuses),
                                       cmocka_unit_test(what_cannot_be_read_holds_up_nobody),
                                       cmocka_unit_test(taken_while_it_comes),
                                       cmocka_unit_test(a_peer_that_ends),
                                       cmocka_unit_test(a_communicator_that_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
