// SPDX-License-Identifier: BSD-3-Clause
//
// Stands between a rank and its channel: sees what arrives the moment it does, and lets the channel have no room.
#ifndef CASTOFF_TESTS_P2P_TAP_H
#define CASTOFF_TESTS_P2P_TAP_H

#include "p2p/channel/channel.h"

struct p2p_tap_hooks {
    void (*on_packet)(int rank, int peer, const struct co_packet *packet); // before the rank gets it
    bool (*has_room)(void);
    int (*at_once)(int most); // packets of each peer, at least one
};

extern struct p2p_tap_hooks p2p_tap_hooks;

// For p2p_world_options.wrap.
struct co_channel *p2p_tap_put(struct co_channel *channel, int rank, int first);

#endif
