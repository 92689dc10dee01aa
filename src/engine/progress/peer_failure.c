// SPDX-License-Identifier: BSD-3-Clause
//
// Looks for peers that have ended, on behalf of whoever waits: processes of this node by what the kernel says, those on
// other hosts that messages wait for by asking them. What carries collectives between hosts notices its own. Rare.
#include "engine/progress/peer_failure.h"

#include "base/log.h"
#include "engine/engine_state.h"
#include "engine/progress/messages_progress.h"
#include "shm/shm.h"

static void look_at_this_node(struct co_engine *engine)
{
    if (engine->shm == NULL || co_shm_node_dead_peer(engine->shm) < 0) {
        return;
    }
    for (int rank = 0; rank < engine->bootstrap.node_size; rank++) {
        if (!co_load_relaxed(&engine->is_gone[rank]) && co_shm_node_is_gone(engine->shm, rank)) {
            co_store_relaxed(&engine->is_gone[rank], true);
            if (engine->p2p != NULL) {
                co_messages_abort_peer(engine, rank);
            }
            co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "the process of rank %d of this node is gone", rank);
        }
    }
    co_store_relaxed(&engine->has_lost_one, true);
}

void co_peer_failure_poll(struct co_engine *engine)
{
    look_at_this_node(engine);
    co_messages_query_liveness(engine);
}
