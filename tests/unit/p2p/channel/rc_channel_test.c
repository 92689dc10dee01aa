// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point over connections: payloads are read once where they lie, go in pieces where memory cannot be
// registered, wait for a connection, and end with an error, on both sides, when the connection is lost. What is not
// what it says it is, or comes from somebody else, is left out.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p/channel/rc_channel_state.h"
#include "fake_rc.h"
#include "p2p_letters.h"

enum { MANY = 100 };

static int open_hosts(void **state)
{
    (void)state;
    struct p2p_world_options options = {.size = 3,
                                        .eager_most = 4096,
                                        .remote_eager_most = 4096,
                                        .credit = 1 << 20,
                                        .matcher = {64, 64, 16},
                                        .node_ranks = 1,
                                        .has_rc = true};
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
    p2p_world_close(&world); // no memory is exported any more
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
    assert_true(co_rc_channel_is_idle(world.remote_channels[0]) && co_rc_channel_is_idle(world.remote_channels[1]));
}

static void a_large_message_is_read_once(void **state)
{
    (void)state;
    check_large_arrives(LARGE - 1);
    assert_int_equal(fake_rc_net.reads, 1);
    assert_int_equal(fake_rc_net.exported, 1);
    assert_true(fake_rc_net.packets <= 4); // request, clearance, offer, taken
}

static void what_cannot_be_exported_goes_in_pieces(void **state)
{
    (void)state;
    fake_rc_net.refuses_export[0] = 2;
    check_large_arrives(100000);
    assert_int_equal(fake_rc_net.reads, 0);
    assert_true(fake_rc_net.packets > 100000 / FAKE_PACKET_BYTES);
}

static void what_cannot_be_read_goes_in_pieces(void **state)
{
    (void)state;
    fake_rc_net.refuses_reading[1] = 2;
    check_large_arrives(100000);
    assert_int_equal(fake_rc_net.reads, 0);
    assert_int_equal(fake_rc_net.exported, 1);
}

static void messages_wait_for_their_connection(void **state)
{
    (void)state;
    fake_rc_net.polls_to_connect = 10;
    static struct co_p2p_send sends[MANY];
    for (int i = 0; i < MANY; i++) {
        sends[i] = send_of(0, 1, i, 64);
        co_p2p_send(&sends[i]);
    }
    assert_int_equal(fake_rc_net.packets, 0);
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
    fake_rc_net.holds_reads[1] = true;
    struct co_p2p_send send = send_of(0, 1, 7, LARGE);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 7);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_false(co_p2p_send_is_done(&send) || co_p2p_receive_is_done(&receive));
    fake_rc_break(0, 1);
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
    fake_rc_net.holds_reads[1] = true;
    struct co_p2p_send send = send_of(0, 1, 7, LARGE);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 7);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    assert_int_equal(fake_rc_net.reads, 1);
    co_p2p_lose(world.ranks[1], 0);
    assert_true(co_p2p_receive_is_done(&receive) && receive.result == -ECONNRESET);
    fake_rc_net.holds_reads[1] = false;
    p2p_world_settle(&world);
    assert_int_equal(received[0], 0xee);
    assert_true(co_p2p_send_is_done(&send) && send.result == -ECONNRESET);
}

static void a_device_that_is_taken_away_is_given_back_and_ends_everything(void **state)
{
    (void)state;
    fake_rc_net.holds_reads[1] = true;
    struct co_p2p_send send = send_of(0, 1, 7, LARGE);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    co_p2p_receive(&receive, 0, 7);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    co_rc_channel_let_go(world.remote_channels[1]);
    assert_false(fake_rc_has_let_go(1)); // whoever polls does it
    p2p_world_settle(&world);
    assert_true(fake_rc_has_let_go(1) && !fake_rc_has_let_go(0));
    assert_true(co_p2p_receive_is_done(&receive) && receive.result == -ECONNRESET);
    assert_true(co_p2p_send_is_done(&send) && send.result == -ECONNRESET);
}

static bool refuse(void *arg, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    (void)arg, (void)peer, (void)packet, (void)payload;
    fail_msg("this is for the channel, or for nobody");
    return true;
}

// To rank 1, which hears it at once, without its engine.
static void tell(int from, unsigned kind, const void *words, size_t words_bytes, const void *rest, size_t rest_bytes)
{
    assert_true(co_rc_channel_send(co_rc_channel_of(world.remote_channels[from]), 1, kind, words, words_bytes, rest,
                                   rest_bytes));
    world.remote_channels[1]->ops->poll(world.remote_channels[1], CO_RC_PENDING, refuse, NULL);
}

static void tell_piece(int from, uint32_t number, bool is_last, size_t bytes)
{
    struct co_rc_piece piece = {number, is_last};
    tell(from, CO_RC_PACKET_PIECE, &piece, sizeof piece, sent, bytes);
}

static void payloads_that_are_not_what_was_expected(void **state)
{
    enum { BYTES = 100 };
    static const struct {
        size_t bytes;
        bool is_last;
    } wrong[] = {{BYTES + 1, true}, {BYTES + 1, false}, {BYTES - 1, true}, {BYTES, false}};
    enum { WRONG = sizeof wrong / sizeof *wrong };
    (void)state;
    struct co_channel *channel = world.remote_channels[1];
    struct co_channel_end over;
    for (int way = 0; way <= WRONG; way++) {
        uint32_t number = channel->ops->expect(channel, 0, received, BYTES, received);
        struct co_rc_read_offer offer = {.bytes = BYTES, .number = number};
        assert_true(number != 0);
        tell_piece(2, number, true, BYTES); // somebody else's
        tell_piece(0, number + 1, true, BYTES);
        tell_piece(0, UINT32_MAX, true, BYTES);
        tell(2, CO_RC_PACKET_READ_OFFER, &offer, sizeof offer, NULL, 0);
        tell(0, CO_RC_PACKET_READ_OFFER, &offer, sizeof offer - 1, NULL, 0);
        tell(0, CO_RC_PACKET_PIECE, &offer, sizeof(struct co_rc_piece) - 1, NULL, 0);
        assert_false(channel->ops->next_end(channel, &over));
        if (way < WRONG) {
            tell_piece(0, number, wrong[way].is_last, wrong[way].bytes);
        } else {
            offer.bytes = BYTES + 1;
            tell(0, CO_RC_PACKET_READ_OFFER, &offer, sizeof offer, NULL, 0);
        }
        assert_true(channel->ops->next_end(channel, &over));
        assert_true(over.owner == received && over.was_expected && over.result == -EPROTO);
        assert_int_equal(received[0], 0xee);
    }
    assert_int_equal(fake_rc_net.reads, 0);
}

static void packets_that_are_not_as_long_as_they_say(void **state)
{
    (void)state;
    struct co_channel *channel = world.remote_channels[0];
    struct co_packet packet = {.context = 1, .tag = 7, .kind = CO_PACKET_EAGER};
    for (unsigned bytes = 99; bytes <= 101; bytes += 2) {
        packet.bytes = bytes;
        assert_true(channel->ops->send(channel, 1, &packet, sent, 100, NULL, 0));
        world.remote_channels[1]->ops->poll(world.remote_channels[1], CO_RC_PENDING, refuse, NULL);
    }
    check_large_arrives(100000);
}

// As a ring would be said to be broken, which would give the peer up.
static void a_packet_of_no_kind(void **state)
{
    (void)state;
    tell(0, CO_PACKET_BROKEN, sent, 100, NULL, 0);
    check_large_arrives(100000);
}

// It has ended without a word: by its connection alone somebody who asks finds out.
static void who_waits_asks_the_connection(void **state)
{
    (void)state;
    struct co_p2p_receive lost = receive_at(0, LARGE), other = receive_at(0, LARGE);
    const int both[] = {1, 2};
    co_p2p_receive(&lost, 1, 7);
    co_p2p_receive(&other, 2, 7);
    co_p2p_query(world.ranks[0], both, 2);
    p2p_world_settle(&world);
    assert_int_equal(fake_rc_net.queries, 2);
    assert_false(co_p2p_receive_is_done(&lost));
    fake_rc_net.is_dead[1] = true;
    p2p_world_settle(&world);
    assert_false(co_p2p_receive_is_done(&lost)); // nobody has asked
    co_p2p_query(world.ranks[0], both, 2);
    p2p_world_settle(&world);
    assert_true(co_p2p_receive_is_done(&lost));
    assert_int_equal(lost.result, -ECONNRESET);
    assert_false(co_p2p_receive_is_done(&other));
    unsigned queries = fake_rc_net.queries;
    co_p2p_query(world.ranks[0], both, 2); // of the dead one no more
    assert_int_equal(fake_rc_net.queries, queries + 1);
    assert_true(co_p2p_cancel(&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_large_message_is_read_once, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(what_cannot_be_exported_goes_in_pieces, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_goes_in_pieces, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(messages_wait_for_their_connection, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(both_sides_learn_of_a_lost_connection, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(a_device_that_is_taken_away_is_given_back_and_ends_everything, open_hosts,
                                        close_hosts),
        cmocka_unit_test_setup_teardown(who_waits_asks_the_connection, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(nothing_is_written_for_who_was_given_up, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(payloads_that_are_not_what_was_expected, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(packets_that_are_not_as_long_as_they_say, open_hosts, close_hosts),
        cmocka_unit_test_setup_teardown(a_packet_of_no_kind, open_hosts, close_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
