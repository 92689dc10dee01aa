// SPDX-License-Identifier: BSD-3-Clause
//
// How the engine opens point-to-point: the channel to its peers and the limits. Tests do the same.
#ifndef CASTOFF_P2P_OPEN_H
#define CASTOFF_P2P_OPEN_H

#include "p2p/channel/channel.h"
#include "p2p/p2p.h"

struct co_p2p_config {
    struct co_channel *channel; // inside the node; closed with it; NULL: nobody else is there
    const int *local_ranks;     // of each peer in `channel`, negative: `remote_channel` reaches it; NULL: as numbered
    struct co_channel *remote_channel; // to other hosts, numbered as peers; closed with it; NULL: there are none
    int size, self;                    // peers
    size_t eager_most;                 // bytes of a message that is sent at once; bounded by the channel's payloads
    size_t remote_eager_most;          // likewise, to other hosts
    size_t stream_most;                // bytes of a message inside the node that goes in pieces though it could be read
    bool is_crowded;                   // ranks outnumber cores: who waits for room has it at the next turn of the other
    bool tries_streams;                // and receivers try in use whether that is faster
    size_t credit;                     // bytes that may wait at one receiver from one sender
    size_t buffered_most;              // bytes of copies of small messages that may wait here, 0: none is made
    struct co_matcher_config matcher;  // of a communicator at first
    uint32_t places_most; // that both its tables grow to, as long as there is memory; below the first: they do not
    unsigned lanes;       // that match messages, at most CO_MATCH_LANES_MAX; 0, 1: whoever looks for them does
    // Reads the memory of another peer of the node: the whole length or -errno. NULL: nobody may.
    int (*read)(void *arg, int peer, void *local, uint64_t remote, size_t bytes);
    void *arg;
    uint64_t patience_ns;     // with a short stream of which nothing comes, before its rest is read
    uint64_t (*now_ns)(void); // NULL: the clock's
};

// -ENOMEM: the channel is still the caller's.
int co_p2p_open(struct co_p2p **out, const struct co_p2p_config *config);

// Before anything is sent: another channel, from now on closed with it; the one before is the caller's.
void co_p2p_set_remote_channel(struct co_p2p *p2p, struct co_channel *remote_channel);
// Likewise: a thread of castoff's own moves what is in the background, as long as there is something, and is told by
// `on_background` when that begins. Not with a remote channel that only the program's threads may call.
void co_p2p_share(struct co_p2p *p2p, void (*on_background)(void *arg), void *arg);
bool co_p2p_has_background(const struct co_p2p *p2p);
// By that thread: events, or -EBUSY: the program's threads move it themselves.
int co_p2p_progress_background(struct co_p2p *p2p);
// Nobody calls any more, and no peer waits for what is under way: that ends with -ECANCELED, but for sends whose bytes
// the MPI below may be reading.
void co_p2p_close(struct co_p2p *p2p);
// This peer has ended: what it has sent is still received, and everything else that needs it fails with -ECONNRESET,
// now and later: sends to it, receives from it alone. A receive from anybody waits on. A second time does nothing.
void co_p2p_lose(struct co_p2p *p2p, int peer);
// Peers on other hosts that something waits for: how many, and the next ones after `last` in turn, at most `most`.
// Looks at everything.
int co_p2p_awaited(struct co_p2p *p2p, int last, int *peers, int most);
// Has the channel between hosts find out, where it can, whether these are still there: who is not is lost by itself.
void co_p2p_query(struct co_p2p *p2p, const int *peers, int count);
// Moves on when a message has: tells slow from stuck.
uint64_t co_p2p_advances(const struct co_p2p *p2p);
// Grows after each end of a send or receive that can be seen.
uint64_t co_p2p_ends(const struct co_p2p *p2p);

#endif
