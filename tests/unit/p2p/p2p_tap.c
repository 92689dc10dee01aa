// SPDX-License-Identifier: BSD-3-Clause
//
// Hands everything on, but for what the hooks say.
#include "p2p_tap.h"

#include "p2p_world.h"

struct tap {
    struct co_channel channel; // first
    struct co_channel *real;
    int rank, first;
    size_t granted;               // packets for which there was room
    bool is_left[P2P_WORLD_MOST]; // the next packet is still there, and has been seen
    co_channel_handler *handler;
    void *arg;
};

struct p2p_tap_hooks p2p_tap_hooks;

static struct tap taps[2 * P2P_WORLD_MOST];

static bool hand_over(void *arg, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct tap *tap = arg;
    if (!tap->is_left[peer]) {
        p2p_tap_hooks.on_packet(tap->rank, tap->first + peer, packet);
    }
    tap->is_left[peer] = !tap->handler(tap->arg, peer, packet, payload);
    return !tap->is_left[peer];
}

static bool send_packet(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes)
{
    struct tap *tap = (struct tap *)channel;
    bool is_granted = tap->granted > 0;
    tap->granted -= is_granted;
    return (is_granted || p2p_tap_hooks.has_room()) &&
           tap->real->ops->send(tap->real, peer, packet, first, first_bytes, second, second_bytes);
}

static int poll_packets(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    struct tap *tap = (struct tap *)channel;
    tap->handler = handler;
    tap->arg = arg;
    return tap->real->ops->poll(tap->real, p2p_tap_hooks.at_once(most), hand_over, tap);
}

static bool has_more(const struct co_channel *channel, int peer)
{
    const struct co_channel *real = ((const struct tap *)channel)->real;
    return real->ops->has_more(real, peer);
}

static size_t room(struct co_channel *channel, int peer, size_t piece, size_t wanted)
{
    struct tap *tap = (struct tap *)channel;
    size_t found = p2p_tap_hooks.has_room() ? tap->real->ops->room(tap->real, peer, piece, wanted) : 0;
    tap->granted = found > 0 ? 1 + (found + piece - 1) / piece : 0;
    return found;
}

static _Atomic uint64_t *gate(struct co_channel *channel, int peer, bool is_writer)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    return real->ops->gate(real, peer, is_writer);
}

static void give_back(struct co_channel *channel, int peer, size_t bytes)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    real->ops->give_back(real, peer, bytes);
}

static uint64_t given_back(const struct co_channel *channel, int peer)
{
    const struct co_channel *real = ((const struct tap *)channel)->real;
    return real->ops->given_back(real, peer);
}

static void close_channel(struct co_channel *channel)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    real->ops->close(real);
    ((struct tap *)channel)->real = NULL;
}

static uint32_t expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    return p2p_tap_hooks.has_room() ? real->ops->expect(real, peer, buffer, bytes, owner) : 0;
}

static bool carry(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number, void *owner)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    return p2p_tap_hooks.has_room() && real->ops->transfer(real, peer, data, bytes, number, owner);
}

static bool next_end(struct co_channel *channel, struct co_channel_end *end)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    return real->ops->next_end(real, end);
}

static void flush(struct co_channel *channel)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    if (real != NULL) {
        real->ops->flush(real);
    }
}

static void forget(struct co_channel *channel, int peer)
{
    struct co_channel *real = ((struct tap *)channel)->real;
    real->ops->forget(real, peer);
}

static const struct co_channel_ops ops = {.send = send_packet,
                                          .poll = poll_packets,
                                          .has_more = has_more,
                                          .room = room,
                                          .gate = gate,
                                          .give_back = give_back,
                                          .given_back = given_back,
                                          .close = close_channel,
                                          .expect = expect,
                                          .transfer = carry,
                                          .next_end = next_end,
                                          .flush = flush,
                                          .forget = forget};

struct co_channel *p2p_tap_put(struct co_channel *channel, int rank, int first)
{
    struct tap *tap = taps;
    while (tap->real != NULL) { // given back by close
        tap++;
    }
    *tap = (struct tap){.channel = {&ops, channel->payload_most}, .real = channel, .rank = rank, .first = first};
    return &tap->channel;
}
