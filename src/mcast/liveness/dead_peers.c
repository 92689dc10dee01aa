// SPDX-License-Identifier: BSD-3-Clause
//
// Peers that are said to be gone. The transport brings hints, which refusals.c judges; a peer in doubt is asked until
// it says something, is gone by that judgement, or the hints end. One that this host cannot send to is gone at once.
// Who was given up and speaks is alive again, though what was broken by then stays so. Cold but for the look at the
// transport.
#include "base/log.h"
#include "mcast/state/endpoint.h"
#include "mcast/liveness/dead_peers.h"

static void give_up(struct co_mcast *mcast, int rank)
{
    struct co_peer *peer = &mcast->peers[rank];
    if (peer->is_dead) {
        return;
    }
    mcast->doubtful_peers -= co_refusals_is_doubtful(&peer->refusals);
    co_refusals_heard(&peer->refusals);
    peer->is_dead = true;
    mcast->dead_peers++;
    mcast->timer_ns = 0;
    mcast->events++;
    co_log(CO_LOG_INFO, CO_SUBSYS_MCAST, "rank %d is gone, or cannot be sent to", rank);
}

static void doubt(struct co_mcast *mcast, int rank)
{
    struct co_peer *peer = &mcast->peers[rank];
    if (peer->is_dead) {
        return;
    }
    bool was_doubtful = co_refusals_is_doubtful(&peer->refusals);
    if (co_refusals_add(&peer->refusals, mcast->now_ns)) {
        give_up(mcast, rank);
    } else if (!was_doubtful) {
        mcast->doubtful_peers++;
        mcast->liveness_due_ns = mcast->timer_ns = 0;
    }
}

void co_dead_peers_poll_transport(struct co_mcast *mcast)
{
    const struct co_transport_ops *ops = mcast->transport->ops;
    int rank;
    while ((rank = ops->dead_peer(mcast->transport)) >= 0) {
        if (rank < mcast->config.world_size) {
            give_up(mcast, rank);
        }
    }
    while (ops->refused_peer != NULL && (rank = ops->refused_peer(mcast->transport)) >= 0) {
        if (rank < mcast->config.world_size && rank != mcast->config.world_rank) {
            doubt(mcast, rank);
        }
    }
}

void co_dead_peers_heard(struct co_mcast *mcast, int rank)
{
    struct co_peer *peer = &mcast->peers[rank];
    mcast->dead_peers -= peer->is_dead;
    peer->is_dead = false;
    peer->was_heard = true;
    mcast->doubtful_peers -= co_refusals_is_doubtful(&peer->refusals);
    co_refusals_heard(&peer->refusals);
}

void co_dead_peers_progress(struct co_mcast *mcast)
{
    if (mcast->doubtful_peers == 0 || mcast->now_ns < mcast->liveness_due_ns) {
        return;
    }
    mcast->liveness_due_ns = mcast->now_ns + CO_REFUSALS_ASK_NS;
    for (int rank = 0; rank < mcast->config.world_size; rank++) {
        struct co_refusals *refusals = &mcast->peers[rank].refusals;
        bool was_doubtful = co_refusals_is_doubtful(refusals);
        if (co_refusals_is_to_be_asked(refusals, mcast->now_ns)) {
            co_mcast_query_liveness(mcast, rank);
        }
        mcast->doubtful_peers -= was_doubtful && !co_refusals_is_doubtful(refusals);
    }
}

uint64_t co_dead_peers_due_ns(const struct co_mcast *mcast)
{
    return mcast->doubtful_peers > 0 ? mcast->liveness_due_ns : CO_NEVER;
}
