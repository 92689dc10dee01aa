// SPDX-License-Identifier: BSD-3-Clause
//
// Do all nodes hear the multicast? Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_NETWORK_PROBE_H
#define CASTOFF_ENGINE_START_NETWORK_PROBE_H

struct co_engine;

// Collective: do all nodes hear the multicast? The same answer everywhere, 0 or -errno; engine->network names those
// that do not. `started`: 0, or -errno, this rank has no network to ask by.
int co_network_probe(struct co_engine *engine, int started);

#endif
