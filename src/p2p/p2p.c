// SPDX-License-Identifier: BSD-3-Clause
//
// The life of point-to-point: opened with the channels of the engine, and closed when no peer waits for anything.
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "p2p/message_batch.h"
#include "p2p/context.h"
#include "p2p/p2p_failure.h"
#include "p2p/message.h"
#include "p2p/p2p_progress.h"
#include "p2p/p2p_state.h"
#include "p2p/packet_trace.h"
#include "p2p/stream_trials.h"

#define FIRST_FRAGMENT_PACKETS 4 // the largest: what comes unasked of a message that streams,
#define FIRST_FRAGMENT_MOST ((size_t)32 << 10)

// Of a message, what fits a packet of the channel beside a handle.
static size_t channel_packet_most(const struct co_channel *channel)
{
    return channel == NULL ? 0 : channel->payload_most - sizeof(struct co_packet_handle);
}

static size_t first_fragment_bounded(const struct co_channel *channel)
{
    size_t fits = FIRST_FRAGMENT_PACKETS * channel_packet_most(channel);
    return fits < FIRST_FRAGMENT_MOST ? fits : FIRST_FRAGMENT_MOST;
}

static size_t eager_bounded(size_t eager_most, const struct co_channel *channel)
{
    size_t fits = channel == NULL ? eager_most : channel_packet_most(channel);
    return eager_most < fits ? eager_most : fits;
}

static size_t eager_least(const struct co_p2p_config *config)
{
    bool remote_is_less = config->remote_channel != NULL && config->remote_eager_most < config->eager_most;
    return remote_is_less ? config->remote_eager_most : config->eager_most;
}

static void peer_open(struct co_p2p *p2p, int number)
{
    const struct co_p2p_config *config = &p2p->config;
    struct co_p2p_peer *peer = &p2p->peers[number];
    int local_rank = config->local_ranks == NULL ? number : config->local_ranks[number];
    peer->is_remote = local_rank < 0;
    peer->channel = peer->is_remote ? config->remote_channel : config->channel;
    peer->number = peer->is_remote ? number : local_rank;
    peer->eager_most = (uint32_t)(peer->is_remote ? config->remote_eager_most : config->eager_most);
    if (!peer->is_remote) {
        p2p->peer_of_local_rank[local_rank] = number;
    }
    co_p2p_queue_open(&peer->answers);
    co_p2p_queue_open(&peer->urgent);
    co_p2p_queue_open(&peer->messages);
    peer->last_stream = &peer->first_stream;
}

static void channel_trace_if_on(struct co_channel *channel)
{
    if (co_log_is_on(CO_LOG_TRACE, CO_SUBSYS_P2P)) {
        co_packet_trace(channel);
    }
}

void co_p2p_set_remote_channel(struct co_p2p *p2p, struct co_channel *remote_channel)
{
    channel_trace_if_on(remote_channel);
    p2p->config.remote_channel = remote_channel;
    p2p->config.remote_eager_most = eager_bounded(p2p->config.remote_eager_most, remote_channel);
    p2p->surely_eager = eager_least(&p2p->config);
    p2p->routes[1].channel = remote_channel;
    for (int peer = 0; peer < p2p->config.size; peer++) {
        if (p2p->peers[peer].is_remote) {
            p2p->peers[peer].channel = remote_channel;
            p2p->peers[peer].eager_most = (uint32_t)p2p->config.remote_eager_most;
        }
    }
}

static void p2p_free(struct co_p2p *p2p)
{
    if (p2p != NULL) {
        co_p2p_batch_close(p2p->batch);
        if (p2p->peers != NULL) {
            co_p2p_trials_close(p2p);
        }
        free(p2p->peers);
        free(p2p->peer_of_local_rank);
    }
    free(p2p);
}

int co_p2p_open(struct co_p2p **out, const struct co_p2p_config *config)
{
    struct co_p2p *p2p = calloc(1, sizeof(*p2p));
    if (p2p != NULL) {
        *p2p = (struct co_p2p){.lock = CO_TRYLOCK_INIT,
                               .config = *config,
                               .peers = calloc((size_t)config->size, sizeof(struct co_p2p_peer)),
                               .peer_of_local_rank = calloc((size_t)config->size, sizeof(int)),
                               .batch = config->lanes > 1 ? co_p2p_batch_open(config->lanes) : NULL,
                               .last_read = &p2p->first_read,
                               .last_cts = &p2p->first_cts,
                               .probed = -1};
    }
    if (p2p == NULL || p2p->peers == NULL || p2p->peer_of_local_rank == NULL ||
        (config->lanes > 1 && p2p->batch == NULL)) {
        p2p_free(p2p);
        return -ENOMEM;
    }
    p2p->config.eager_most = eager_bounded(config->eager_most, config->channel);
    p2p->first_fragment_most = first_fragment_bounded(config->channel);
    p2p->config.remote_eager_most = eager_bounded(config->remote_eager_most, config->remote_channel);
    p2p->surely_eager = eager_least(&p2p->config);
    for (int peer = 0; peer < config->size; peer++) {
        peer_open(p2p, peer);
    }
    p2p->config.local_ranks = NULL; // the caller's
    p2p->config.now_ns = config->now_ns != NULL ? config->now_ns : co_clock_now_ns;
    p2p->routes[0] = (struct co_p2p_route){p2p, config->channel, p2p->peer_of_local_rank};
    p2p->routes[1] = (struct co_p2p_route){p2p, config->remote_channel, NULL};
    co_hash_map_open(&p2p->contexts);
    co_p2p_context_forget_last(p2p);
    channel_trace_if_on(config->channel);
    channel_trace_if_on(config->remote_channel);
    *out = p2p;
    return 0;
}

void co_p2p_close(struct co_p2p *p2p)
{
    co_p2p_lock(p2p);
    co_p2p_take_last_packets(p2p);
    p2p->is_closing = true; // also for native's progress loop, which may come by while the remote channel is closed
    co_p2p_unlock(p2p);
    for (int i = 0; i < 2; i++) {
        if (p2p->routes[i].channel != NULL) {
            p2p->routes[i].channel->ops->close(p2p->routes[i].channel);
        }
    }
    co_p2p_end_all(p2p);
    co_p2p_contexts_close(p2p);
    co_p2p_totals_count(&p2p->totals, &p2p->told);
    co_p2p_messages_close(p2p);
    co_handles_close(&p2p->sends_named);
    co_handles_close(&p2p->receives_named);
    p2p_free(p2p);
}
