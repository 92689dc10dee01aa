// SPDX-License-Identifier: BSD-3-Clause
//
// Receives of what comes in pieces. Lock held.
#ifndef CASTOFF_P2P_STREAM_RECEIVE_H
#define CASTOFF_P2P_STREAM_RECEIVE_H

#include "p2p/message.h"

void co_p2p_fragment_begin(struct co_p2p *p2p, int peer, const struct co_p2p_message *message);
void co_p2p_fragment_store(struct co_p2p *p2p, struct co_p2p_message *message);
// A first piece. False: it stays in the ring, and comes again.
bool co_p2p_on_fragment(struct co_p2p *p2p, int peer, const unsigned char *payload, size_t bytes);
void co_p2p_on_data(struct co_p2p *p2p, int peer, uint64_t handle, const unsigned char *payload, size_t bytes);
void co_p2p_accept_stream(struct co_p2p_receive *receive, struct co_p2p_message *message); // which is gone
// The number of a stream of this peer whose sender has stopped, and from now on writes no more (gate); 0: none. What
// has come has to be taken before its rest is read.
uint64_t co_p2p_stopped_stream(struct co_p2p *p2p, int peer);
// Reads the rest of that one, if all that came is taken and it is still there. False: its sender goes on.
bool co_p2p_read_stopped(struct co_p2p *p2p, int peer, uint64_t handle, bool all_is_taken);

// Its sender's memory, which holds all bytes.
static inline bool co_p2p_may_read(const struct co_p2p *p2p, const struct co_p2p_receive *receive)
{
    return p2p->config.read != NULL && receive->address != 0;
}

#endif
