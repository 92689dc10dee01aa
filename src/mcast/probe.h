// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. The set-up probe: does multicast pass here (probe.c).
#ifndef CASTOFF_MCAST_PROBE_H
#define CASTOFF_MCAST_PROBE_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

void co_probe_take(struct co_mcast *mcast, const struct co_control *control); // its source is a world rank
void co_probe_progress(struct co_mcast *mcast);
void co_probe_close(struct co_mcast *mcast); // forgets its verdict too

#endif
