// SPDX-License-Identifier: BSD-3-Clause
//
// The channels of point-to-point. Private to src/engine; engine.h has what communicators need.
#ifndef CASTOFF_ENGINE_START_MESSAGES_CHANNELS_H
#define CASTOFF_ENGINE_START_MESSAGES_CHANNELS_H

#include <stdint.h>

struct co_engine;

// Collective. 0, or -errno of this rank or its node; `native channel`: likewise for messages between hosts, -ENOTSUP
// where there are none.
int co_messages_open(struct co_engine *engine, uint64_t job_tag, int *native_channel);
void co_messages_share(struct co_engine *engine); // with the workers, where there are some
void co_messages_close(struct co_engine *engine);

#endif
