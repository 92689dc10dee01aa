// SPDX-License-Identifier: BSD-3-Clause
//
// One descriptor stands for all: who closes one of what he does not know closes all.
#include "engine/progress/descriptors_look.h"

#include "engine/engine_state.h"
#include "transport/transport.h"

void co_descriptors_watch(struct co_engine *engine)
{
    struct pollfd first = {.fd = -1};
    engine->transport->ops->descriptors(engine->transport, &first, 1, 0);
    co_descriptor_keep(&engine->watched, first.fd);
}

bool co_descriptors_look(struct co_engine *engine)
{
    if (engine->mcast == NULL || engine->watched.fd < 0) {
        return true;
    }
    bool are_own = co_descriptor_is_of(engine->watched.fd, &engine->watched.file);
    if (!are_own) {
        co_store_relaxed(&engine->has_lost_descriptors, true); // relaxed: whoever moves the engine looks before he does
    }
    return are_own;
}

bool co_descriptors_are_lost(struct co_engine *engine)
{
    struct pollfd unused;
    if (!co_load_relaxed(&engine->has_lost_descriptors)) { // relaxed: for good
        return false;
    }
    engine->transport->ops->descriptors(engine->transport, &unused, 1, 0);
    return true;
}
