// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor of point-to-point: it alone looks at the channels, and has the parts do what follows. Lock held.
#ifndef CASTOFF_P2P_PROGRESS_H
#define CASTOFF_P2P_PROGRESS_H

#include "p2p/p2p.h"

void co_p2p_take_last_packets(struct co_p2p *p2p);

#endif
