// SPDX-License-Identifier: BSD-3-Clause
//
// What point-to-point consists of, and its lock. Private to src/p2p. From above to below; a part calls only parts below
// it, and tells those above by what it returns or leaves in the state:
//   p2p.c            open, close
//   p2p_progress.c   the conductor: whatever can move, and what follows from it
//   p2p_failure.c    what waits for a peer that has ended, and our own end
//   backlog.c        what found no room is pushed     arrive.c    packets from peers
//   send.c           from the call                     message_batch.c, lanes.c   matched by several threads
//   eager_or_rendezvous.c   how a message leaves: eager, or an RTS
//   receive.c        from the match to the bytes
//   stream_send.c, stream_receive.c   middle ones inside a node    rendezvous_transfer.c   large messages between hosts
//   reply.c          what a sender is told            buffered_copy.c      copies of small messages without credit
//   stream_trials.c  which way messages of a size come faster
//   finish.c         numbers and ends of operations   context.c   communicators, also those that are not known yet
//   message.c        messages without a receive       queue.c     what finds no room
//   background.h     moved while the program computes     peer_channel.h   packets, gates, credit
#ifndef CASTOFF_P2P_STATE_H
#define CASTOFF_P2P_STATE_H

#include <sched.h>

#include "base/hash_map.h"
#include "base/atomics.h"
#include "base/plain_counters.h"
#include "p2p/handles.h"
#include "p2p/p2p_open.h"
#include "p2p/p2p_totals.h"
#include "p2p/peer.h"

#define CO_MESSAGE_SMALL 4096 // payload bytes: sends of so few end without their receive, as on stock (4,040 there)
#define CO_MESSAGE_COST 256   // that an eager message counts for beside its bytes, against its sender's credit
#define CO_P2P_SPARE_MOST 64  // tables of communicators that have ended

// A channel, and whom its numbers mean: what is handed over with a packet.
struct co_p2p_route {
    struct co_p2p *p2p;
    struct co_channel *channel;
    const int *peers; // by place
};

struct co_p2p {
    struct co_trylock lock;
    struct co_p2p_config config;
    struct co_p2p_peer *peers;                   // [config.size]
    struct co_p2p_route routes[2];               // inside the node, to other hosts
    int *peer_of_local_rank;                     // [config.size], of the channel inside the node
    bool is_closing;                             // nothing moves any more
    int waiting;                                 // of them
    int streams;                                 // receives
    int rts_pending;                             // sends inside the node that no buffered copy stands for, not done
    size_t first_fragment_most;                  // bytes
    size_t surely_eager;                         // bytes, from whatever peer
    unsigned turns, busy_turns;                  // of progress; while there are such receives
    struct co_hash_map contexts;                 // by id
    struct co_p2p_context *last_context;         // that a message was for, always one; nobody's: none, or lanes match
    struct co_p2p_ended *ended;                  // communicators, NULL: none has
    struct co_matcher *spare[CO_P2P_SPARE_MOST]; // of communicators that have ended, of the first size
    unsigned spare_count;
    struct co_handles sends_named, receives_named;  // by which peers answer
    struct co_p2p_receive *first_read, **last_read; // straight from their senders' memory
    struct co_p2p_receive *first_cts, **last_cts;   // of other hosts, that wait until the remote channel has room
    struct co_p2p_message *free_messages;
    unsigned char *spare_payload;      // for a message that finds no memory
    uint64_t transmitted;              // packets
    size_t buffered;                   // bytes of copies
    struct co_p2p_totals totals, told; // told: of them, what the counters have
    struct co_p2p_batch *batch;        // NULL: each message is matched as it comes
    // co_p2p_share: operations in the background, sends and receives of what may be offered; written with the lock
    void (*on_background)(void *arg); // NULL: not shared
    void *background_arg;
    _Atomic unsigned background;
    bool background_begins;            // and nobody has been told
    unsigned caller_moves, moves_seen; // by the program's threads; by the thread that has the background
    _Atomic bool has_lost_one;         // of the peers; written with the lock
    bool has_broken_one;               // struct co_p2p_peer
    bool takes_all;                    // no piece is left in its ring
    _Atomic int probed;                // for whose messages somebody has looked in vain, -1: nobody has
    _Atomic uint64_t advances;
    _Atomic uint64_t ends; // of sends and receives; written with the lock
};

static inline bool co_p2p_try(struct co_p2p *p2p)
{
    return p2p->on_background == NULL ? co_plain_lock_try(&p2p->lock) : co_trylock_take(&p2p->lock);
}

static inline void co_p2p_lock(struct co_p2p *p2p)
{
    while (!co_p2p_try(p2p)) {
        sched_yield();
    }
}

// What has been handed to the remote channel starts at once, without the lock.
static inline void co_p2p_unlock(struct co_p2p *p2p)
{
    co_plain_lock_drop(&p2p->lock);
    if (p2p->config.remote_channel != NULL) {
        p2p->config.remote_channel->ops->flush(p2p->config.remote_channel);
    }
}

// At the end of a call that starts something.
static inline void co_p2p_unlock_started(struct co_p2p *p2p)
{
    bool begins = p2p->background_begins && co_load_relaxed(&p2p->background) > 0; // relaxed: lock held
    p2p->background_begins = false;
    co_p2p_unlock(p2p);
    if (begins) {
        p2p->on_background(p2p->background_arg);
    }
}

#endif
