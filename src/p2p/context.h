// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators as point-to-point sees them: who is in them, their matchers, and who still needs them. Lock held.
#ifndef CASTOFF_P2P_CONTEXT_H
#define CASTOFF_P2P_CONTEXT_H

#include "p2p/p2p_state.h"

struct co_p2p_context {
    struct co_p2p *p2p;
    uint64_t id;
    struct co_matcher *matcher;
    struct co_matcher_config tables; // of it
    bool may_not_grow;               // there was no memory
    int *peers;                      // NULL: messages have come, but the communicator is not known yet
    int size, rank;
    bool is_closed;
    unsigned users;   // operations under way, and the following
    unsigned holders; // persistent requests, messages that a probe has taken, copies whose senders are done
};

// The context of a message, made when it is not known yet. NULL: no memory, or it has ended or no such rank.
struct co_p2p_context *co_p2p_context_find(struct co_p2p *p2p, int peer, const struct co_packet *packet);
// Whether a message for which there is no context must not wait: it has ended, or the sender is not who it says.
bool co_p2p_context_leaves_out(const struct co_p2p *p2p, int peer, uint64_t id, int32_t source);
void co_p2p_context_forget_last(struct co_p2p *p2p);
// Nobody uses it, and so no message of ours to ourselves is in it.
void co_p2p_context_end(struct co_p2p_context *context);
void co_p2p_context_grow(struct co_p2p_context *context);
void co_p2p_contexts_close(struct co_p2p *p2p); // at the end

// Whether the peer is the rank of it that it says; nobody is before it is known.
static inline bool co_p2p_context_has(const struct co_p2p_context *context, int peer, int32_t source)
{
    return (uint32_t)source < (uint32_t)context->size && context->peers[source] == peer;
}

static inline bool co_p2p_context_is_of(const struct co_p2p_context *context, int peer, const struct co_packet *packet)
{
    return context->id == packet->context && co_p2p_context_has(context, peer, packet->source);
}

static inline struct co_p2p_context *co_p2p_context_of(struct co_p2p *p2p, int peer, const struct co_packet *packet)
{
    struct co_p2p_context *last = p2p->last_context;
    return co_p2p_context_is_of(last, peer, packet) ? last : co_p2p_context_find(p2p, peer, packet);
}

// One user less.
static inline void co_p2p_context_drop(struct co_p2p_context *context)
{
    if (--context->users == 0 && context->is_closed) {
        co_p2p_context_end(context);
    }
}

// For what waits now: tables are made larger when it found no place in them.
static inline void co_p2p_context_make_room(struct co_p2p_context *context, const struct co_match_node *waiting)
{
    if (__builtin_expect(waiting->place == 0, 0)) {
        co_p2p_context_grow(context);
    }
}

// Whether nothing more will come from the one that such a receive names.
static inline bool co_p2p_source_is_gone(const struct co_p2p_context *context, int32_t source)
{
    const struct co_p2p *p2p = context->p2p;
    return co_load_relaxed(&p2p->has_lost_one) && source != CO_P2P_ANY && p2p->peers[context->peers[source]].is_gone;
}

#endif
