// SPDX-License-Identifier: BSD-3-Clause
//
// castoff's matcher with every number of bins and lanes, each repeating the same steps and compared with their outcome.
// One thread.
#ifndef CASTOFF_TOOLS_TRACE_REPLAY_MATCHERS_H
#define CASTOFF_TOOLS_TRACE_REPLAY_MATCHERS_H

#include "tools/trace/replay/replay.h"
#include "tools/trace/replay/replay_queue.h"

struct co_replay_side; // one matcher's state of all queues

// NULL: no memory.
struct co_replay_side *co_replay_side_open(struct co_replay_matcher *matcher);
// Repeats steps. 0 or -ENOMEM.
int co_replay_side_feed(struct co_replay_side *side, const struct co_replay_step *steps, size_t count);
// Ends blocks that are not full.
int co_replay_side_end(struct co_replay_side *side);
void co_replay_side_close(struct co_replay_side *side);

#endif
