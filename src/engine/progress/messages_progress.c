// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point while the job runs: its part of a turn of the engine, by callers and by the first worker, and which of
// its peers have ended. What channels there are: start/messages_channels.c. Progress is hot.
#include "engine/progress/messages_progress.h"

#include "base/clock.h"
#include "engine/engine_state.h"
#include "mcast/mcast.h"
#include "p2p/channel/rc_channel.h"
#include "p2p/channel/native_channel.h"
#include "p2p/p2p.h"
#include "p2p/p2p_open.h"

#define ASK_EVERY_NS (CO_NS_PER_S / 2) // for a sign of life: one that is waited for, in turn

// Of a thread of castoff's own that calls native.
static _Thread_local bool is_in_background __attribute__((tls_model("initial-exec")));

bool co_messages_in_background(const struct co_engine *engine)
{
    return co_load_acquire(&engine->shares_messages) && co_p2p_has_background(engine->p2p); // acquire U1
}

// Native calls back from its progress loop, and what it calls there takes whoever comes for a caller who moves.
static int native_channel_background(struct co_engine *engine)
{
    is_in_background = true;
    int events = co_native_channel_progress(engine->native_channel, false);
    is_in_background = false;
    return events;
}

int co_messages_progress_background(struct co_engine *engine)
{
    if (!co_load_acquire(&engine->shares_messages) || !co_p2p_has_background(engine->p2p)) { // acquire U1
        return 0;
    }
    int events = co_p2p_progress_background(engine->p2p);
    return events < 0 || engine->native_channel == NULL ? events : events + native_channel_background(engine);
}

bool co_messages_are_in_background(void)
{
    return is_in_background;
}

void co_messages_let_go(struct co_engine *engine)
{
    if (engine->rc_channel != NULL) {
        co_rc_channel_let_go(engine->rc_channel);
        co_store_relaxed(&engine->has_more_to_move, true); // relaxed: the channel has its own word
    }
}

void co_messages_abort_peer(struct co_engine *engine, int local_rank)
{
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        if (engine->local_rank_of[rank] == local_rank && engine->node_of_rank[rank] == engine->bootstrap.node_index) {
            co_p2p_lose(engine->p2p, rank);
        }
    }
}

// The kernel of its host answers for a process that has ended, native does not.
static bool is_gone(struct co_engine *engine, int rank)
{
    bool is_gone = false;
    if (co_trylock_take(&engine->lock)) {
        is_gone = co_mcast_is_gone(engine->mcast, rank);
        if (!is_gone) {
            co_mcast_query_liveness(engine->mcast, rank);
        }
        co_trylock_drop(&engine->lock);
    }
    return is_gone;
}

void co_messages_query_liveness(struct co_engine *engine)
{
    bool has_far_peers = engine->native_channel != NULL || engine->rc_channel != NULL;
    if (!has_far_peers || engine->mcast == NULL || co_load_relaxed(&engine->network_error) != 0) {
        return;
    }
    uint64_t now_ns = co_clock_now_ns();
    if (now_ns - co_load_relaxed(&engine->asked_ns) < ASK_EVERY_NS) { // relaxed: two at a time ask twice
        return;
    }
    co_store_relaxed(&engine->asked_ns, now_ns);
    int rank = co_p2p_awaited(engine->p2p, co_load_relaxed(&engine->asked));
    if (rank >= 0) {
        co_store_relaxed(&engine->asked, rank);
        if (is_gone(engine, rank)) {
            co_p2p_lose(engine->p2p, rank);
        }
    }
}

bool co_messages_need_native(const struct co_engine *engine)
{
    return engine->native_channel != NULL && !co_native_channel_is_idle(engine->native_channel);
}

uint64_t co_messages_advances(const struct co_engine *engine)
{
    uint64_t moved = engine->native_channel != NULL ? co_native_channel_advances(engine->native_channel)
                     : engine->rc_channel != NULL   ? co_rc_channel_advances(engine->rc_channel)
                                                    : 0;
    return engine->p2p == NULL ? 0 : co_p2p_advances(engine->p2p) + moved;
}

int co_messages_progress(struct co_engine *engine, bool inside)
{
    int events = engine->native_channel == NULL ? 0 : co_native_channel_progress(engine->native_channel, inside);
    return events + co_p2p_progress(engine->p2p);
}
