// SPDX-License-Identifier: BSD-3-Clause
//
// The channel between ranks of different hosts over reliable connections (rc.h): packets, and large messages
// read by their receiver straight from the sender's buffer (rendezvous by RDMA READ; Liu et al., ICS 2003), or in
// pieces where one of the two buffers cannot be registered. Memory for packets is the same for any number of peers.
#ifndef CASTOFF_P2P_CHANNEL_RC_CHANNEL_H
#define CASTOFF_P2P_CHANNEL_RC_CHANNEL_H

#include "p2p/channel/channel.h"
#include "p2p/channel/rc.h"

struct co_rc_channel_config {
    struct co_rc *rc;    // the channel's from a successful open on, closed with it
    int size;            // peers
    size_t packet_bytes; // of the connections
    size_t credit;       // bytes that a sender may have waiting at its receiver: told in steps of an eighth
};

int co_rc_channel_open(struct co_channel **out, const struct co_rc_channel_config *config); // 0 or -ENOMEM
void co_rc_channel_set_peer(struct co_channel *channel, int peer, const struct co_rc_address *address);
size_t co_rc_channel_packet_bytes(size_t eager);              // of packets that hold a message of so many bytes
bool co_rc_channel_is_idle(const struct co_channel *channel); // no transfer is under way, and nothing on its way out
// The device is taken away: whoever polls next gives back what is open on it, and all peers are lost. Any thread.
void co_rc_channel_let_go(struct co_channel *channel);
// Moves on when a packet has arrived, or a transfer has: tells slow from stuck.
uint64_t co_rc_channel_advances(const struct co_channel *channel);

#endif
