// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that go in pieces inside a node: without the kernel's help as long as their sender moves; what is behind
// them, both directions at once, and credit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "p2p_streams.h"

static const size_t sizes[] = {EAGER + 1,          8192,   FIRST_FRAGMENT - 1, FIRST_FRAGMENT,
                               FIRST_FRAGMENT + 1, 100000, STREAM_MOST};

// Each size with the receive before the message, and after it, with enough room, with half, and with none.
static void in_pieces(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int kind = 0; kind < 12; kind++) {
            size_t room = kind % 3 == 0 ? sizes[i] : kind % 3 == 1 ? sizes[i] / 2 : 0;
            bool receive_first = kind / 3 & 1;
            open_streams(2, 1 << 20);
            struct co_p2p_receive receive = receive_at(1, room);
            struct co_p2p_send send = send_of(0, 1, 5, sizes[i]);
            send.is_synchronous = kind / 6;
            if (receive_first) {
                co_p2p_receive(&receive, 0, 5);
            }
            co_p2p_send(&send);
            p2p_world_settle(&world);
            if (!receive_first) {
                assert_false(co_p2p_send_is_done(&send)); // it waits for its receive
                co_p2p_receive(&receive, CO_P2P_ANY, CO_P2P_ANY);
                p2p_world_settle(&world);
            }
            assert_true(co_p2p_send_is_done(&send));
            check_received(&receive, 0, 5, sizes[i]);
            assert_int_equal(reads, 0);
            close_streams(false);
        }
    }
}

// Its receiver does not run while the ring is full: later ones are read, until that has been tried for long enough.
static void who_was_away_reads(void **state)
{
    enum { BYTES = 600000, VAIN = 10 }; // more than twice a ring
    (void)state;
    int offers = 0;
    open_streams(2, 1 << 20);
    for (int vain = 0; vain <= VAIN; vain += VAIN) { // longer the second time
        struct co_p2p_receive receive = receive_at(1, BYTES);
        struct co_p2p_send send = send_of(0, 1, 5, BYTES);
        co_p2p_send(&send);
        streams_move(0);
        co_p2p_receive(&receive, 0, 5);
        streams_move(1); // the ring is empty, and the rest asked for
        streams_move(0); // it is full
        for (int i = 0; i < vain; i++) {
            wait_in_vain(0);
        }
        p2p_world_settle(&world);
        check_received(&receive, 0, 5, BYTES);
        assert_true(send.is_in_pieces);
    }
    assert_int_equal(reads, 0);
    for (bool in_pieces = false; !in_pieces; offers++) {
        struct co_p2p_receive receive = receive_at(1, BYTES);
        struct co_p2p_send send = send_of(0, 1, 5, BYTES);
        co_p2p_receive(&receive, 0, 5);
        co_p2p_send(&send);
        p2p_world_settle(&world);
        check_received(&receive, 0, 5, BYTES);
        in_pieces = send.is_in_pieces;
    }
    assert_in_range(offers, 2, 100);
    assert_int_equal(reads, offers - 1);
    close_streams(false);
}

static void larger_ones_are_read(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    struct co_p2p_send send = send_of(0, 1, 5, STREAM_MOST + 1);
    co_p2p_receive(&receive, 0, 5);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    check_received(&receive, 0, 5, STREAM_MOST + 1);
    assert_true(reads > 0);
    close_streams(false);
}

static void one_goes_in_pieces(int tag, size_t bytes)
{
    struct co_p2p_receive receive = receive_at(1, bytes);
    struct co_p2p_send send = send_of(0, 1, tag, bytes);
    co_p2p_receive(&receive, 0, tag);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    check_received(&receive, 0, tag, bytes);
    assert_true(send.is_in_pieces);
}

// More than a ring holds, from a sender that does nothing else any more: each has been offered, and the receiver has
// them all after having lost its patience once. The sender learns of it, and what is behind them goes in pieces again.
// So it is with those that are sent at once if they find room.
static void more_than_a_ring_of_one_that_left(void **state)
{
    enum { COUNT = 100, BYTES = 8000 };
    static struct co_p2p_send sends[COUNT];
    static struct co_p2p_receive receives[COUNT];
    static unsigned char payloads[COUNT][BYTES];
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool receive_first = kind & 1;
        eager_most = kind & 2 ? BYTES : EAGER;
        open_streams(2, 1 << 30);
        eager_most = EAGER;
        memset(payloads, 0, sizeof(payloads));
        for (int step = 0; step < 2; step++) {
            for (int i = 0; i < COUNT; i++) {
                if (step == receive_first) {
                    sends[i] = send_of(0, 1, i, BYTES);
                    co_p2p_send(&sends[i]);
                } else {
                    receives[i] = receive_at(1, BYTES);
                    receives[i].buffer = payloads[i];
                    co_p2p_receive(&receives[i], 0, i);
                }
            }
        }
        wait_in_vain(1);
        assert_in_range(reads, COUNT / 2, COUNT - 1); // some came unasked
        for (int i = 0; i < COUNT; i++) {
            assert_true(co_p2p_receive_is_done(&receives[i]));
            assert_memory_equal(payloads[i], sent, BYTES);
        }
        streams_move(0);
        for (int i = 0; i < COUNT; i++) {
            assert_true(co_p2p_send_is_done(&sends[i]));
        }
        int before = reads;
        one_goes_in_pieces(5, 300000);
        assert_int_equal(reads, before);
        close_streams(false);
    }
}

// Where ranks take turns on the cores, what is sent at once waits for room.
static void what_is_sent_at_once_in_a_crowd(void **state)
{
    enum { COUNT = 100, BYTES = 8000 };
    static struct co_p2p_send sends[COUNT];
    (void)state;
    eager_most = BYTES;
    is_crowded = true;
    open_streams(2, 1 << 30);
    eager_most = EAGER;
    is_crowded = false;
    for (int i = 0; i < COUNT; i++) {
        sends[i] = send_of(0, 1, i, BYTES);
        co_p2p_send(&sends[i]);
    }
    p2p_world_settle(&world);
    for (int i = 0; i < COUNT; i++) {
        struct co_p2p_receive receive = receive_at(1, BYTES);
        assert_true(co_p2p_send_is_done(&sends[i]));
        co_p2p_receive(&receive, 0, i);
        check_received(&receive, 0, i, BYTES);
    }
    assert_int_equal(reads, 0);
    close_streams(false);
}

// It is offered all the same, and read, too.
static struct co_p2p_send late;

static void send_while_it_reads(void)
{
    if (reads == 1) {
        late = send_of(0, 1, 6, 100000);
        co_p2p_send(&late);
    }
}

static void one_that_is_sent_while_another_is_read(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    struct co_p2p_receive receive = receive_at(1, LARGE), behind = receive_at(1, LARGE);
    struct co_p2p_send send = send_of(0, 1, 5, 100000);
    co_p2p_receive(&receive, 0, 5);
    co_p2p_send(&send);
    while_reading = send_while_it_reads;
    wait_in_vain(1);
    while_reading = NULL;
    check_received(&receive, 0, 5, 100000);
    memset(received, 0xee, LARGE);
    co_p2p_receive(&behind, 0, 6);
    streams_move(1);
    check_received(&behind, 0, 6, 100000);
    assert_int_equal(reads, 2);
    p2p_world_settle(&world);
    assert_true(co_p2p_send_is_done(&send) && co_p2p_send_is_done(&late));
    close_streams(false);
}

static int send_until_full(void)
{
    int count = 0;
    while (co_p2p_send_now(world.contexts[0], 1, 5, sent, 8)) {
        count++;
    }
    return count;
}

// A ring holds as many after any number that has been taken as at the beginning.
static void what_was_taken_makes_room(void **state)
{
    (void)state;
    open_streams(2, 1 << 30);
    int most = send_until_full();
    assert_true(most >= 512);
    for (int few = 1; few < 200; few += 17) {
        streams_move(1);
        assert_int_equal(send_until_full(), most);
        streams_move(1);
        for (int i = 0; i < few; i++) {
            assert_true(co_p2p_send_now(world.contexts[0], 1, 5, sent, 8));
        }
    }
    p2p_world_close(&world);
}

// Small and middle ones, with another tag, do not wait for all of what is before them.
static void what_is_behind_a_long_one(void **state)
{
    static unsigned char small[2][2000];
    size_t bytes[2] = {8, 2000};
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_streams(2, 1 << 20);
        struct co_p2p_receive receive = receive_at(1, LARGE), other = receive_at(1, 2000);
        struct co_p2p_send send = send_of(0, 1, 5, STREAM_MOST), behind = send_of(0, 1, 6, bytes[i]);
        other.buffer = small[i];
        co_p2p_receive(&receive, 0, 5);
        co_p2p_receive(&other, 0, 6);
        co_p2p_send(&send);
        co_p2p_send(&behind);
        while (!co_p2p_receive_is_done(&other)) {
            co_p2p_progress(world.ranks[0]);
            co_p2p_progress(world.ranks[1]);
        }
        assert_false(co_p2p_receive_is_done(&receive));
        assert_true(receive.done_bytes < 4 * FIRST_FRAGMENT);
        p2p_world_settle(&world);
        check_received(&receive, 0, 5, STREAM_MOST);
        close_streams(false);
    }
}

// Both directions at once, more of them than any ring holds, and each rank in its sends until they are over.
static void both_ways(void **state)
{
    enum { COUNT = 64, BYTES = 40000 };
    static struct co_p2p_send sends[2][COUNT];
    static struct co_p2p_receive receives[2][COUNT];
    static unsigned char payloads[2][COUNT][BYTES];
    (void)state;
    for (int receive_first = 0; receive_first < 2; receive_first++) {
        open_streams(2, 256 << 10);
        for (int step = 0; step < 2; step++) {
            for (int rank = 0; rank < 2; rank++) {
                for (int i = 0; i < COUNT; i++) {
                    if (step == receive_first) {
                        sends[rank][i] = send_of(rank, 1 - rank, i, BYTES);
                        co_p2p_send(&sends[rank][i]);
                    } else {
                        receives[rank][i] = receive_at(rank, BYTES);
                        receives[rank][i].buffer = payloads[rank][i];
                        co_p2p_receive(&receives[rank][i], 1 - rank, i);
                    }
                }
            }
            p2p_world_settle(&world);
        }
        for (int rank = 0; rank < 2; rank++) {
            for (int i = 0; i < COUNT; i++) {
                assert_true(co_p2p_send_is_done(&sends[rank][i]));
                assert_true(co_p2p_receive_is_done(&receives[rank][i]));
                assert_memory_equal(payloads[rank][i], sent, BYTES);
            }
        }
        memset(payloads, 0, sizeof(payloads));
        close_streams(false);
    }
}

// What comes unasked counts against its sender, and without credit an offer comes alone.
static void credit_bounds_what_comes_unasked(void **state)
{
    enum { COUNT = 20, CREDIT = 3 * FIRST_FRAGMENT };
    static struct co_p2p_send sends[COUNT];
    (void)state;
    for (int round = 0; round < 2; round++) {
        uint64_t before = co_counter_read(CO_COUNT_STREAMED_BYTES);
        open_streams(2, CREDIT);
        int unasked = 0;
        for (int i = 0; i < COUNT; i++) {
            sends[i] = send_of(0, 1, i, 50000);
            co_p2p_send(&sends[i]);
            p2p_world_settle(&world);
            unasked += sends[i].streamed > 0;
        }
        assert_int_equal(unasked, 2);
        for (int i = 0; i < COUNT; i++) {
            struct co_p2p_receive receive = receive_at(1, 50000);
            co_p2p_receive(&receive, 0, round == 0 ? i : COUNT - 1 - i);
            p2p_world_settle(&world);
            check_received(&receive, 0, round == 0 ? i : COUNT - 1 - i, 50000);
        }
        one_goes_in_pieces(1, 50000); // there is credit again
        assert_int_equal(reads, 0);
        close_streams(false);
        assert_int_equal(co_counter_read(CO_COUNT_STREAMED_BYTES) - before, (COUNT + 1) * 50000);
    }
}

static void counted(void **state)
{
    (void)state;
    uint64_t streamed = co_counter_read(CO_COUNT_MESSAGES_STREAMED), bytes = co_counter_read(CO_COUNT_STREAMED_BYTES),
             read = co_counter_read(CO_COUNT_STREAMS_READ);
    open_streams(2, 1 << 20);
    struct co_p2p_receive receives[3];
    struct co_p2p_send sends[3];
    for (int i = 0; i < 3; i++) { // the last one is finished by reading
        receives[i] = receive_at(1, LARGE);
        sends[i] = send_of(0, 1, i, i == 0 ? 10000 : 100000);
        co_p2p_receive(&receives[i], 0, i);
        co_p2p_send(&sends[i]);
        if (i < 2) {
            p2p_world_settle(&world);
        } else {
            wait_in_vain(1);
        }
        check_received(&receives[i], 0, i, sends[i].bytes);
    }
    p2p_world_settle(&world);
    close_streams(false);
    assert_int_equal(co_counter_read(CO_COUNT_MESSAGES_STREAMED) - streamed, 3);
    assert_int_equal(co_counter_read(CO_COUNT_STREAMS_READ) - read, 1);
    uint64_t in_pieces = co_counter_read(CO_COUNT_STREAMED_BYTES) - bytes;
    assert_true(in_pieces >= 110000 && in_pieces <= 110000 + FIRST_FRAGMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_pieces),
                                       cmocka_unit_test(larger_ones_are_read),
                                       cmocka_unit_test(who_was_away_reads),
                                       cmocka_unit_test(more_than_a_ring_of_one_that_left),
                                       cmocka_unit_test(what_is_sent_at_once_in_a_crowd),
                                       cmocka_unit_test(one_that_is_sent_while_another_is_read),
                                       cmocka_unit_test(what_was_taken_makes_room),
                                       cmocka_unit_test(what_is_behind_a_long_one),
                                       cmocka_unit_test(both_ways),
                                       cmocka_unit_test(credit_bounds_what_comes_unasked),
                                       cmocka_unit_test(counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
