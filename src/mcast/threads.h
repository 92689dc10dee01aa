// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Receiving and sending beside the engine (threads.c).
#ifndef CASTOFF_MCAST_THREADS_H
#define CASTOFF_MCAST_THREADS_H

#include "mcast/mcast.h"

int co_threads_progress(struct co_mcast *mcast); // places what lanes hold; 0, or -errno when the transport broke
void co_threads_close(struct co_mcast *mcast);   // after the last thread has gone

#endif
