// SPDX-License-Identifier: BSD-3-Clause
// Transfers of the channel between hosts: in parts, more of them than there are places, owners that go; and failures of
// either kind.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "native_rig.h"

static unsigned char payload[LARGE], room[SIZE][LARGE];

static void check_end(int rank, void *owner, int peer, bool was_expected, int result)
{
    struct co_channel_end end;
    assert_true(channels[rank]->ops->next_end(channels[rank], &end));
    assert_ptr_equal(end.owner, owner);
    assert_int_equal(end.peer, peer);
    assert_int_equal(end.was_expected, was_expected);
    assert_int_equal(end.result, result);
}

static void check_no_end(int rank)
{
    struct co_channel_end end;
    assert_false(channels[rank]->ops->next_end(channels[rank], &end));
}

static void fill_payload(void)
{
    for (size_t i = 0; i < LARGE; i++) {
        payload[i] = byte_of(5, 6, i);
    }
    memset(room, 0, sizeof(room));
}

static void transfers_in_parts(void **state)
{
    (void)state;
    fill_payload();
    uint32_t number = channels[1]->ops->expect(channels[1], 0, room[1], LARGE - 1, &room[1]);
    assert_true(number > 0);
    assert_true(channels[0]->ops->transfer(channels[0], 1, payload, LARGE - 1, number, &payload));
    uint64_t before = co_native_channel_advances(channels[1]);
    assert_false(co_native_channel_is_idle(channels[1])); // who waits for it must not sleep
    settle();
    assert_true(co_native_channel_is_idle(channels[1]));
    assert_int_equal(co_native_channel_advances(channels[1]) - before, (LARGE - 2) / 4096 + 1);
    check_end(1, &room[1], 0, true, 0);
    check_end(0, &payload, 1, false, 0);
    check_no_end(0);
    check_no_end(1);
    assert_memory_equal(room[1], payload, LARGE - 1);
    assert_int_equal(room[1][LARGE - 1], 0);
}

static int open_in_parts(void **state)
{
    (void)state;
    open_with(1 << 20, 4096);
    return 0;
}

static void transfers_are_bounded(void **state)
{
    (void)state;
    uint32_t numbers[TRANSFERS];
    fill_payload();
    for (int i = 0; i < TRANSFERS; i++) {
        numbers[i] = channels[1]->ops->expect(channels[1], 0, &room[1][i], 1, &room[1][i]);
        assert_true(numbers[i] > 0);
    }
    assert_int_equal(channels[1]->ops->expect(channels[1], 0, &room[1][TRANSFERS], 1, &room[1]), 0);
    for (int i = TRANSFERS; i-- > 0;) {
        assert_true(channels[0]->ops->transfer(channels[0], 1, &payload[i], 1, numbers[i], &payload[i]));
    }
    assert_false(channels[0]->ops->transfer(channels[0], 1, payload, 1, 1, &payload));
    assert_true(
        channels[1]->ops->transfer(channels[1], 2, payload, 1, 1, &payload)); // the other direction has places left
    settle();
    assert_memory_equal(room[1], payload, TRANSFERS);
    struct co_channel_end end;
    int expected = 0;
    for (int i = 0; i < TRANSFERS; i++) {
        assert_true(channels[0]->ops->next_end(channels[0], &end) && !end.was_expected && end.result == 0);
    }
    check_no_end(0);
    while (channels[1]->ops->next_end(channels[1], &end)) {
        assert_int_equal(end.result, 0);
        expected += end.was_expected;
    }
    assert_int_equal(expected, TRANSFERS);
    assert_true(channels[1]->ops->expect(channels[1], 0, &room[1][TRANSFERS], 1, &room[1]) > 0);
    channels[1]->ops->forget(channels[1], 0);
    channels[1]->ops->forget(channels[1], 2);
    settle();
}

static void check_lost(int rank, int peer)
{
    check_end(rank, NULL, peer, false, -ECONNRESET);
    check_no_end(rank);
}

static void sends_fail(void **state)
{
    (void)state;
    fake_net.refuses[1] = true;
    assert_true(say(0, 1, 0));
    assert_true(say(0, 1, 1));
    settle();
    check_lost(0, 1);
    fake_net.refuses[1] = false;
    fake_net.breaks[2] = true; // only seen when it is over
    assert_true(say(0, 2, 0));
    settle();
    check_lost(0, 2);
    assert_true(channels[0]->ops->transfer(channels[0], 2, payload, LARGE, 1, &payload));
    settle();
    check_end(0, &payload, 2, false, -EIO);
}

static void receives_fail(void **state)
{
    (void)state;
    assert_true(say(0, 1, 0));
    settle();
    assert_int_equal(heard[1].count, 1);
    uint32_t number = channels[1]->ops->expect(channels[1], 0, room[1], LARGE, &room[1]);
    assert_true(channels[0]->ops->transfer(channels[0], 1, payload, LARGE / 2, number, &payload)); // less than expected
    settle();
    check_end(1, &room[1], 0, true, -EIO);
    fake_net.breaks_receives[1] = true;
    assert_true(say(0, 1, 1));
    settle();
    for (int peer = 0; peer < SIZE; peer++) { // it hears nobody any more
        struct co_channel_end end;
        assert_true(channels[1]->ops->next_end(channels[1], &end));
        assert_true(end.owner == NULL && end.peer == peer && end.result < 0);
    }
    check_no_end(1);
    assert_int_equal(heard[1].count, 1);
}

// The memory of an owner that is gone is not written any more, and its place is free again.
static void owners_go(void **state)
{
    (void)state;
    fill_payload();
    uint32_t number = channels[1]->ops->expect(channels[1], 0, room[1], LARGE, &room[1]);
    uint32_t other = channels[1]->ops->expect(channels[1], 2, room[2], LARGE, &room[2]);
    settle();
    channels[1]->ops->forget(channels[1], 0);
    settle();
    assert_int_equal(fake_net.cancelled, 1);
    assert_true(channels[0]->ops->transfer(channels[0], 1, payload, LARGE, number, &payload));
    assert_true(channels[2]->ops->transfer(channels[2], 1, payload, LARGE, other, &payload));
    settle();
    assert_int_equal(room[1][0], 0);
    assert_memory_equal(room[2], payload, LARGE);
    check_end(1, &room[2], 2, true, 0);
    check_no_end(1);
    for (int i = 0; i < TRANSFERS; i++) {
        assert_true(channels[1]->ops->expect(channels[1], 0, &room[1][i], 1, &room[1][i]) > 0);
    }
    channels[1]->ops->forget(channels[1], 0);
    channels[0]->ops->forget(channels[0], 1);
    settle();
}

// A message has the receive, and its sender is dead: nothing waits for it, others' messages go on, and those who wait
// may sleep. Its place is free again once native has done with it, and no further part is received.
static void owners_go_in_the_middle(void **state)
{
    (void)state;
    fill_payload();
    fake_net.buffered = 0;
    fake_net.is_slow[0] = true;
    uint32_t number = channels[1]->ops->expect(channels[1], 0, room[1], LARGE, &room[1]);
    assert_true(channels[0]->ops->transfer(channels[0], 1, payload, LARGE, number, &payload));
    settle();
    channels[1]->ops->forget(channels[1], 0);
    settle();
    assert_int_equal(fake_net.cancelled, 0);
    assert_true(co_native_channel_is_idle(channels[1]));
    check_no_end(1);
    channels[1]->ops->forget(channels[1], 0); // once more
    uint32_t other = channels[1]->ops->expect(channels[1], 2, room[2], LARGE, &room[2]);
    assert_int_not_equal(other, number);
    assert_true(channels[2]->ops->transfer(channels[2], 1, payload, LARGE, other, &payload));
    settle();
    assert_memory_equal(room[2], payload, LARGE);
    check_end(1, &room[2], 2, true, 0);
    fake_net.is_slow[0] = false; // it was not dead
    settle();
    check_no_end(1);
    assert_true(co_native_channel_is_idle(channels[1]));
    assert_memory_equal(room[1], payload, 4096); // the part that was on its way
    assert_int_equal(room[1][4096], 0);
    for (int i = 0; i < TRANSFERS; i++) {
        assert_true(channels[1]->ops->expect(channels[1], 2, &room[1][i], 1, &room[1][i]) > 0);
    }
    channels[1]->ops->forget(channels[1], 2);
    channels[0]->ops->forget(channels[0], 1);
    settle();
}

// ... and is still dead at the end: the receive is left to native.
static void the_end_in_the_middle(void **state)
{
    (void)state;
    fake_net.is_slow[0] = true;
    uint32_t number = channels[1]->ops->expect(channels[1], 0, room[1], LARGE, &room[1]);
    assert_true(channels[0]->ops->transfer(channels[0], 1, payload, LARGE, number, &payload));
    assert_true(say(0, 2, 0)); // a packet, too
    settle();
    channels[1]->ops->forget(channels[1], 0);
    settle();
    close_channels(NULL);
    assert_int_equal(fake_net.abandoned, 3); // the payload at both ends, the packet where it goes
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(transfers_in_parts, open_in_parts, close_channels),
        cmocka_unit_test_setup_teardown(transfers_are_bounded, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(sends_fail, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(receives_fail, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(owners_go, open_channels, close_channels),
        cmocka_unit_test_setup_teardown(owners_go_in_the_middle, open_in_parts, close_channels),
        cmocka_unit_test_setup(the_end_in_the_middle, open_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
