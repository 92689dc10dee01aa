// SPDX-License-Identifier: BSD-3-Clause
//
// Whose silence is proof. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_LIVENESS_PROOF_H
#define CASTOFF_ENGINE_START_LIVENESS_PROOF_H

#include <stdbool.h>

struct co_engine;

// Collective. Where it is asked for, all ranks have worker threads, or not.
void co_liveness_proof_agree(struct co_engine *engine, bool all_have_threads);

#endif
