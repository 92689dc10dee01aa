// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor of point-to-point: what has come, what waited for room, what is read from other processes, and the
// peers that are lost on the way. Moved by waiting callers, the native progress loop and workers; who does not get the
// lock leaves it to the holder. A worker keeps away from callers who move it themselves: who waits in a call moves it
// faster.
#include "p2p/p2p_progress.h"

#include <errno.h>

#include "base/log.h"
#include "p2p/arrive.h"
#include "p2p/backlog.h"
#include "p2p/message_batch.h"
#include "p2p/rendezvous_transfer.h"
#include "p2p/p2p_failure.h"
#include "p2p/p2p_state.h"
#include "p2p/receive.h"
#include "p2p/stream_receive.h"

#define LOOK_EVERY 64      // turns in which something else moves
#define COUNT_EVERY 256    // turns: the counters that others may look at (castoff top)
#define PACKETS_AT_ONCE 16 // from one peer, so that a flood from it does not starve the others
#define LAST_LOOKS 64      // at what a peer has written: more than its ring holds
#define POLLS_MOST 32      // until a ring is empty, of so many packets: it has no more slots

static void peers_lose_broken(struct co_p2p *p2p);

static void advances_note(struct co_p2p *p2p)
{
    co_store_relaxed(&p2p->advances, co_load_relaxed(&p2p->advances) + 1); // relaxed: one writer, a hint
}

uint64_t co_p2p_advances(const struct co_p2p *p2p)
{
    return co_load_relaxed(&p2p->advances); // relaxed: a hint
}

uint64_t co_p2p_ends(const struct co_p2p *p2p)
{
    return co_load_acquire(&p2p->ends); // acquire P3: those ends
}

static int channels_poll(struct co_p2p *p2p, int most)
{
    int count = 0;
    for (int i = 0; i < 2; i++) {
        struct co_channel *channel = p2p->routes[i].channel;
        if (channel != NULL) {
            count += channel->ops->poll(channel, most, co_p2p_on_packet, &p2p->routes[i]);
        }
    }
    if (p2p->batch != NULL) {
        co_p2p_batch_match(p2p); // nobody posts or looks for anything before
    }
    peers_lose_broken(p2p);
    return count;
}

void co_p2p_take_last_packets(struct co_p2p *p2p)
{
    p2p->takes_all = true;
    for (int i = 0; i < LAST_LOOKS && channels_poll(p2p, LAST_LOOKS) > 0; i++) {
    }
    p2p->takes_all = false;
}

static void peer_lose(struct co_p2p *p2p, int peer)
{
    if (!p2p->peers[peer].is_gone && peer != p2p->config.self) {
        co_p2p_take_last_packets(p2p);
        co_p2p_fail_peer(p2p, peer);
        advances_note(p2p);
    }
}

// Not from within a poll: giving up a peer polls.
static void peers_lose_broken(struct co_p2p *p2p)
{
    if (!p2p->has_broken_one) {
        return;
    }
    p2p->has_broken_one = false;
    for (int peer = 0; peer < p2p->config.size; peer++) {
        if (p2p->peers[peer].is_broken) {
            p2p->peers[peer].is_broken = false;
            if (!p2p->peers[peer].is_remote) {
                co_log(CO_LOG_ERROR, CO_SUBSYS_P2P, "the shared memory of messages from rank %d was written over",
                       peer);
            }
            peer_lose(p2p, peer);
        }
    }
}

void co_p2p_lose(struct co_p2p *p2p, int peer)
{
    co_p2p_lock(p2p);
    peer_lose(p2p, peer);
    co_p2p_unlock(p2p);
}

// False: there is more in the ring of this peer than can be taken now.
static bool ring_take_all(struct co_p2p *p2p, int peer)
{
    const struct co_p2p_peer *from = &p2p->peers[peer];
    for (int i = 0; i < POLLS_MOST && from->channel->ops->has_more(from->channel, from->number); i++) {
        channels_poll(p2p, POLLS_MOST);
    }
    return !from->channel->ops->has_more(from->channel, from->number);
}

// Senders of what streams that may have stopped; how many streams have moved.
static int streams_poll(struct co_p2p *p2p)
{
    int count = 0;
    for (int peer = 0; p2p->config.read != NULL && peer < p2p->config.size; peer++) {
        uint64_t handle = co_p2p_stopped_stream(p2p, peer);
        if (handle != 0) {
            bool all_is_taken = ring_take_all(p2p, peer);
            count += co_p2p_read_stopped(p2p, peer, handle, all_is_taken);
        }
    }
    return count;
}

static int p2p_progress(struct co_p2p *p2p)
{
    int events = channels_poll(p2p, PACKETS_AT_ONCE);
    p2p->turns++;
    if (p2p->config.remote_channel != NULL) {
        events += co_p2p_transfer_end(p2p);
        peers_lose_broken(p2p);
    }
    if (p2p->waiting > 0) {
        events += co_p2p_push_waiting(p2p);
    }
    if (p2p->first_read != NULL) {
        events += co_p2p_read_progress(p2p);
    }
    if (p2p->first_cts != NULL) {
        events += co_p2p_transfer_receive_waiting(p2p);
    }
    if (p2p->streams > 0 && (events == 0 || ++p2p->busy_turns % LOOK_EVERY == 0)) {
        events += streams_poll(p2p);
    }
    if (events > 0) {
        advances_note(p2p);
    }
    return events;
}

int co_p2p_progress(struct co_p2p *p2p)
{
    if (!co_p2p_try(p2p)) {
        return 0;
    }
    if (__builtin_expect(++p2p->caller_moves % COUNT_EVERY == 0, 0)) {
        co_p2p_totals_count(&p2p->totals, &p2p->told);
    }
    int events = p2p->is_closing ? 0 : p2p_progress(p2p);
    co_p2p_unlock(p2p);
    return events;
}

void co_p2p_share(struct co_p2p *p2p, void (*on_background)(void *arg), void *arg)
{
    p2p->background_arg = arg;
    p2p->on_background = on_background;
}

bool co_p2p_has_background(const struct co_p2p *p2p)
{
    return co_load_relaxed(&p2p->background) > 0; // relaxed: whoever begins one tells so afterwards
}

int co_p2p_progress_background(struct co_p2p *p2p)
{
    if (!co_p2p_has_background(p2p)) {
        return 0;
    }
    if (!co_p2p_try(p2p)) {
        return -EBUSY;
    }
    bool callers_move = p2p->caller_moves != p2p->moves_seen;
    p2p->moves_seen = p2p->caller_moves;
    int events = callers_move || p2p->is_closing ? -EBUSY : p2p_progress(p2p);
    co_p2p_unlock(p2p);
    return events;
}
