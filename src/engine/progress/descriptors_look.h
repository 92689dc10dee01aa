// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the program has closed our descriptors, which a thread of it does between calls of ours: asked where such a
// call begins that may send or receive, and by worker threads once a turn, so that nothing needs to be asked at each
// datagram. Private to src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_DESCRIPTORS_LOOK_H
#define CASTOFF_ENGINE_PROGRESS_DESCRIPTORS_LOOK_H

#include <stdbool.h>

struct co_engine;

// The network has been opened.
void co_descriptors_watch(struct co_engine *engine);
// Any thread; one system call, none without a network. False: they are not ours any more.
bool co_descriptors_look(struct co_engine *engine);
// Lock held: they were found closed, and the transport knows it from now on.
bool co_descriptors_are_lost(struct co_engine *engine);

#endif
