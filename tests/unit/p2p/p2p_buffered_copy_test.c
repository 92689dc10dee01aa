// SPDX-License-Identifier: BSD-3-Clause
//
// Small messages that cannot be sent at once, for want of credit or because nothing is: their sends end from a copy,
// the program's buffer may be used again, their order stays, and all copies together stay within their bound.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "p2p_tap.h"
#include "p2p_world.h"

enum { BYTES = 1000, COUNT = 60, COST = 256 };

static struct p2p_world world;
static struct co_p2p_send sends[COUNT];
static unsigned char outgoing[BYTES], incoming[2 * BYTES];

static bool is_full; // the channel

static void see_nothing(int rank, int peer, const struct co_packet *packet)
{
    (void)rank;
    (void)peer;
    (void)packet;
}

static bool has_room(void)
{
    return !is_full;
}

static int all_at_once(int most)
{
    return most;
}

static void open_world(size_t eager_most, size_t credit, size_t buffered_most, bool may_read)
{
    struct p2p_world_options options = {.size = 2,
                                        .eager_most = eager_most,
                                        .credit = credit,
                                        .buffered_most = buffered_most,
                                        .may_read = may_read,
                                        .wrap = p2p_tap_put,
                                        .matcher = {64, 64, 16}};
    p2p_tap_hooks = (struct p2p_tap_hooks){see_nothing, has_room, all_at_once};
    p2p_world_open(&world, &options);
}

static unsigned char byte_of(int number, int place)
{
    return (unsigned char)(number * 7 + place);
}

// The buffer is used again after each.
static void send_one(int number, size_t bytes, bool is_synchronous)
{
    for (int i = 0; i < BYTES; i++) {
        outgoing[i] = byte_of(number, i);
    }
    sends[number] = (struct co_p2p_send){.context = world.contexts[0],
                                         .data = outgoing,
                                         .bytes = bytes,
                                         .destination = 1,
                                         .tag = 5,
                                         .is_synchronous = is_synchronous};
    co_p2p_send(&sends[number]);
    p2p_world_settle(&world);
}

static void receive_one(int number, size_t bytes)
{
    memset(incoming, 0xee, sizeof(incoming));
    struct co_p2p_receive receive = {.context = world.contexts[1], .buffer = incoming, .room = sizeof(incoming)};
    co_p2p_receive(&receive, 0, 5);
    p2p_world_settle(&world);
    assert_true(co_p2p_receive_is_done(&receive));
    assert_int_equal(receive.result, 0);
    assert_int_equal(receive.bytes, bytes);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(incoming[i], byte_of(number, (int)i));
    }
    assert_int_equal(incoming[bytes], 0xee);
}

static void sends_end_without_credit(bool may_read, size_t eager_most, size_t bytes)
{
    open_world(eager_most, 64 << 10, 1 << 20, may_read);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            send_one(i, bytes, false);
            assert_true(co_p2p_send_is_done(&sends[i]));
            assert_int_equal(sends[i].result, 0);
        }
        assert_false(co_p2p_context_is_busy(world.contexts[0]));
        for (int i = 0; i < COUNT; i++) {
            receive_one(i, bytes);
        }
    }
    p2p_world_close(&world);
}

static void without_credit(void **state)
{
    (void)state;
    sends_end_without_credit(true, 4096, BYTES * 9 / 10); // in part beyond it
    sends_end_without_credit(false, 4096, BYTES);
}

static void where_nothing_is_sent_at_once(void **state)
{
    (void)state;
    sends_end_without_credit(true, 0, BYTES);
    sends_end_without_credit(false, 0, BYTES);
    sends_end_without_credit(false, 0, 1);
    sends_end_without_credit(false, 16, 0);
}

static void copies_are_bounded(void **state)
{
    (void)state;
    enum { KEPT = 10 };
    uint64_t before = co_counter_read(CO_COUNT_BUFFERED_HIGH);
    open_world(0, 64 << 10, KEPT * (COST + BYTES) + BYTES, true);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEPT; i++) {
            send_one(i, BYTES, false);
            assert_true(co_p2p_send_is_done(&sends[i]));
        }
        send_one(KEPT, BYTES, false); // from its own buffer, which stays as it is
        assert_false(co_p2p_send_is_done(&sends[KEPT]));
        assert_true(co_p2p_context_is_busy(world.contexts[0]));
        for (int i = 0; i <= KEPT; i++) {
            receive_one(i, BYTES);
        }
        assert_true(co_p2p_send_is_done(&sends[KEPT]));
    }
    p2p_world_close(&world);
    assert_int_equal(co_counter_read(CO_COUNT_BUFFERED_HIGH),
                     KEPT * (COST + BYTES) > before ? KEPT * (COST + BYTES) : before);
}

static void large_and_synchronous_ones_wait(void **state)
{
    static unsigned char large[5000];
    (void)state;
    open_world(0, 64 << 10, 1 << 20, true);
    send_one(0, BYTES, true);
    assert_false(co_p2p_send_is_done(&sends[0]));
    struct co_p2p_send send = {
        .context = world.contexts[0], .data = large, .bytes = sizeof(large), .destination = 1, .tag = 6};
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_false(co_p2p_send_is_done(&send));
    receive_one(0, BYTES);
    assert_true(co_p2p_send_is_done(&sends[0]));
    struct co_p2p_receive receive = {.context = world.contexts[1], .buffer = large, .room = sizeof(large)};
    co_p2p_receive(&receive, 0, 6);
    p2p_world_settle(&world);
    assert_true(co_p2p_send_is_done(&send));
    p2p_world_close(&world);
}

// The copy is made once, and is gone when the message goes in another way.
static void while_the_channel_is_full(void **state)
{
    (void)state;
    for (int end = 0; end < 3; end++) {
        open_world(end == 0 ? 4096 : 0, 64 << 10, COST + BYTES, true);
        is_full = true;
        send_one(0, BYTES, false);
        assert_false(co_p2p_send_is_done(&sends[0]));
        p2p_world_settle(&world);
        if (end == 2) {
            co_p2p_lose(world.ranks[0], 1);
            assert_true(co_p2p_send_is_done(&sends[0]));
            assert_int_equal(sends[0].result, -ECONNRESET);
        } else {
            is_full = false;
            p2p_world_settle(&world);
            assert_true(co_p2p_send_is_done(&sends[0]));
            receive_one(0, BYTES);
            send_one(1, BYTES, false); // there is room for it
            assert_true(co_p2p_send_is_done(&sends[1]));
            receive_one(1, BYTES);
        }
        is_full = false;
        p2p_world_close(&world);
    }
}

// The receiver is gone, or never receives: nothing is left behind, and no end waits for them.
static void nobody_receives_them(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        open_world(0, 64 << 10, COST + BYTES, true);
        send_one(0, BYTES, false);
        assert_true(co_p2p_send_is_done(&sends[0]));
        assert_false(co_p2p_context_is_busy(world.contexts[0]));
        if (end == 1) {
            co_p2p_lose(world.ranks[0], 1);
            send_one(1, BYTES, false);
            assert_int_equal(sends[1].result, -ECONNRESET);
        }
        p2p_world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_credit),
        cmocka_unit_test(where_nothing_is_sent_at_once),
        cmocka_unit_test(copies_are_bounded),
        cmocka_unit_test(large_and_synchronous_ones_wait),
        cmocka_unit_test(while_the_channel_is_full),
        cmocka_unit_test(nobody_receives_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
