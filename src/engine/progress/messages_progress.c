// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point while the job runs: its part of a turn of the engine, by callers and by the first worker, and which of
// its peers have ended. What channels there are: start/messages_channels.c. Progress is hot.
#include "engine/progress/messages_progress.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "mcast/mcast.h"
#include "p2p/channel/rc_channel.h"
#include "p2p/channel/native_channel.h"
#include "p2p/p2p.h"
#include "p2p/p2p_open.h"
#include "transport/transport.h"

#define ASK_EVERY_NS (CO_NS_PER_S / 2)       // for signs of life, in turn: at least one that is waited for,
#define ASK_ROUNDS 16                        // and all of them so often in a deadline,
#define ASK_AT_ONCE CO_TRANSPORT_HOSTS_ASKED // so many at most

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

// How many of those that are waited for are asked now, so that all are asked often enough.
static int count_to_ask(int awaited, uint64_t every_ns, uint64_t round_ns)
{
    uint64_t share = ((uint64_t)awaited * every_ns + round_ns - 1) / round_ns;
    int most = awaited < ASK_AT_ONCE ? awaited : ASK_AT_ONCE;
    return share < (uint64_t)most ? (int)share : most;
}

static void lose(struct co_engine *engine, int rank)
{
    char who[64];
    snprintf(who, sizeof who, "rank %d", rank);
    if (engine->transport->ops->peer_text != NULL) {
        engine->transport->ops->peer_text(engine->transport, rank, who, sizeof who);
    }
    co_log(CO_LOG_WARN, CO_SUBSYS_P2P, "%s is gone, or cannot be reached: what waits for its messages fails", who);
    co_p2p_lose(engine->p2p, rank);
}

// By castoff's own network: native tells nothing. The lock is waited for: whoever moves the engine all the time would
// keep it from us for ever.
static void query_awaited(struct co_engine *engine, const int *ranks, int count)
{
    int gone[ASK_AT_ONCE], gone_count = 0;
    co_trylock_wait(&engine->lock);
    uint64_t now_ns = co_clock_now_ns();
    for (int i = 0; i < count && co_load_relaxed(&engine->network_error) == 0; i++) {
        if (co_mcast_await_peer(engine->mcast, ranks[i], now_ns, engine->has_multicast)) {
            gone[gone_count++] = ranks[i];
        }
    }
    co_trylock_drop(&engine->lock);
    for (int i = 0; i < gone_count; i++) {
        lose(engine, gone[i]);
    }
}

void co_messages_query_liveness(struct co_engine *engine)
{
    bool has_network = engine->mcast != NULL && co_load_relaxed(&engine->network_error) == 0;
    if (engine->rc_channel == NULL && (engine->native_channel == NULL || !has_network)) {
        return;
    }
    int ranks[ASK_AT_ONCE];
    uint64_t now_ns = co_clock_now_ns();
    uint64_t round_ns = (uint64_t)co_setting_number(CO_SET_DEADLINE_S) * CO_NS_PER_S / ASK_ROUNDS;
    uint64_t every_ns = round_ns < ASK_EVERY_NS ? round_ns : ASK_EVERY_NS;
    if (now_ns - co_load_relaxed(&engine->asked_ns) < every_ns) { // relaxed: two at a time ask twice
        return;
    }
    co_store_relaxed(&engine->asked_ns, now_ns);
    int awaited = co_p2p_awaited(engine->p2p, co_load_relaxed(&engine->asked), ranks, ASK_AT_ONCE);
    int count = count_to_ask(awaited, every_ns, round_ns);
    if (count > 0) {
        co_store_relaxed(&engine->asked, ranks[count - 1]);
    }
    if (count > 0 && !(has_network && co_mcast_silence_is_proof(engine->mcast))) { // else a pause would end connections
        co_p2p_query(engine->p2p, ranks, count);
    }
    if (count > 0 && has_network) {
        query_awaited(engine, ranks, count);
    }
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
