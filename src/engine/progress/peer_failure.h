// SPDX-License-Identifier: BSD-3-Clause
//
// Peers that have ended, and who notices it. Private to src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_PEER_FAILURE_H
#define CASTOFF_ENGINE_PROGRESS_PEER_FAILURE_H

struct co_engine;

// Any thread, without the lock: ranks of this node, and those on other hosts that messages wait for.
void co_peer_failure_poll(struct co_engine *engine);

#endif
