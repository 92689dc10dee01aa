// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces that come before a receive asks for them are left in the ring for a turn: a receive that is next has them
// straight from there, and what is behind them is not held up for longer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p/p2p_state.h"
#include "p2p_streams.h"

enum { BYTES = 20000, SHORT = 8 };

static struct co_p2p_send long_one, behind_it;
static struct co_p2p_receive receives[2]; // of both

static bool has_more(void)
{
    const struct co_p2p_peer *from = &world.ranks[1]->peers[0];
    return from->channel->ops->has_more(from->channel, from->number);
}

// One whose receive is not there, and one behind it whose receive waits; after the turn in which they are found.
static void send_both(void)
{
    long_one = send_of(0, 1, 0, BYTES);
    behind_it = send_of(0, 1, 1, SHORT);
    receives[0] = receive_at(1, BYTES);
    receives[1] = receive_at(1, SHORT);
    co_p2p_send(&long_one);
    co_p2p_send(&behind_it);
    co_p2p_receive(&receives[1], 0, 1);
    co_p2p_progress(world.ranks[1]);
    assert_true(long_one.is_in_pieces);
    assert_true(has_more());
    assert_int_equal(world.ranks[1]->peers[0].pieces, 0);
}

static void begin(void)
{
    open_streams(2, 1 << 20);
    send_both();
}

static void end(void)
{
    p2p_world_settle(&world);
    assert_false(has_more());
    assert_true(co_p2p_send_is_done(&long_one) && co_p2p_send_is_done(&behind_it));
    close_streams(false);
}

static void a_receive_has_them_from_the_ring(void **state)
{
    (void)state;
    begin();
    receives[1].buffer = received + BYTES; // not where the other one goes
    co_p2p_receive(&receives[0], 0, 0);
    assert_int_equal(receives[0].done_bytes, 0); // nothing was kept
    co_p2p_progress(world.ranks[1]);
    assert_true(co_p2p_receive_is_done(&receives[0]) && co_p2p_receive_is_done(&receives[1]));
    assert_memory_equal(received, sent, BYTES);
    assert_memory_equal(received + BYTES, sent, SHORT);
    end();
}

static void what_is_behind_them_waits_for_a_turn(void **state)
{
    (void)state;
    begin();
    assert_false(co_p2p_receive_is_done(&receives[1]));
    co_p2p_progress(world.ranks[1]);
    check_received(&receives[1], 0, 1, SHORT);
    co_p2p_receive(&receives[0], 0, 0);
    assert_int_equal(receives[0].done_bytes, BYTES); // all of them were kept
    check_received(&receives[0], 0, 0, BYTES);
    end();
}

// The turn in which its RTS was found had no look at the pieces.
static void of_a_peer_that_is_lost_all_are_taken(void **state)
{
    enum { OTHERS = 15 }; // with the RTS all that a turn takes
    struct co_p2p_send others[OTHERS];
    (void)state;
    open_streams(2, 1 << 20);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = send_of(0, 1, 2, SHORT);
        co_p2p_send(&others[i]);
    }
    send_both();
    co_p2p_lose(world.ranks[1], 0);
    check_received(&receives[1], 0, 1, SHORT);
    co_p2p_receive(&receives[0], 0, 0);
    check_received(&receives[0], 0, 0, BYTES);
    p2p_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_has_them_from_the_ring),
        cmocka_unit_test(what_is_behind_them_waits_for_a_turn),
        cmocka_unit_test(of_a_peer_that_is_lost_all_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
