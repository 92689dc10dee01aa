// SPDX-License-Identifier: BSD-3-Clause
//
// The channel between ranks of different hosts: packets that the MPI below moves, large messages straight
// between two buffers. Memory is the same for any number of peers, but for some words of each.
#ifndef CASTOFF_P2P_CHANNEL_NATIVE_CHANNEL_H
#define CASTOFF_P2P_CHANNEL_NATIVE_CHANNEL_H

#include "p2p/channel/channel.h"
#include "p2p/channel/native.h"

struct co_native_channel_config {
    const struct co_native *native;
    int size;      // peers, numbered as native does
    size_t memory; // for packets, both ways together
    size_t eager;  // bytes of a message that fits a packet
    size_t credit; // bytes that a sender may have waiting at its receiver: told in steps of an eighth
};

// Local. -ENOSPC: so little memory does not hold packets enough.
int co_native_channel_open(struct co_channel **out, const struct co_native_channel_config *config);
size_t co_native_channel_bytes(const struct co_channel *channel); // memory that it takes

// Calls the MPI below: starts what was handed to the channel, and finds out what has arrived. `inside`: from its own
// progress loop, which then need not be moved. Any thread that is in an MPI call; who comes second goes on. Events.
int co_native_channel_progress(struct co_channel *channel, bool inside);
bool co_native_channel_is_idle(
    const struct co_channel *channel); // no transfer is under way, and nothing on its way out
// Moves on when a packet has arrived, or a part of a transfer: tells slow from stuck.
uint64_t co_native_channel_advances(const struct co_channel *channel);

#endif
