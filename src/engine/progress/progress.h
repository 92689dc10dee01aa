// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor: it alone moves the parts of the engine, and does what follows from what they return. Private to
// src/engine; engine.h has what calls and callbacks need.
#ifndef CASTOFF_ENGINE_PROGRESS_PROGRESS_H
#define CASTOFF_ENGINE_PROGRESS_PROGRESS_H

struct co_engine;
struct co_task;

// An operation of one team, by one thread at a time: from now on it moves, by this thread or by workers.
void co_task_submit(struct co_task *task);

// For workers, which leave the engine to callers that sleep on the descriptors; and with the lock held. Positive:
// something moved. -EBUSY: somebody else holds the engine, who need not be moving it.
int co_engine_progress_for_worker(struct co_engine *engine);
int co_engine_progress_held(struct co_engine *engine);

#endif
