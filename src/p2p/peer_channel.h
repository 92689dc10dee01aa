// SPDX-License-Identifier: BSD-3-Clause
//
// The channel to a peer as the parts use it: packets, the gates of what streams, and credit, which bounds what waits at
// a receiver. Hot; lock held.
#ifndef CASTOFF_P2P_PEER_CHANNEL_H
#define CASTOFF_P2P_PEER_CHANNEL_H

#include "p2p/p2p_state.h"

// Who may go on with what streams (co_channel_ops.gate): 0: either; this: the sender is writing; else a sender's
// handle: its receiver reads the rest itself, until that sender has heard that it has.
#define CO_GATE_WRITING UINT64_MAX

static inline bool co_p2p_transmit(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *first,
                                   size_t first_bytes, const void *second, size_t second_bytes)
{
    const struct co_p2p_peer *to = &p2p->peers[peer];
    bool has_room = to->channel->ops->send(to->channel, to->number, packet, first, first_bytes, second, second_bytes);
    p2p->transmitted += has_room;
    return has_room;
}

static inline _Atomic uint64_t *co_p2p_gate(struct co_p2p *p2p, int peer, bool is_writer)
{
    const struct co_p2p_peer *other = &p2p->peers[peer];
    return other->channel->ops->gate(other->channel, other->number, is_writer);
}

static inline size_t co_p2p_cost_of(size_t bytes)
{
    return CO_MESSAGE_COST + bytes;
}

// What the peer has given back is asked for when there is none left: its line is the peer's, which writes there.
static inline bool co_p2p_has_credit(struct co_p2p *p2p, int peer, size_t bytes)
{
    struct co_p2p_peer *to = &p2p->peers[peer];
    uint64_t owed = to->charged + co_p2p_cost_of(bytes);
    if (__builtin_expect(owed - to->given_back <= p2p->config.credit, 1)) {
        return true;
    }
    to->given_back = to->channel->ops->given_back(to->channel, to->number);
    return owed - to->given_back <= p2p->config.credit;
}

static inline void co_p2p_charge(struct co_p2p *p2p, int peer, size_t bytes)
{
    p2p->peers[peer].lacks_credit = false;
    p2p->peers[peer].charged += co_p2p_cost_of(bytes);
}

// Of an eager message of so many bytes.
static inline void co_p2p_give_back(struct co_p2p *p2p, int peer, size_t bytes)
{
    const struct co_p2p_peer *from = &p2p->peers[peer];
    from->channel->ops->give_back(from->channel, from->number, co_p2p_cost_of(bytes));
}

#endif
