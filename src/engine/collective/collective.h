// SPDX-License-Identifier: BSD-3-Clause
//
// The steps of a collective on this rank, by its task. Private to src/engine; lock held.
#ifndef CASTOFF_ENGINE_COLLECTIVE_COLLECTIVE_H
#define CASTOFF_ENGINE_COLLECTIVE_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/collective/task.h"

// Which steps there are. 0 or -errno.
int co_collective_plan(struct co_task *task);
// After its last step: those of the next block, if there is one. 0, or -EMSGSIZE: the members do not agree about
// blocks.
int co_collective_plan_next(struct co_task *task);
// Starts the step that the task has come to. 0 or -errno.
int co_collective_begin(struct co_task *task, uint64_t now_ns);
// 0: the step is under way, 1: done, negative: failed.
int co_collective_poll(struct co_task *task, bool *has_moved);
// Brings what came packed to its places, unless it has failed, and frees what the steps have left.
void co_collective_finish(struct co_task *task, bool is_well);

static inline bool co_step_is_in_memory(enum co_step step)
{
    return step != CO_STEP_NET_BCAST && step != CO_STEP_NET_ALLGATHER && step != CO_STEP_NET_ALLGATHERV;
}

#endif
