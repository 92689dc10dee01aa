// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Receiving and sending beside the engine (threads.c).
#ifndef CASTOFF_MCAST_THREADS_H
#define CASTOFF_MCAST_THREADS_H

#include "mcast/mcast.h"

// Places what lanes hold, and adds it to *taken; 0, or -errno when the transport broke.
int co_threads_progress(struct co_mcast *mcast, unsigned *taken);
void co_threads_close(struct co_mcast *mcast); // after the last thread has gone

#endif
