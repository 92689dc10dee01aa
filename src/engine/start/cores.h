// SPDX-License-Identifier: BSD-3-Clause
//
// Cores against ranks. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_CORES_H
#define CASTOFF_ENGINE_START_CORES_H

struct co_engine;
struct co_first_words;

// Of this rank.
void co_cores_tell(struct co_first_words *mine);

// Of all ranks, whose nodes are known: the words of the first rank of a node get the cores of all of that node.
void co_cores_conclude(struct co_engine *engine, struct co_first_words *words);

#endif
