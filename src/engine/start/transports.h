// SPDX-License-Identifier: BSD-3-Clause
//
// Shared memory, network and messages, together on all ranks. Private to src/engine.
#ifndef CASTOFF_ENGINE_START_TRANSPORTS_H
#define CASTOFF_ENGINE_START_TRANSPORTS_H

#include <stddef.h>

struct co_engine;

// Collective. 0, or -errno and why.
int co_transports_open(struct co_engine *engine, char *why, size_t why_room);
void co_transports_close(struct co_engine *engine);

#endif
