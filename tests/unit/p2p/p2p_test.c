// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point below MPI: eager, rendezvous by reading and by asking, synchronous, to oneself, truncated, probed, and
// floods that credit bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2p_letters.h"

static const size_t sizes[] = {0, 1, 40, 64, 65, 104, 105, 4096, 4097, 100000, LARGE};

// Each size with the receive before the message, and after it, with enough room and with half.
static void all_sizes(bool may_read, int to, bool is_synchronous)
{
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int kind = 0; kind < 4; kind++) {
            open_world(2, 4096, 1 << 20, may_read);
            bool receive_first = kind & 1;
            struct co_p2p_receive receive = receive_at(to, kind & 2 ? sizes[i] / 2 : sizes[i]);
            struct co_p2p_send send = send_of(0, to, 5, sizes[i]);
            send.is_synchronous = is_synchronous;
            if (receive_first) {
                co_p2p_receive(&receive, 0, 5);
                p2p_world_settle(&world);
            }
            co_p2p_send(&send);
            p2p_world_settle(&world);
            if (!receive_first) {
                assert_int_equal(co_p2p_send_is_done(&send), !is_synchronous && sizes[i] <= 4096);
                co_p2p_receive(&receive, CO_P2P_ANY, CO_P2P_ANY);
                p2p_world_settle(&world);
            }
            assert_true(co_p2p_send_is_done(&send));
            check_received(&receive, 0, 5, sizes[i]);
            p2p_world_close(&world);
        }
    }
}

static void by_reading(void **state)
{
    (void)state;
    all_sizes(true, 1, false);
}

static void by_asking(void **state)
{
    (void)state;
    all_sizes(false, 1, false);
}

static int read_nothing(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)peer;
    (void)local;
    (void)remote;
    (void)bytes;
    return 0;
}

// Nothing comes to the sender of a long message as long as its receiver reads, but word that it does.
static void sender_sees_reading(void **state)
{
    (void)state;
    struct p2p_world_options options = {
        .size = 2, .eager_most = 4096, .credit = 1 << 20, .matcher = {64, 64, 16}, .read = read_nothing};
    int signs = 0;
    p2p_world_open(&world, &options);
    struct co_p2p_receive receive = receive_at(1, (size_t)512 << 20); // of which nothing is touched
    struct co_p2p_send send = send_of(0, 1, 5, (size_t)512 << 20);
    co_p2p_receive(&receive, 0, 5);
    co_p2p_send(&send);
    while (!co_p2p_receive_is_done(&receive)) {
        uint64_t before = co_p2p_advances(world.ranks[0]);
        p2p_world_move(&world, 1);
        assert_false(co_p2p_send_is_done(&send));
        p2p_world_move(&world, 0);
        signs += !co_p2p_send_is_done(&send) && co_p2p_advances(world.ranks[0]) != before;
    }
    p2p_world_settle(&world);
    assert_true(co_p2p_send_is_done(&send));
    assert_in_range(signs, 7, 8);
    p2p_world_close(&world);
}

static void synchronous(void **state)
{
    (void)state;
    all_sizes(false, 1, true);
}

static void to_oneself(void **state)
{
    (void)state;
    all_sizes(false, 0, false);
    all_sizes(false, 0, true);
}

static void probed_and_taken(void **state)
{
    (void)state;
    struct co_p2p_info info;
    open_world(2, 4096, 1 << 20, true);
    assert_false(co_p2p_probe(world.contexts[1], CO_P2P_ANY, CO_P2P_ANY, &info));
    struct co_p2p_send first = send_of(0, 1, 3, 100000), second = send_of(0, 1, 3, 10);
    co_p2p_send(&first);
    co_p2p_send(&second);
    p2p_world_settle(&world);
    assert_true(co_p2p_probe(world.contexts[1], 0, 3, &info));
    assert_int_equal(info.bytes, 100000);
    struct co_p2p_message *taken = co_p2p_take(world.contexts[1], CO_P2P_ANY, 3, &info);
    assert_non_null(taken);
    assert_int_equal(info.bytes, 100000);
    assert_true(co_p2p_probe(world.contexts[1], 0, 3, &info));
    assert_int_equal(info.bytes, 10); // nobody else finds what is taken
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive_taken(&receive, taken);
    p2p_world_settle(&world);
    check_received(&receive, 0, 3, 100000);
    assert_null(co_p2p_take(world.contexts[1], 0, 4, &info));
    p2p_world_close(&world);
}

// What is taken is the program's: it holds up no sender, and may outlive its communicator, received or not.
static void taken_and_kept(void **state)
{
    enum { CREDIT = 8 << 10, BYTES = 3000, COUNT = 20 }; // more than the credit
    int peers[] = {0, 1};
    struct co_p2p_message *taken[COUNT];
    (void)state;
    struct co_p2p_info info;
    open_world(2, 4096, CREDIT, true);
    struct co_p2p_context *left = co_p2p_context_open(world.ranks[0], 90, peers, 2, 0);
    struct co_p2p_context *right = co_p2p_context_open(world.ranks[1], 90, peers, 2, 1);
    for (int i = 0; i < COUNT; i++) {
        struct co_p2p_send send = send_of(0, 1, i, BYTES);
        send.context = left;
        co_p2p_send(&send);
        p2p_world_settle(&world);
        assert_true(co_p2p_send_is_done(&send));
        taken[i] = co_p2p_take(right, CO_P2P_ANY, CO_P2P_ANY, &info);
        assert_non_null(taken[i]);
        assert_int_equal(info.tag, i);
    }
    co_p2p_context_close(left);
    co_p2p_context_close(right);
    for (int i = 0; i < COUNT; i += 2) {
        struct co_p2p_receive receive = receive_at(1, LARGE);
        co_p2p_receive_taken(&receive, taken[i]);
        check_received(&receive, 0, i, BYTES);
        co_p2p_drop_taken(taken[i + 1]);
    }
    p2p_world_close(&world);
}

// A sender that nobody receives from stops; answers pass all the same, and what waits comes in order afterwards.
static void flood(void **state)
{
    (void)state;
    enum { COUNT = 2000, CREDIT = 128 << 10 };
    static struct co_p2p_send sends[COUNT];
    open_world(2, 4096, CREDIT, false);
    int done = 0;
    for (int i = 0; i < COUNT; i++) {
        sends[i] = send_of(0, 1, i, 1000);
        co_p2p_send(&sends[i]);
        p2p_world_settle(&world);
    }
    for (int i = 0; i < COUNT; i++) {
        done += co_p2p_send_is_done(&sends[i]);
    }
    assert_true(done > 50 && done < 200); // the credit, and no more
    struct co_p2p_receive other = receive_at(0, LARGE);
    struct co_p2p_send back = send_of(1, 0, 1, 200000); // for which the flooding rank must answer
    co_p2p_receive(&other, 1, 1);
    co_p2p_send(&back);
    p2p_world_settle(&world);
    check_received(&other, 1, 1, 200000);
    for (int i = 0; i < COUNT; i++) {
        struct co_p2p_receive receive = receive_at(1, 1000);
        co_p2p_receive(&receive, 0, CO_P2P_ANY);
        p2p_world_settle(&world);
        assert_true(co_p2p_receive_is_done(&receive));
        assert_int_equal(receive.tag, i);
    }
    p2p_world_close(&world);
}

// What a receiver wants first may be what its sender began last, credit or not.
static void last_wanted_first(void **state)
{
    (void)state;
    enum { COUNT = 1000, CREDIT = 64 << 10 };
    static struct co_p2p_send sends[COUNT];
    for (int kind = 0; kind < 4; kind++) {
        open_world(2, 4096, CREDIT, kind & 1);
        for (int i = 0; i < COUNT; i++) {
            sends[i] = send_of(0, 1, i, 500);
            sends[i].is_synchronous = kind & 2;
            co_p2p_send(&sends[i]);
        }
        p2p_world_settle(&world);
        for (int i = COUNT - 1; i >= 0; i--) {
            struct co_p2p_receive receive = receive_at(1, 1000);
            co_p2p_receive(&receive, 0, i);
            p2p_world_settle(&world);
            check_received(&receive, 0, i, 500);
            assert_true(co_p2p_send_is_done(&sends[i]));
        }
        p2p_world_close(&world);
    }
}

// Who waits sleeps when nothing moves; a part of a stream is movement.
static void a_part_of_a_stream_is_movement(void **state)
{
    (void)state;
    open_world(2, 4096, 1 << 20, false);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    struct co_p2p_send send = send_of(0, 1, 3, LARGE);
    co_p2p_receive(&receive, 0, 3);
    co_p2p_send(&send);
    assert_int_equal(co_p2p_progress(world.ranks[1]), 1); // the offer
    while (!co_p2p_receive_is_done(&receive)) {
        assert_true(co_p2p_progress(world.ranks[0]) > 0);
        uint64_t advances = co_p2p_advances(world.ranks[1]);
        assert_true(co_p2p_progress(world.ranks[1]) > 0);
        assert_true(co_p2p_advances(world.ranks[1]) != advances);
        while (co_p2p_progress(world.ranks[1]) > 0) {
        }
    }
    check_received(&receive, 0, 3, LARGE);
    p2p_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_reading),        cmocka_unit_test(sender_sees_reading),
        cmocka_unit_test(by_asking),         cmocka_unit_test(synchronous),
        cmocka_unit_test(to_oneself),        cmocka_unit_test(probed_and_taken),
        cmocka_unit_test(taken_and_kept),    cmocka_unit_test(flood),
        cmocka_unit_test(last_wanted_first), cmocka_unit_test(a_part_of_a_stream_is_movement)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
