// SPDX-License-Identifier: BSD-3-Clause
//
// One thread plays all ranks.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "native_rig.h"

struct co_channel *channels[SIZE];
struct native_heard heard[SIZE];

void open_with(size_t credit, size_t bytes_most)
{
    // A packet has a head of two times 32 bytes, beside the eager bytes, and ends at a line.
    size_t packet = (EAGER + 64 + 63) / 64 * 64;
    memset(heard, 0, sizeof(heard));
    fake_net_open(SIZE);
    fake_net.bytes_most = bytes_most;
    for (int rank = 0; rank < SIZE; rank++) {
        struct co_native_channel_config config = {.native = fake_native(rank),
                                                  .size = SIZE,
                                                  .memory = 2 * PACKETS * packet,
                                                  .eager = EAGER,
                                                  .credit = credit};
        assert_int_equal(co_native_channel_open(&channels[rank], &config), 0);
        assert_true(channels[rank]->payload_most >= EAGER + sizeof(struct co_packet_cts));
    }
}

int open_channels(void **state)
{
    (void)state;
    open_with(1 << 20, LARGE);
    return 0;
}

int close_channels(void **state)
{
    (void)state;
    for (int rank = 0; rank < SIZE; rank++) {
        channels[rank]->ops->close(channels[rank]);
        assert_int_equal(fake_net_receives(rank), 0);
        assert_int_equal(fake_net_sends(rank), 0);
    }
    fake_net_close();
    return 0;
}

unsigned char byte_of(int from, int tag, size_t at)
{
    return (unsigned char)((size_t)from * 91 + (size_t)tag * 7 + at * 3);
}

static size_t bytes_of(int tag)
{
    return (size_t)tag * 37 % (EAGER + 1);
}

static bool hear(void *arg, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    int rank = *(int *)arg, at = heard[rank].count;
    if (heard[rank].takes_nothing) {
        return false;
    }
    assert_int_equal(packet->context, 77);
    assert_int_equal(packet->kind, CO_PACKET_EAGER);
    assert_int_equal(packet->bytes, bytes_of(packet->tag));
    for (size_t i = 0; i < packet->bytes; i++) {
        assert_int_equal(payload[i], byte_of(peer, packet->tag, i));
    }
    heard[rank].from[at] = peer;
    heard[rank].tag[at] = packet->tag;
    heard[rank].count++;
    return true;
}

bool say(int from, int to, int tag)
{
    unsigned char bytes[EAGER + 1];
    size_t count = bytes_of(tag), head = count / 3;
    for (size_t i = 0; i < count; i++) {
        bytes[i] = byte_of(from, tag, i);
    }
    struct co_packet packet = {
        .context = 77, .source = from, .tag = tag, .bytes = (uint32_t)count, .kind = CO_PACKET_EAGER};
    return channels[from]->ops->send(channels[from], to, &packet, bytes, head, bytes + head, count - head);
}

void take(int rank)
{
    channels[rank]->ops->poll(channels[rank], PACKETS, hear, &rank);
}

void move(int rank)
{
    co_native_channel_progress(channels[rank], false);
    take(rank);
}

void settle(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        for (int rank = 0; rank < SIZE; rank++) {
            move(rank);
        }
    }
}

void check_order(int rank, int from, int count)
{
    int next = 0;
    for (int i = 0; i < heard[rank].count; i++) {
        if (heard[rank].from[i] == from) {
            assert_int_equal(heard[rank].tag[i], next);
            next++;
        }
    }
    assert_int_equal(next, count);
}
