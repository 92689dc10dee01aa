// SPDX-License-Identifier: BSD-3-Clause
//
// A way for packets between this rank and some others: reliable, and in order for each pair. One caller at a time (the
// lock of the point-to-point engine). Hot.
#ifndef CASTOFF_ENGINE_CHANNEL_H
#define CASTOFF_ENGINE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/channel/packet.h"

// The payload is the channel's and valid during the call. False: not now (no memory); the packet comes again.
typedef bool co_channel_handler(void *arg, int peer, const struct co_packet *packet, const unsigned char *payload);

struct co_channel {
    const struct co_channel_ops *ops;
    size_t payload_most; // bytes of one packet
};

struct co_channel_ops {
    // The payload is `first`, then `second`. False: no room now.
    bool (*send)(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                 size_t first_bytes, const void *second, size_t second_bytes);
    // Hands over what has come, at most `most` packets of each peer; how many.
    int (*poll)(struct co_channel *channel, int most, co_channel_handler *handler, void *arg);
    // Credit: bytes of messages from this peer that no longer take memory here, whose sender counts what it may send.
    void (*give_back)(struct co_channel *channel, int peer, size_t bytes);
    uint64_t (*given_back)(const struct co_channel *channel, int peer); // by that peer, in total
    void (*close)(struct co_channel *channel);
};

#endif
