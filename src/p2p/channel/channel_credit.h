// SPDX-License-Identifier: BSD-3-Clause
//
// Credit of channels that share no memory, where what is given back has to be told by packets: not each time, but by
// eighths of what may be owed. A packet that found no room is sent again. Lock of the point-to-point engine held. Hot.
#ifndef CASTOFF_P2P_CHANNEL_CHANNEL_CREDIT_H
#define CASTOFF_P2P_CHANNEL_CHANNEL_CREDIT_H

#include "p2p/channel/channel.h"

// With one peer, in bytes; zeroed at first.
struct co_channel_credit {
    uint64_t given_back; // by the peer, in total
    uint64_t owed, told; // given back to the peer, in total; of that, what it has been told
    bool wants_to_tell;  // a packet found no room
};

struct co_channel_credits {
    struct co_channel_credit *peers; // [size]; its own, NULL before it is open and after it is closed
    int size, telling;               // telling: peers that want to be told
    size_t step_bytes;               // owed and not told: a packet is due
};

// `credit`: bytes that a peer may owe. 0 or -ENOMEM; to be closed either way.
int co_channel_credits_open(struct co_channel_credits *credits, int size, size_t credit);
void co_channel_credits_close(struct co_channel_credits *credits);
// As struct co_channel_ops has it; the packet goes by `channel`.
void co_channel_credits_give_back(struct co_channel_credits *credits, struct co_channel *channel, int peer,
                                  size_t bytes);
// Once more what found no room.
void co_channel_credits_tell_waiting(struct co_channel_credits *credits, struct co_channel *channel);
// Of a packet CO_PACKET_CREDIT; one of another length is left out.
void co_channel_credits_hear(struct co_channel_credits *credits, int peer, const struct co_packet *packet,
                             const unsigned char *payload);

#endif
