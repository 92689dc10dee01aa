// SPDX-License-Identifier: BSD-3-Clause
//
// Messages while the job runs: who moves them, and what ends them. Private to src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_MESSAGES_PROGRESS_H
#define CASTOFF_ENGINE_PROGRESS_MESSAGES_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct co_engine;

int co_messages_progress(struct co_engine *engine, bool inside);
uint64_t co_messages_advances(const struct co_engine *engine);

bool co_messages_in_background(const struct co_engine *engine);
int co_messages_progress_background(struct co_engine *engine); // by the first worker, as co_p2p_progress_background
bool co_messages_are_in_background(void);                      // the calling thread is at that

void co_messages_let_go(struct co_engine *engine);                     // of the device, which is broken or taken away
void co_messages_abort_peer(struct co_engine *engine, int local_rank); // a rank of this node has ended
void co_messages_query_liveness(struct co_engine *engine);             // those on other hosts that messages wait for

#endif
