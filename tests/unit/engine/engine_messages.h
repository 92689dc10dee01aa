// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between the ranks of an engine_job.h, for tests of what the engine does for them: it moves and ends them.
#ifndef CASTOFF_TESTS_ENGINE_MESSAGES_H
#define CASTOFF_TESTS_ENGINE_MESSAGES_H

#include "engine_job.h"
#include "p2p/p2p.h"

// Of ranks 0 and 1, in a job of these two; fails the test when there are none.
struct co_p2p_context *engine_messages_open(struct job_rank *rank);

#endif
