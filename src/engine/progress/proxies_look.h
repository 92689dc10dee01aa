// SPDX-License-Identifier: BSD-3-Clause
//
// What waiting calls do for proxies (engine.h): nothing, where none carries anything. Private to src/engine; hot.
#ifndef CASTOFF_ENGINE_PROGRESS_PROXIES_LOOK_H
#define CASTOFF_ENGINE_PROGRESS_PROXIES_LOOK_H

#include "engine/engine_state.h"

// NULL: they carry nothing of this rank's, or have no descriptor any more.
static inline struct co_proxies *co_engine_proxies_awaited(const struct co_engine *engine)
{
    struct co_proxies *proxies = engine->proxies;
    if (proxies == NULL || co_load_relaxed(&proxies->under_way) == 0) { // relaxed: who waits has begun his call
        return NULL;
    }
    return proxies->descriptor(proxies->arg) >= 0 ? proxies : NULL;
}

static inline void co_engine_proxies_look(const struct co_engine *engine, uint64_t now_ns)
{
    struct co_proxies *proxies = engine->proxies;
    if (proxies != NULL && co_load_relaxed(&proxies->under_way) > 0) { // relaxed: as above
        proxies->look(proxies->arg, now_ns);
    }
}

// Without the look at what is under way, for calls that were refused may wait, too.
static inline void co_engine_proxies_move(struct co_engine *engine)
{
    struct co_proxies *proxies = engine->proxies;
    if (proxies != NULL && proxies->move != NULL && proxies->move(proxies->arg)) {
        co_store_relaxed(proxies->is_crowded, true); // relaxed: those who move have a lock of their own
    }
}

static inline uint64_t co_engine_proxies_moved(const struct co_engine *engine)
{
    struct co_proxies *proxies = engine->proxies;
    bool is_asked = proxies != NULL && proxies->moved != NULL && co_load_relaxed(&proxies->under_way) > 0; // as above
    return is_asked ? proxies->moved(proxies->arg) : 0;
}

#endif
