// SPDX-License-Identifier: BSD-3-Clause
//
// Credit between hosts: told by eighths and in total, later where a packet found no room, and no word of another
// length.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p/channel/channel_credit.h"

enum { PEERS = 3, CREDIT = 8000 }; // told by thousands

// What a channel was given to send.
struct sent {
    struct co_channel channel; // first
    bool has_room;
    int packets, peer;
    uint64_t given_back;
};

static bool sent_take(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                      size_t first_bytes, const void *second, size_t second_bytes)
{
    struct sent *sent = (struct sent *)channel;
    struct co_packet_credit credit;
    if (!sent->has_room) {
        return false;
    }
    assert_int_equal(packet->kind, CO_PACKET_CREDIT);
    assert_int_equal(packet->bytes, sizeof credit);
    assert_int_equal(first_bytes, sizeof credit);
    assert_int_equal(second_bytes, 0);
    assert_null(second);
    memcpy(&credit, first, sizeof credit);
    sent->packets++;
    sent->peer = peer;
    sent->given_back = credit.given_back;
    return true;
}

static const struct co_channel_ops ops = {.send = sent_take};

static void credit_is_told_by_eighths_in_total(void **state)
{
    (void)state;
    struct sent sent = {.channel = {.ops = &ops}, .has_room = true};
    struct co_channel_credits credits;
    assert_int_equal(co_channel_credits_open(&credits, PEERS, CREDIT), 0);
    co_channel_credits_give_back(&credits, &sent.channel, 1, 999);
    assert_int_equal(sent.packets, 0);
    co_channel_credits_give_back(&credits, &sent.channel, 2, 999); // each peer has its own
    assert_int_equal(sent.packets, 0);
    co_channel_credits_give_back(&credits, &sent.channel, 1, 1);
    assert_int_equal(sent.packets, 1);
    assert_int_equal(sent.peer, 1);
    assert_int_equal(sent.given_back, 1000);
    co_channel_credits_give_back(&credits, &sent.channel, 1, 500);
    assert_int_equal(sent.packets, 1);
    co_channel_credits_give_back(&credits, &sent.channel, 1, 700);
    assert_int_equal(sent.packets, 2);
    assert_int_equal(sent.given_back, 2200);
    co_channel_credits_close(&credits);
}

static void what_found_no_room_is_told_later_and_once(void **state)
{
    (void)state;
    struct sent sent = {.channel = {.ops = &ops}, .has_room = false};
    struct co_channel_credits credits;
    assert_int_equal(co_channel_credits_open(&credits, PEERS, CREDIT), 0);
    co_channel_credits_give_back(&credits, &sent.channel, 2, 1500);
    co_channel_credits_tell_waiting(&credits, &sent.channel);
    assert_int_equal(credits.telling, 1);
    sent.has_room = true;
    co_channel_credits_give_back(&credits, &sent.channel, 2, 1500); // waits for its turn
    assert_int_equal(sent.packets, 0);
    co_channel_credits_tell_waiting(&credits, &sent.channel);
    assert_int_equal(sent.packets, 1);
    assert_int_equal(sent.peer, 2);
    assert_int_equal(sent.given_back, 3000);
    assert_int_equal(credits.telling, 0);
    co_channel_credits_tell_waiting(&credits, &sent.channel);
    assert_int_equal(sent.packets, 1);
    co_channel_credits_close(&credits);
}

static void a_word_of_another_length_is_left_out(void **state)
{
    (void)state;
    struct co_channel_credits credits;
    const struct co_packet_credit credit = {.given_back = 4711};
    struct co_packet packet = {.kind = CO_PACKET_CREDIT, .bytes = sizeof credit};
    assert_int_equal(co_channel_credits_open(&credits, PEERS, CREDIT), 0);
    co_channel_credits_hear(&credits, 1, &packet, (const unsigned char *)&credit);
    assert_int_equal(credits.peers[1].given_back, 4711);
    packet.bytes--;
    co_channel_credits_hear(&credits, 0, &packet, (const unsigned char *)&credit);
    assert_int_equal(credits.peers[0].given_back, 0);
    co_channel_credits_close(&credits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credit_is_told_by_eighths_in_total),
        cmocka_unit_test(what_found_no_room_is_told_later_and_once),
        cmocka_unit_test(a_word_of_another_length_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
