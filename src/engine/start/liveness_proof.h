// SPDX-License-Identifier: BSD-3-Clause
//
// Whose silence is proof. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_LIVENESS_PROOF_H
#define CASTOFF_ENGINE_START_LIVENESS_PROOF_H

#include <stdbool.h>

struct co_engine;

// By each rank for itself: whether its next host answers, if it is the one who asks it for its node.
bool co_liveness_proof_ask(struct co_engine *engine);

// Collective where all were to have threads and some do not. Where it is asked for, all ranks have worker threads, or
// not.
void co_liveness_proof_agree(struct co_engine *engine, bool all_have_threads);

#endif
