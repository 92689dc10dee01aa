// SPDX-License-Identifier: BSD-3-Clause
//
// Packets that no peer of this library sends, as from a process whose memory is damaged: messages that contradict
// themselves, more bytes than were announced, answers to others' messages. Nothing comes of them, and the messages
// around them arrive.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_streams.h"

enum { CREDIT = 1 << 20, TAG = 7 };

// Past all that the sender's own side would have made of it.
static void say(int from, int to, unsigned kind, uint64_t context, const void *payload, size_t bytes)
{
    struct co_packet packet = {
        .context = context, .source = from, .tag = TAG, .bytes = (uint32_t)bytes, .kind = (enum co_packet_kind)kind};
    struct co_channel *channel = world.channels[from];
    assert_true(channel->ops->send(channel, to, &packet, payload, bytes, NULL, 0));
    streams_move(to);
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
    struct co_packet_offer offer = {.operation = 1, .bytes = 100, .address = (uintptr_t)sent};
    co_p2p_receive(&receive, 0, TAG);
    say_message(CO_PACKET_EAGER_SYNC, sent, sizeof(struct co_packet_handle) - 1);
    nothing_was_taken(&receive);
    say_message(CO_PACKET_RTS, &offer, sizeof offer - 1);
    nothing_was_taken(&receive);
    unsigned char longer[sizeof offer + 1];
    memcpy(longer, &offer, sizeof offer);
    longer[sizeof offer] = 0;
    say_message(CO_PACKET_RTS, longer, sizeof longer);
    nothing_was_taken(&receive);
    offer.early = offer.bytes + 1;
    say_message(CO_PACKET_RTS, &offer, sizeof offer);
    nothing_was_taken(&receive);
    offer.bytes = STREAM_MOST;
    offer.early = EARLY + 1024; // more than anybody sends unasked
    say_message(CO_PACKET_RTS, &offer, sizeof offer);
    nothing_was_taken(&receive);
    say_message(200, sent, 100); // no kind
    nothing_was_taken(&receive);
    struct co_p2p_send send = send_of(0, 1, TAG, 1000);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    check_received(&receive, 0, TAG, 1000);
    close_streams(false);
}

static void early_bytes_that_were_not_announced(void **state)
{
    (void)state;
    open_streams(2, CREDIT);
    struct co_packet_offer offer = {.operation = 1, .bytes = 3000, .address = (uintptr_t)sent, .early = 1000};
    struct co_p2p_receive receive = receive_at(1, LARGE);
    say_message(CO_PACKET_EARLY, sent, 100); // of no offer
    say_message(CO_PACKET_RTS, &offer, sizeof offer);
    say_message(CO_PACKET_EARLY, sent, 1001); // one more than there is room for
    co_p2p_receive(&receive, 0, TAG);
    nothing_was_taken(&receive);
    say_message(CO_PACKET_EARLY, sent, 1000);
    assert_memory_equal(received, sent, 1000);
    assert_int_equal(received[1000], 0xee);
    say_message(CO_PACKET_EARLY, sent, 1); // they are all there
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
            struct co_packet_clear clear;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_contradict_themselves), cmocka_unit_test(early_bytes_that_were_not_announced),
        cmocka_unit_test(pieces_that_were_not_asked_for), cmocka_unit_test(answers_of_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
