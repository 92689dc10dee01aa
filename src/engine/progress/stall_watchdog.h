// SPDX-License-Identifier: BSD-3-Clause
//
// The stall watchdog of a waiting call.
#ifndef CASTOFF_ENGINE_PROGRESS_STALL_WATCHDOG_H
#define CASTOFF_ENGINE_PROGRESS_STALL_WATCHDOG_H

#include <stdint.h>

struct co_engine;
struct co_wait;

// A look of who waits, at this time of the clock. Any thread that waits.
void co_stall_watchdog_look(struct co_engine *engine, struct co_wait *wait, uint64_t now_ns);

#endif
