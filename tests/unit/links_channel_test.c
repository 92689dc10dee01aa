// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point over connections: bodies are read once where they lie, go in pieces where memory cannot be registered,
// wait for a connection, and end with an error, on both sides, when the connection is lost.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/channel/links_channel.h"
#include "fake_links.h"
#include "p2p_letters.h"

enum { MANY = 100 };

static int open_hosts(void **state)
{
    (void)state;
    struct p2p_world_options options = {.size = 2,
                                        .eager_most = 4096,
                                        .carried_eager_most = 4096,
                                        .credit = 1 << 20,
                                        .matcher = {64, 64, 16},
                                        .node_ranks = 1,
                                        .has_links = true};
    p2p_world_open(&world, &options);
    for (size_t i = 0; i < LARGE; i++) {
        sent[i] = (unsigned char)(i * 13 + i / 251);
    }
    memset(received, 0xee, LARGE);
    return 0;
}

static int close_hosts(void **state)
{
    (void)state;
    p2p_world_close(&world); // no memory is lent any more
    return 0;
}

static void check_large_arrives(size_t bytes)
{
    struct co_p2p_send send = send_of(0, 1, 7, bytes);
    struct co_p2p_receive receive = receive_at(1, bytes);
    co_p2p_receive(&receive, 0, 7);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_true(co_p2p_send_is_done(&send));
    assert_int_equal(send.result, 0);
    check_received(&receive, 0, 7, bytes);
    assert_true(co_links_channel_is_idle(world.carriers[0]) && co_links_channel_is_idle(world.carriers[1]));
}

static void a_large_message_is_read_once(void **state)
{
    (void)state;
    check_large_arrives(LARGE - 1);
    assert_int_equal(fake_links_net.reads, 1);
    assert_int_equal(fake_links_net.lent, 1);
    assert_true(fake_links_net.frames <= 4); // request, clearance, offer, taken
}

static void what_cannot_be_lent_goes_in_pieces(void **state)
{
    (void)state;
    fake_links_net.refuses_lending[0] = 2;
    check_large_arrives(100000);
    assert_int_equal(fake_links_net.reads, 0);
    assert_true(fake_links_net.frames > 100000 / FAKE_FRAME_BYTES);
}

static void what_cannot_be_read_goes_in_pieces(void **state)
{
    (void)state;
    fake_links_net.refuses_reading[1] = 2;
    check_large_arrives(100000);
    assert_int_equal(fake_links_net.reads, 0);
    assert_int_equal(fake_links_net.lent, 1);
}

static void messages_wait_for_their_connection(void **state)
{
    (void)state;
    fake_links_net.polls_to_connect = 10;
    static struct co_p2p_send sends[MANY];
    for (int i = 0; i < MANY; i++) {
        sends[i] = send_of(0, 1, i, 64);
        co_p2p_send(&sends[i]);
    }
    assert_int_equal(fake_links_net.frames, 0);
    for (int i = 0; i < MANY; i++) { // in order
        struct co_p2p_receive receive = receive_at(1, 64);
        co_p2p_receive(&receive, CO_P2P_ANY, CO_P2P_ANY);
        p2p_world_settle(&world);
        check_received(&receive, 0, i, 64);
    }
}

static void both_sides_learn_of_a_lost_connection(void **state)
{
    (void)state;
    fake_links_net.holds_reads[1] = true;
    struct co_p2p_send send = send_of(0, 1, 7, LARGE);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 7);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_false(co_p2p_send_is_done(&send) || co_p2p_receive_is_done(&receive));
    fake_links_break(0, 1);
    p2p_world_settle(&world);
    assert_true(co_p2p_send_is_done(&send) && send.result == -ECONNRESET);
    assert_true(co_p2p_receive_is_done(&receive) && receive.result == -ECONNRESET);
    struct co_p2p_send later = send_of(0, 1, 7, LARGE);
    co_p2p_send(&later);
    assert_true(co_p2p_send_is_done(&later) && later.result == -ECONNRESET);
}

// The peer is known to be gone, and its read is given up: nothing is written from then on.
static void nothing_is_written_for_who_was_given_up(void **state)
{
    (void)state;
    fake_links_net.holds_reads[1] = true;
    struct co_p2p_send send = send_of(0, 1, 7, LARGE);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 7);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_int_equal(fake_links_net.reads, 1);
    co_p2p_lose(world.ranks[1], 0);
    assert_true(co_p2p_receive_is_done(&receive) && receive.result == -ECONNRESET);
    fake_links_net.holds_reads[1] = false;
    p2p_world_settle(&world);
    assert_int_equal(received[0], 0xee);
    assert_true(co_p2p_send_is_done(&send) && send.result == -ECONNRESET);
}

static void a_device_that_is_taken_away_is_given_back_and_ends_everything(void **state)
{
    (void)state;
    fake_links_net.holds_reads[1] = true;
    struct co_p2p_send send = send_of(0, 1, 7, LARGE);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 7);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    co_links_channel_let_go(world.carriers[1]);
    assert_false(fake_links_has_let_go(1)); // whoever polls does it
    p2p_world_settle(&world);
    assert_true(fake_links_has_let_go(1) && !fake_links_has_let_go(0));
    assert_true(co_p2p_receive_is_done(&receive) && receive.result == -ECONNRESET);
    assert_true(co_p2p_send_is_done(&send) && send.result == -ECONNRESET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_large_message_is_read_once, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(what_cannot_be_lent_goes_in_pieces, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_goes_in_pieces, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(messages_wait_for_their_connection, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(both_sides_learn_of_a_lost_connection, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(a_device_that_is_taken_away_is_given_back_and_ends_everything, open_hosts,
                                        close_hosts),
        cmocka_unit_test_setup_teardown(nothing_is_written_for_who_was_given_up, open_hosts, close_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
