// SPDX-License-Identifier: BSD-3-Clause
//
// The first exchange of the engines of a job. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_FIRST_EXCHANGE_H
#define CASTOFF_ENGINE_START_FIRST_EXCHANGE_H

#include <stddef.h>

struct co_engine;

// Collective: who shares a node with whom, whether all decide by one table (`status`: -errno, this rank has none, and
// `why` says it), which cores there are. What else all have said lies in engine->exchange, an array of struct
// co_first_words. 0, or -errno, the same on all ranks, with the reason in `why`.
int co_first_exchange(struct co_engine *engine, int status, char *why, size_t why_room);

#endif
