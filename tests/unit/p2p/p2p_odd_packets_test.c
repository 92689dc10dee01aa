// SPDX-License-Identifier: BSD-3-Clause
//
// Packets that no peer of this library sends, as from a process whose memory is damaged: messages that contradict
// themselves, more bytes than were announced, answers to others' messages, others' names. Nothing comes of them, and
// the messages around them arrive.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_streams.h"

enum { CREDIT = 1 << 20, TAG = 7 };

// Past all that the sender's own side would have made of it.
static void say_as(int source, int from, int to, unsigned kind, uint64_t context, const void *payload, size_t bytes)
{
    struct co_packet packet = {
        .context = context, .source = source, .tag = TAG, .bytes = (uint32_t)bytes, .kind = (enum co_packet_kind)kind};
    struct co_channel *channel = world.channels[from];
    assert_true(channel->ops->send(channel, to, &packet, payload, bytes, NULL, 0));
    streams_move(to);
}

static void say(int from, int to, unsigned kind, uint64_t context, const void *payload, size_t bytes)
{
    say_as(from, from, to, kind, context, payload, bytes);
}

static void say_message(unsigned kind, const void *payload, size_t bytes)
{
    say(0, 1, kind, 1, payload, bytes); // of communicator 1
}

static void nothing_was_taken(const struct co_p2p_receive *receive)
{
    assert_false(co_p2p_receive_is_done(receive));
    assert_int_equal(received[0], 0xee);
}

static void messages_that_contradict_themselves(void **state)
{
    (void)state;
    open_streams(2, CREDIT);
    struct co_p2p_receive receive = receive_at(1, LARGE);
    struct co_packet_rts rts = {.operation = 1, .bytes = 100, .address = (uintptr_t)sent};
    co_p2p_receive(&receive, 0, TAG);
    say_message(CO_PACKET_EAGER_SYNC, sent, sizeof(struct co_packet_handle) - 1);
    nothing_was_taken(&receive);
    say_message(CO_PACKET_RTS, &rts, sizeof rts - 1);
    nothing_was_taken(&receive);
    unsigned char longer[sizeof rts + 1];
    memcpy(longer, &rts, sizeof rts);
    longer[sizeof rts] = 0;
    say_message(CO_PACKET_RTS, longer, sizeof longer);
    nothing_was_taken(&receive);
    rts.is_in_pieces = 1;
    rts.first_fragment = rts.bytes + 1;
    say_message(CO_PACKET_RTS, &rts, sizeof rts);
    nothing_was_taken(&receive);
    rts.is_in_pieces = 0;
    rts.first_fragment = 10; // and not in pieces
    say_message(CO_PACKET_RTS, &rts, sizeof rts);
    nothing_was_taken(&receive);
    rts.is_in_pieces = 1;
    rts.bytes = STREAM_MOST;
    rts.first_fragment = FIRST_FRAGMENT + 1024; // more than anybody sends unasked
    say_message(CO_PACKET_RTS, &rts, sizeof rts);
    nothing_was_taken(&receive);
    say_message(200, sent, 100); // no kind
    nothing_was_taken(&receive);
    struct co_p2p_send send = send_of(0, 1, TAG, 1000);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    check_received(&receive, 0, TAG, 1000);
    close_streams(false);
}

static void fragments_that_were_not_announced(void **state)
{
    (void)state;
    open_streams(2, CREDIT);
    struct co_packet_rts rts = {
        .operation = 1, .bytes = 3000, .address = (uintptr_t)sent, .first_fragment = 1000, .is_in_pieces = 1};
    struct co_p2p_receive receive = receive_at(1, LARGE);
    say_message(CO_PACKET_FIRST, sent, 100); // of no offer
    say_message(CO_PACKET_RTS, &rts, sizeof rts);
    say_message(CO_PACKET_FIRST, sent, 1001); // one more than there is room for
    co_p2p_receive(&receive, 0, TAG);
    nothing_was_taken(&receive);
    say_message(CO_PACKET_FIRST, sent, 1000);
    assert_memory_equal(received, sent, 1000);
    assert_int_equal(received[1000], 0xee);
    say_message(CO_PACKET_FIRST, sent, 1); // they are all there
    assert_int_equal(received[1000], 0xee);
    assert_false(co_p2p_receive_is_done(&receive)); // 2000 are missing
    co_p2p_lose(world.ranks[1], 0);
    assert_true(co_p2p_receive_is_done(&receive));
    p2p_world_close(&world);
}

static void pieces_that_were_not_asked_for(void **state)
{
    (void)state;
    enum { ROOM = 5000 };
    open_streams(3, CREDIT);
    read_error = -1; // so it asks for them
    struct co_p2p_send send = send_of(0, 1, TAG, LARGE);
    struct co_p2p_receive receive = receive_at(1, ROOM);
    co_p2p_send(&send);
    co_p2p_receive(&receive, 0, TAG);
    streams_move(1);
    assert_true(receive.handle != 0);
    say(0, 1, CO_PACKET_DATA, receive.handle + ((uint64_t)1 << 32), sent, 100); // of another time
    nothing_was_taken(&receive);
    say(2, 1, CO_PACKET_DATA, receive.handle, sent, 100); // by another one
    nothing_was_taken(&receive);
    say(0, 1, CO_PACKET_DATA, receive.handle, sent, ROOM + 1);
    nothing_was_taken(&receive);
    p2p_world_settle(&world);
    check_received(&receive, 0, TAG, LARGE);
    close_streams(false);
}

static void answers_of_others(void **state)
{
    (void)state;
    static const unsigned kinds[] = {CO_PACKET_ACK, CO_PACKET_FIN, CO_PACKET_CTS};
    open_streams(3, CREDIT);
    for (int is_large = 0; is_large < 2; is_large++) {
        struct co_p2p_send send = send_of(0, 1, TAG, is_large ? LARGE : 100);
        struct co_p2p_receive receive = receive_at(1, LARGE);
        send.is_synchronous = true;
        memset(received, 0xee, LARGE);
        co_p2p_send(&send);
        assert_true(send.handle != 0);
        struct {
            struct co_packet_cts clear;
            uint64_t more;
        } said = {.clear = {.operation = send.handle, .receive = 1, .bytes = 100}};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            size_t bytes = kinds[i] == CO_PACKET_CTS ? sizeof said.clear : sizeof(struct co_packet_handle);
            say(2, 0, kinds[i], 0, &said, bytes);                    // it was not sent to him
            say(1, 0, kinds[i], 0, &said, bytes + sizeof said.more); // longer than such an answer
            assert_false(co_p2p_send_is_done(&send));
            assert_int_equal(send.receive, 0);
        }
        co_p2p_receive(&receive, 0, TAG);
        p2p_world_settle(&world);
        assert_true(co_p2p_send_is_done(&send));
        check_received(&receive, 0, TAG, send.bytes);
    }
    close_streams(false);
}

// It asks for nothing: said twice, it would have the send wait for room behind itself.
static void a_cts_of_no_receive(void **state)
{
    (void)state;
    open_streams(2, CREDIT);
    for (int is_large = 0; is_large < 2; is_large++) {
        struct co_p2p_send send = send_of(0, 1, TAG, is_large ? LARGE : 100000);
        struct co_p2p_receive receive = receive_at(1, LARGE);
        memset(received, 0xee, LARGE);
        co_p2p_send(&send);
        struct co_packet_cts cts = {.operation = send.handle, .bytes = send.bytes};
        for (int i = 0; i < 2; i++) {
            say(1, 0, CO_PACKET_CTS, 0, &cts, sizeof cts);
            assert_int_equal(send.wanted, 0);
            assert_false(co_p2p_send_is_done(&send));
        }
        co_p2p_receive(&receive, 0, TAG);
        p2p_world_settle(&world);
        check_received(&receive, 0, TAG, send.bytes);
        assert_true(co_p2p_send_is_done(&send));
    }
    close_streams(false);
}

static const int others_names[] = {2, 3, 1, -1, INT32_MIN, INT32_MAX}; // rank 0 is none of them, and 3 is nobody

// An eager message, and an offer of a first fragment.
static void say_all_as(int source, uint64_t context)
{
    struct co_packet_rts rts = {
        .operation = 1, .bytes = 100, .address = (uintptr_t)sent, .first_fragment = 100, .is_in_pieces = 1};
    say_as(source, 0, 1, CO_PACKET_EAGER, context, sent, 100);
    say_as(source, 0, 1, CO_PACKET_RTS, context, &rts, sizeof rts);
    say_as(source, 0, 1, CO_PACKET_FIRST, context, sent, 100);
}

static void messages_under_others_names(void **state)
{
    (void)state;
    open_streams(3, CREDIT);
    for (size_t i = 0; i < sizeof others_names / sizeof *others_names; i++) {
        struct co_p2p_receive any = receive_at(1, LARGE), theirs = receive_at(1, LARGE);
        memset(received, 0xee, LARGE);
        co_p2p_receive(&theirs, 2, TAG + 1); // whoever it says has nothing to do with it
        co_p2p_receive(&any, CO_P2P_ANY, TAG);
        for (int after_a_good_one = 0; after_a_good_one < 2; after_a_good_one++) {
            say_all_as(others_names[i], 1);
            say_all_as(others_names[i], 0); // of no communicator
            nothing_was_taken(&any);
            if (after_a_good_one == 0) {
                struct co_p2p_send good = send_of(0, 1, TAG, 10);
                co_p2p_send(&good);
                p2p_world_settle(&world);
                check_received(&any, 0, TAG, 10);
                any = receive_at(1, LARGE);
                memset(received, 0xee, LARGE);
                co_p2p_receive(&any, CO_P2P_ANY, TAG);
            }
        }
        struct co_p2p_send good = send_of(2, 1, TAG, 1000), other = send_of(2, 1, TAG + 1, 0);
        co_p2p_send(&good);
        co_p2p_send(&other);
        p2p_world_settle(&world);
        check_received(&any, 2, TAG, 1000);
        assert_true(co_p2p_receive_is_done(&theirs));
    }
    close_streams(false);
}

// Rank 1 does not know yet who is in communicator 2, in which the others have other ranks.
static void names_of_a_communicator_that_is_not_known_yet(void **state)
{
    (void)state;
    static const int members[] = {2, 1, 0};
    open_streams(3, CREDIT);
    for (size_t i = 0; i < sizeof others_names / sizeof *others_names; i++) {
        if (others_names[i] != 2) { // as which it is right this time
            say_all_as(others_names[i], 2);
        }
    }
    say_as(2, 0, 1, CO_PACKET_EAGER, 2, sent, 10);
    say_as(0, 2, 1, CO_PACKET_EAGER, 2, sent, 20);
    say_as(0, 0, 1, CO_PACKET_EAGER, 2, sent, 30);
    say_as(2, 0, 1, CO_PACKET_EAGER, 2, sent, 40);
    struct co_p2p_context *context = co_p2p_context_open(world.ranks[1], 2, members, 3, 1);
    static const struct {
        int source;
        size_t bytes;
    } right[] = {{2, 10}, {0, 20}, {2, 40}}; // in the order in which they came
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct co_p2p_receive receive = receive_at(1, LARGE);
        receive.context = context;
        memset(received, 0xee, LARGE);
        co_p2p_receive(&receive, CO_P2P_ANY, TAG);
        check_received(&receive, right[i].source, TAG, right[i].bytes);
    }
    struct co_p2p_receive none = receive_at(1, LARGE);
    memset(received, 0xee, LARGE);
    none.context = context;
    co_p2p_receive(&none, CO_P2P_ANY, CO_P2P_ANY);
    nothing_was_taken(&none);
    say_as(0, 0, 1, CO_PACKET_EAGER, 2, sent, 30);
    nothing_was_taken(&none);
    say_as(2, 0, 1, CO_PACKET_EAGER, 2, sent, 50);
    check_received(&none, 2, TAG, 50);
    co_p2p_context_close(context);
    say_as(2, 0, 1, CO_PACKET_EAGER, 2, sent, 50); // of one that has ended: nothing of it is looked at
    close_streams(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_that_contradict_themselves),
                                       cmocka_unit_test(fragments_that_were_not_announced),
                                       cmocka_unit_test(pieces_that_were_not_asked_for),
                                       cmocka_unit_test(answers_of_others),
                                       cmocka_unit_test(a_cts_of_no_receive),
                                       cmocka_unit_test(messages_under_others_names),
                                       cmocka_unit_test(names_of_a_communicator_that_is_not_known_yet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
