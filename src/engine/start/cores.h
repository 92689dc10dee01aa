// SPDX-License-Identifier: BSD-3-Clause
//
// Cores against ranks. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_CORES_H
#define CASTOFF_ENGINE_START_CORES_H

struct co_engine;

// Collective, and the same answer everywhere. 0 or -errno.
int co_cores_agree(struct co_engine *engine);

#endif
