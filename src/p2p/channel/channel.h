// SPDX-License-Identifier: BSD-3-Clause
//
// A way for packets between this rank and some others: reliable, and in order for each pair. One caller at a time (the
// lock of the point-to-point engine). Hot.
#ifndef CASTOFF_P2P_CHANNEL_H
#define CASTOFF_P2P_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "p2p/channel/packet.h"

// The payload is the channel's and valid during the call. False: not now (no memory); the packet comes again.
typedef bool co_channel_handler(void *arg, int peer, const struct co_packet *packet, const unsigned char *payload);

struct co_channel {
    const struct co_channel_ops *ops;
    size_t payload_most; // bytes of one packet
};

// What was transferred, or expected, and is over; or that a peer cannot be reached any more.
struct co_channel_end {
    void *owner; // as given; NULL: the peer is lost
    int peer;
    bool was_expected;
    int result; // 0 or -errno
};

struct co_channel_ops {
    // The payload is `first`, then `second`. False: no room now.
    bool (*send)(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                 size_t first_bytes, const void *second, size_t second_bytes);
    // Hands over what has come, at most `most` packets of each peer; how many.
    int (*poll)(struct co_channel *channel, int most, co_channel_handler *handler, void *arg);
    bool (*has_more)(const struct co_channel *channel, int peer); // something of this peer has come
    // Bytes, at most `wanted`, that find room now in packets of `piece` behind a short one, all of which are sure to
    // leave then; NULL: nothing is ever sent in pieces.
    size_t (*room)(struct co_channel *channel, int peer, size_t piece, size_t wanted);
    // A word that both ranks know, one for each direction, for struct co_p2p_peer; 0 at first.
    _Atomic uint64_t *(*gate)(struct co_channel *channel, int peer, bool is_writer);
    // Credit: bytes of messages from this peer that no longer take memory here, whose sender counts what it may send.
    void (*give_back)(struct co_channel *channel, int peer, size_t bytes);
    uint64_t (*given_back)(const struct co_channel *channel, int peer); // by that peer, in total
    void (*close)(struct co_channel *channel);
    // Large messages straight between two buffers, beside the packets; NULL: it has packets only. The one who expects
    // has a number, which the one who sends is told. 0, false: no room now.
    uint32_t (*expect)(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner);
    bool (*transfer)(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number,
                     void *owner);
    bool (*next_end)(struct co_channel *channel, struct co_channel_end *end); // false: no more now
    void (*flush)(struct co_channel *channel);            // outside of the lock: what was handed over starts
    void (*forget)(struct co_channel *channel, int peer); // the owners of what is under way with this peer are gone
    // Somebody waits for this peer: next_end tells when it is seen to be gone. NULL: nothing could be seen.
    void (*query)(struct co_channel *channel, int peer);
};

#endif
