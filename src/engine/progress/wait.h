// SPDX-License-Identifier: BSD-3-Clause
//
// What a thread that waits sleeps on. Private to src/engine; engine.h has the turn of a waiting call.
#ifndef CASTOFF_ENGINE_PROGRESS_WAIT_H
#define CASTOFF_ENGINE_PROGRESS_WAIT_H

#include <poll.h>
#include <stdint.h>

struct co_engine;

// Descriptors to sleep on, with the lock taken for a moment. *most_ns shrinks to the next timer. -EBUSY: somebody moves
// the engine right now.
int co_wait_descriptors(struct co_engine *engine, struct pollfd *descriptors, int room, uint64_t *most_ns);
// Somebody has slept on the first `count` of them, which poll(2) has filled in.
void co_wait_woken(struct co_engine *engine, const struct pollfd *descriptors, int count);
void co_sleep_for_event(struct co_engine *engine, uint64_t most_ns);

#endif
