// SPDX-License-Identifier: BSD-3-Clause
//
// Birth and end of the worker threads. Private to src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_WORKERS_OPEN_H
#define CASTOFF_ENGINE_PROGRESS_WORKERS_OPEN_H

#include <stddef.h>

struct co_engine;

// 0, or -errno where this rank has no thread.
int co_workers_open(struct co_engine *engine);
void co_workers_close(struct co_engine *engine);
void co_workers_describe(const struct co_engine *engine, char *text, size_t room);

#endif
