// SPDX-License-Identifier: BSD-3-Clause
// Packets of the channel between hosts: each sender's in order though others' are slow, a window that never grows, a
// peer that takes nothing and does not keep packets from the others, credit, calls from inside native's progress, the
// end.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "native_rig.h"

static void each_in_order(void **state)
{
    (void)state;
    for (int turn = 0, next[SIZE] = {0}; next[0] < MANY || next[1] < MANY; turn++) {
        for (int from = 0; from < 2; from++) {
            next[from] += next[from] < MANY && say(from, 2, next[from]);
        }
        fake_net.is_slow[0] = turn % 7 > 2;
        fake_net.buffered = turn % 5 == 0 ? 0 : EAGER;
        move(turn % SIZE);
        assert_true(fake_net_receives(2) <= PACKETS);
    }
    fake_net.is_slow[0] = false;
    settle();
    check_order(2, 0, MANY);
    check_order(2, 1, MANY);
}

static void nobody_keeps_all_packets(void **state)
{
    (void)state;
    int said = 0;
    settle();
    fake_net.buffered = 0;
    fake_net.is_stopped[1] = true;
    while (say(0, 1, said)) {
        said++;
        move(0);
    }
    assert_int_equal(said, PACKETS / 2);
    for (int i = 0; i < MANY; i++) { // the other one is reached meanwhile
        for (int tries = 0; !say(0, 2, i); tries++) {
            assert_true(tries < ROUNDS);
            move(0);
            move(2);
        }
    }
    assert_false(co_native_channel_is_idle(channels[0]));
    fake_net.is_stopped[1] = false;
    settle();
    assert_true(co_native_channel_is_idle(channels[0]));
    assert_true(say(0, 1, said));
    settle();
    check_order(1, 0, said + 1);
    check_order(2, 0, MANY);
}

// What is not taken stays, and nothing more is taken from native than the window holds.
static void receiver_without_memory(void **state)
{
    (void)state;
    heard[1].takes_nothing = true;
    for (int i = 0; i < 3 * PACKETS; i++) {
        while (!say(0, 1, i)) {
            move(0);
        }
        move(1);
    }
    settle();
    assert_int_equal(heard[1].count, 0);
    assert_int_equal(fake_net_receives(1), 0);
    heard[1].takes_nothing = false;
    settle();
    check_order(1, 0, 3 * PACKETS);
}

static void credit_comes_back(void **state)
{
    (void)state;
    channels[1]->ops->give_back(channels[1], 0, (1 << 17) - 1);
    settle();
    assert_int_equal(channels[0]->ops->given_back(channels[0], 1), 0); // by eighths
    channels[1]->ops->give_back(channels[1], 0, 1);
    settle();
    assert_int_equal(channels[0]->ops->given_back(channels[0], 1), 1 << 17);
    assert_int_equal(channels[2]->ops->given_back(channels[2], 1), 0);
    fake_net.is_stopped[0] = true; // no packet is free: it is told later
    fake_net.buffered = 0;
    for (int i = 0; say(1, 0, i); i++) {
    }
    channels[1]->ops->give_back(channels[1], 0, 1 << 18);
    fake_net.is_stopped[0] = false;
    settle();
    assert_int_equal(channels[0]->ops->given_back(channels[0], 1), (1 << 17) + (1 << 18));
}

// As from the native progress loop: while somebody is at it, and between turns of nobody.
static void come_back(int rank)
{
    co_native_channel_progress(channels[rank], true);
    take(rank);
    channels[rank]->ops->flush(channels[rank]);
}

static void native_comes_back(void **state)
{
    (void)state;
    fake_net.on_move = come_back;
    for (int i = 0; i < MANY; i++) {
        while (!say(0, 1, i)) {
            move(0);
        }
        channels[0]->ops->flush(channels[0]);
    }
    settle();
    check_order(1, 0, MANY);
}

// Every outer call moves native, which calls back once, in vain: packets that have left are accounted for all the same.
static void idle_though_native_comes_back(void **state)
{
    (void)state;
    settle();
    for (int shift = 0; shift < 2; shift++) {
        co_native_channel_progress(channels[0], true); // whichever of the two is even
        fake_net.on_move = come_back;
        assert_true(say(0, 1, shift));
        for (int i = 0; i < ROUNDS; i++) {
            move(0);
        }
        fake_net.on_move = NULL;
        assert_true(co_native_channel_is_idle(channels[0]));
    }
    settle();
    check_order(1, 0, 2);
}

// Rank 1 sits in the MPI below, which moves it only from inside.
static void inside_alone(void **state)
{
    (void)state;
    co_native_channel_progress(channels[1], true);
    for (int i = 0; i < MANY; i++) {
        while (!say(0, 1, i)) {
            move(0);
            co_native_channel_progress(channels[1], true);
            take(1);
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        move(0);
        co_native_channel_progress(channels[1], true);
        take(1);
    }
    check_order(1, 0, MANY);
}

// The packets that native still has are left to it.
static void ends_in_the_middle(void **state)
{
    (void)state;
    settle();
    fake_net.buffered = 0;
    fake_net.is_stopped[1] = true;
    assert_true(say(0, 1, 0));
    move(0);
    static unsigned char room[LARGE];
    assert_true(channels[2]->ops->expect(channels[2], 0, room, LARGE, room) > 0);
    move(2);
    close_channels(NULL);
    assert_int_equal(fake_net.abandoned, 1);
    assert_int_equal(fake_net.cancelled, SIZE * PACKETS + 1);
}

static void packets_that_are_not_what_they_say(void **state)
{
    static unsigned char bytes[101];
    (void)state;
    for (unsigned said = 99; said <= 101; said += 2) {
        struct co_packet packet = {.context = 77, .tag = 0, .bytes = said, .kind = CO_PACKET_EAGER};
        assert_true(channels[0]->ops->send(channels[0], 1, &packet, bytes, 100, NULL, 0));
    }
    struct co_packet none = {.context = 77, .bytes = 100, .kind = CO_PACKET_BROKEN}; // as of a ring
    assert_true(channels[0]->ops->send(channels[0], 1, &none, bytes, 100, NULL, 0));
    settle();
    assert_int_equal(heard[1].count, 0);
    assert_true(say(0, 1, 0)); // they keep nobody
    settle();
    check_order(1, 0, 1);
}

static void too_little_memory(void **state)
{
    (void)state;
    fake_net_open(SIZE);
    struct co_native_channel_config config = {
        .native = fake_native(0), .size = SIZE, .memory = 4 * EAGER, .eager = EAGER, .credit = 1 << 20};
    assert_int_equal(co_native_channel_open(&channels[0], &config), -ENOSPC);
    config.memory = 16 * EAGER;
    assert_int_equal(co_native_channel_open(&channels[0], &config), 0);
    assert_true(co_native_channel_bytes(channels[0]) >= 8 * EAGER);
    channels[0]->ops->close(channels[0]);
    fake_net_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_in_order, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(nobody_keeps_all_packets, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(receiver_without_memory, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(credit_comes_back, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(native_comes_back, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(idle_though_native_comes_back, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(inside_alone, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(packets_that_are_not_what_they_say, open_channels, close_channels),
        cmocka_unit_test_setup(ends_in_the_middle, open_channels),
        cmocka_unit_test(too_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
