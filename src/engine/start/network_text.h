// SPDX-License-Identifier: BSD-3-Clause
//
// The sentence about the network of the job. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_NETWORK_TEXT_H
#define CASTOFF_ENGINE_START_NETWORK_TEXT_H

struct co_engine;

void co_network_say(struct co_engine *engine, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
