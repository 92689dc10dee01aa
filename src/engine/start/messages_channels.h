// SPDX-License-Identifier: BSD-3-Clause
//
// The channels of point-to-point. Private to src/engine; engine.h has what communicators need.
#ifndef CASTOFF_ENGINE_START_MESSAGES_CHANNELS_H
#define CASTOFF_ENGINE_START_MESSAGES_CHANNELS_H

#include <stdint.h>

#include "shm/shm.h"

struct co_channel;
struct co_engine;

// The rings of this node, while they are opened: in the exchanges by which the node's memory is.
struct co_messages_rings {
    struct co_engine *engine;
    uint64_t job_tag;
    struct co_shm_company company;
    struct co_channel *channel; // NULL: none
    int status;                 // -errno of this node
};
const struct co_shm_company *co_messages_company(struct co_messages_rings *rings); // NULL: none are wanted

// Takes the rings over. 0, or -errno of this rank or its node; `native channel`: likewise for messages between hosts,
// -ENOTSUP where there are none.
int co_messages_open(struct co_engine *engine, const struct co_messages_rings *rings, int *native_channel);
void co_messages_share(struct co_engine *engine); // with the workers, where there are some
void co_messages_close(struct co_engine *engine);

#endif
