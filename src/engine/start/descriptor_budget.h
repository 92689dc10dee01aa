// SPDX-License-Identifier: BSD-3-Clause
//
// How many descriptors are ours. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_DESCRIPTOR_BUDGET_H
#define CASTOFF_ENGINE_START_DESCRIPTOR_BUDGET_H

#include <stdbool.h>

struct co_engine;

#define CO_DESCRIPTORS_MOST 256 // that a process can use: sockets, threads, sleepers, peers of the node

void co_descriptors_count(struct co_engine *engine);
int co_descriptors_for_network(void); // the least that it takes
// False: they are not ours to take.
bool co_descriptors_take(struct co_engine *engine, int count);

#endif
