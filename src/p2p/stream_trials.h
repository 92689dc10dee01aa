// SPDX-License-Identifier: BSD-3-Clause
//
// Whether messages of a size from a peer inside the node come faster in pieces or read straight, learned by their
// receiver in use (base/copy_trials.h), for it alone knows when both were there and when all bytes were. It tells their
// sender with its answers which path the next ones of that size should take. What is timed is a spell in which messages
// are under way, from the first RTS that has met its receive to the last end, so that a window of them has its price as
// a whole; and what copying cost before, of bytes that were there when they were asked for. Lock held.
#ifndef CASTOFF_P2P_STREAM_TRIALS_H
#define CASTOFF_P2P_STREAM_TRIALS_H

#include "p2p/message.h"

// A receive has met an RTS.
void co_p2p_trials_begin(struct co_p2p *p2p, struct co_p2p_receive *receive, const struct co_p2p_message *message);
// The time, if it is to be known how long it takes to keep pieces of this message; else 0.
uint64_t co_p2p_trials_clock(const struct co_p2p *p2p, const struct co_p2p_message *message);
// The kernel does not read them.
void co_p2p_trials_refused(struct co_p2p *p2p, const struct co_p2p_receive *receive);
// All its bytes have come.
void co_p2p_trials_end(struct co_p2p *p2p, struct co_p2p_receive *receive, bool is_streamed);
// What its sender is told with an answer: the tag of its head.
int32_t co_p2p_trials_wish(const struct co_p2p *p2p, const struct co_p2p_receive *receive);
// By the sender of a message of so many bytes; most answers wish nothing.
void co_p2p_trials_hear(struct co_p2p *p2p, int peer, size_t bytes, int32_t wish);
bool co_p2p_trials_streams(const struct co_p2p *p2p, int peer, size_t bytes);
void co_p2p_trials_close(struct co_p2p *p2p);

#endif
