// SPDX-License-Identifier: BSD-3-Clause
//
// Sends whose bytes go in pieces. Lock held.
#ifndef CASTOFF_P2P_STREAM_SEND_H
#define CASTOFF_P2P_STREAM_SEND_H

#include "p2p/p2p_state.h"

// Whether a message of so many bytes does, unless its receiver may read it. The answer depends on nothing that changes.
bool co_p2p_goes_in_pieces(const struct co_p2p *p2p, int peer, size_t bytes);
// Whether this one does.
bool co_p2p_send_streams(struct co_p2p *p2p, int peer, const struct co_p2p_send *send);
// And how many bytes of it may follow its RTS unasked. If any they have to at once: both find room, and its receiver
// reads nothing before.
size_t co_p2p_fragment_of(struct co_p2p *p2p, int peer, const struct co_p2p_send *send);
void co_p2p_push_fragment(struct co_p2p *p2p, int peer, struct co_p2p_send *send, size_t bytes);
// With a stream of which so many bytes are left, and nothing comes.
uint64_t co_p2p_patience_ns(const struct co_p2p *p2p, size_t left);
// Of a message of so many bytes, whether what is behind its first fragment, or all of it, is worth a call of the
// kernel.
bool co_p2p_is_read_in_exchange(const struct co_p2p *p2p, size_t bytes);
void co_p2p_sees_exchange(struct co_p2p *p2p, int peer);                         // when an RTS of that peer is accepted
bool co_p2p_push_pieces(struct co_p2p *p2p, int peer, struct co_p2p_send *send); // false: it has to wait
void co_p2p_stream_cts(struct co_p2p_send *send, const struct co_packet_cts *cts);
void co_p2p_stream_fin(struct co_p2p_send *send); // by its receiver

#endif
